//! A chain whose programs are rewritten for what arrives at them: the objects to load instead, and
//! what is reported about it.

use crate::facts::{FactsOptions, Runs, any_packet, facts_along};
use crate::frozen::{Contents, FrozenMaps, unwritten};
use crate::fused::fused;
use crate::optimize::{Optimized, optimize_for};
use crate::report::{ChainReport, ProgramReport};
use crate::{Chain, ChainError, Loaded};
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Btf, Object};
use slowpath_ir::PacketFacts;
use slowpath_specialise::Mode;
use slowpath_stop::Stop;
use std::sync::Arc;
use std::time::Instant;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct RewriteOptions {
    /// How programs are rewritten; `None` if they are not, and only facts are looked for.
    pub mode: Option<Mode>,
    /// What holds of packets that arrive at the first program.
    pub first: PacketFacts,
    /// The content of maps that is frozen, by the number of the program in the chain; empty if there
    /// is none.
    pub contents: Contents,
    /// What is known of maps and helpers, and the kernel's types.
    pub lift: LiftOptions,
    /// Whether it is looked for what establishes each fact.
    pub explain: bool,
    /// What the programs are called as one, if they are to become one.
    pub fuse: Option<String>,
}

impl Default for RewriteOptions {
    fn default() -> Self {
        RewriteOptions {
            mode: None,
            first: any_packet(),
            contents: Contents::new(),
            lift: LiftOptions::default(),
            explain: true,
            fuse: None,
        }
    }
}

/// A chain that was rewritten.
#[derive(Debug)]
pub struct Rewritten {
    /// What is reported.
    pub report: ChainReport,
    /// The bytes of an object for each program that was rewritten, in the order of the members.
    pub objects: Vec<Option<Vec<u8>>>,
    /// The bytes of an object with all programs as one, if they became one.
    pub fused: Option<Vec<u8>>,
}

/// Finds out what holds of packets that arrive at each program of a chain, and rewrites the programs
/// for it. What is not done by the time that `stop` says so is left as it is. `at` is told what is
/// being done.
///
/// # Errors
/// When a program cannot be linked, or the programs of a dispatcher cannot be put in order.
pub fn rewrite(
    chain: &Chain,
    loaded: &[Loaded],
    options: &RewriteOptions,
    stop: &Stop,
    mut at: impl FnMut(&str),
) -> Result<Rewritten, ChainError> {
    let started = Instant::now();
    let chain = chain.dispatched(loaded)?;
    let kernel = options.lift.kernel_types.as_deref();
    let link = |(member, loaded): (&crate::Member, &Loaded)| {
        let linked = loaded.object.link(loaded.program, kernel);
        linked.map_err(|error| ChainError::at(member.line, format!("{}: {error}", member.name)))
    };
    let programs = chain.members.iter().zip(loaded).map(link);
    let programs = programs.collect::<Result<Vec<BpfProgram>, _>>()?;
    let facts = FactsOptions { lift: options.lift.clone(), ..FactsOptions::default() };
    let runs: Vec<Runs<'_>> = loaded
        .iter()
        .zip(&programs)
        .map(|(loaded, program)| Runs { object: &loaded.object, program, options: &facts })
        .collect();
    let (contents, given) = unwritten(&chain, loaded, &options.contents, kernel, stop)?;
    at("looking for facts");
    let mut reached = facts_along(&chain, &runs, &options.first, stop);
    let mut report = ChainReport::default();
    let mut objects = Vec::new();
    for (number, reached) in reached.iter_mut().enumerate() {
        at(&format!("rewriting {}", chain.members[number].name));
        let parts = (&chain, number, &programs[..]);
        let mut program = ProgramReport::of(parts, loaded, reached, options.explain, stop);
        let own = contents.get(number).filter(|own| !own.is_empty());
        let frozen = own.zip(options.mode).map(|(own, mode)| {
            let (frozen, refused) = FrozenMaps::of(&loaded[number].object, own, mode);
            program.refused(&loaded[number].object, refused);
            frozen
        });
        let frozen = frozen.flatten();
        program.given(given.get(number).into_iter().flatten());
        let alone = chain.members.len() == 1;
        let known = frozen.is_some() || (number == chain.entry && options.first != any_packet());
        let arriving =
            reached.facts.as_ref().filter(|_| alone || known || !reached.over.is_empty());
        let (object, linked) = (&loaded[number].object, &programs[number]);
        let mut written = None;
        if let (Some(facts), Some(mode)) = (arriving, options.mode) {
            // Each has its share of the time that is left.
            let left = u32::try_from(chain.members.len() - number).unwrap_or(u32::MAX);
            let share = stop.within(stop.left().map(|time| time / left));
            let subject = (&**object, linked);
            match optimize_for(subject, (facts, frozen.as_ref()), mode, &options.lift, &share) {
                Ok(done) => {
                    written = write(object, &done, kernel, &mut program.remarks);
                    program.optimized(object, linked, done, written.is_some());
                }
                Err(error) => program.remarks.push(error.to_string()),
            }
        } else if let Some(facts) = arriving {
            program.decided(object, linked, facts, stop);
        }
        objects.push(written);
        report.programs.push(program);
    }
    let mut whole = None;
    if let Some(name) = &options.fuse {
        at("fusing");
        match fused(&chain, loaded, &objects, name, &options.lift, stop) {
            Ok((about, bytes)) => (report.fused, whole) = (Some(about), Some(bytes)),
            Err(error) => report.not_fused = Some(error.to_string()),
        }
    }
    report.seconds = started.elapsed().as_secs_f64();
    report.stopped = stop.reason().map(|reason| reason.to_string());
    Ok(Rewritten { report, objects, fused: whole })
}

/// The object with a program in the place of the original; the others are as they were.
fn write(
    object: &Arc<Object>,
    done: &Optimized,
    kernel: Option<&Btf>,
    remarks: &mut Vec<String>,
) -> Option<Vec<u8>> {
    let program = &done.specialised.as_ref()?.program;
    let written = done.object.as_ref().unwrap_or(object);
    let others = (0..object.programs.len()).filter(|&number| number != program.number);
    let mut all: Vec<BpfProgram> =
        others.filter_map(|number| object.link(number, kernel).ok()).collect();
    all.retain(|program| program.unresolved.is_empty());
    all.push(program.clone());
    all.sort_by_key(|program| program.number);
    let all: Vec<&BpfProgram> = all.iter().collect();
    match written.write(&all) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            remarks.push(format!("it cannot be written: {error}"));
            None
        }
    }
}
