//! A chain whose programs are rewritten for what arrives at them: the objects to load instead, and
//! what is reported about it.

use crate::equivalence::Cover;
use crate::facts::{FactsOptions, Runs, any_packet, facts_along};
use crate::fused::fused;
use crate::graphs::{GraphReports, PairReport};
use crate::optimize::{Optimized, optimize};
use crate::report::{ChainReport, ProgramReport};
use crate::{Chain, ChainError, Loaded};
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Btf, Object};
use slowpath_ir::PacketFacts;
use slowpath_specialise::Mode;
use slowpath_stop::Stop;
use std::mem;
use std::time::Instant;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct RewriteOptions {
    /// How programs are rewritten; `None` if they are not, and only facts are looked for.
    pub mode: Option<Mode>,
    /// What holds of packets that arrive at the first program.
    pub first: PacketFacts,
    /// What is known of maps and helpers, and the kernel's types.
    pub lift: LiftOptions,
    /// Whether it is looked for what establishes each fact.
    pub explain: bool,
    /// What the programs are called as one, if they are to become one.
    pub fuse: Option<String>,
    /// Whether the control-flow graphs of rewritten programs are asked for.
    pub graphs: bool,
}

impl Default for RewriteOptions {
    fn default() -> Self {
        RewriteOptions {
            mode: None,
            first: any_packet(),
            lift: LiftOptions::default(),
            explain: true,
            fuse: None,
            graphs: false,
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
    /// In the order of the members, what each program that was rewritten can be tried on besides the
    /// original: something for each pair of their paths, as far as these are not too many.
    pub covers: Vec<Vec<Cover>>,
    /// The bytes of an object with all programs as one, if they became one.
    pub fused: Option<Vec<u8>>,
    /// The control-flow graphs of programs, where they are asked for.
    pub graphs: GraphReports,
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
    at("looking for facts");
    let mut reached = facts_along(&chain, &runs, &options.first, stop);
    let mut report = ChainReport::default();
    let (mut objects, mut covers) = (Vec::new(), Vec::new());
    let mut graphs = GraphReports::default();
    for (number, reached) in reached.iter_mut().enumerate() {
        at(&format!("rewriting {}", chain.members[number].name));
        let parts = (&chain, number, &programs[..]);
        let mut program = ProgramReport::of(parts, loaded, reached, options.explain, stop);
        let alone = chain.members.len() == 1;
        let arriving = reached.facts.as_ref().filter(|_| alone || !reached.over.is_empty());
        let (object, linked) = (&loaded[number].object, &programs[number]);
        let (mut written, mut tries, mut graph) = (None, Vec::new(), None);
        let name = &chain.members[number].name;
        if let (Some(facts), Some(mode)) = (arriving, options.mode) {
            // Each has its share of the time that is left.
            let left = u32::try_from(chain.members.len() - number).unwrap_or(u32::MAX);
            let share = stop.within(stop.left().map(|time| time / left));
            match optimize(object, linked, facts, mode, &options.lift, &share) {
                Ok(mut done) => {
                    tries =
                        done.proof.as_mut().map(|p| mem::take(&mut p.covers)).unwrap_or_default();
                    written = write(object, &done, kernel, &mut program.remarks);
                    let made = done.specialised.as_ref();
                    if let Some(made) = made.filter(|_| options.graphs && written.is_some()) {
                        graph = PairReport::of(name, object, linked, made);
                    }
                    program.optimized(object, linked, done, written.is_some());
                }
                Err(error) => program.remarks.push(error.to_string()),
            }
        } else if let Some(facts) = arriving {
            let made = program.decided(object, linked, facts, stop);
            if let Some(made) = made.filter(|_| options.graphs) {
                graph = PairReport::of(name, object, linked, &made).map(PairReport::before_only);
            }
        }
        graphs.programs.push(graph);
        objects.push(written);
        covers.push(tries);
        report.programs.push(program);
    }
    let mut whole = None;
    if let Some(name) = &options.fuse {
        at("fusing");
        match fused(&chain, loaded, &objects, name, (&options.lift, options.graphs), stop) {
            Ok(done) => {
                (report.fused, whole) = (Some(done.report), Some(done.bytes));
                graphs.fused = done.graph;
            }
            Err(error) => report.not_fused = Some(error.to_string()),
        }
    }
    report.seconds = started.elapsed().as_secs_f64();
    report.stopped = stop.reason().map(|reason| reason.to_string());
    Ok(Rewritten { report, objects, covers, fused: whole, graphs })
}

/// The object with a program in the place of the original; the others are as they were.
pub(crate) fn write(
    object: &Object,
    done: &Optimized,
    kernel: Option<&Btf>,
    remarks: &mut Vec<String>,
) -> Option<Vec<u8>> {
    let program = &done.specialised.as_ref()?.program;
    let others = (0..object.programs.len()).filter(|&number| number != program.number);
    let mut all: Vec<BpfProgram> =
        others.filter_map(|number| object.link(number, kernel).ok()).collect();
    all.retain(|program| program.unresolved.is_empty());
    all.push(program.clone());
    all.sort_by_key(|program| program.number);
    let all: Vec<&BpfProgram> = all.iter().collect();
    match object.write(&all) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            remarks.push(format!("it cannot be written: {error}"));
            None
        }
    }
}
