//! Rewrites the programs of a chain for the packets that arrive at them. Returns the objects to
//! load in place of the originals, and a report.

use crate::chain_facts::ChainFacts;
use crate::equivalence::TestInput;
use crate::facts::any_packet;
use crate::frozen::{Contents, FrozenMaps, freezable, unwritten};
use crate::fused::{Unfused, fused};
use crate::graphs::{GraphReports, PairReport};
use crate::optimize::{Guards, Optimized, optimize_for};
use crate::report::{ChainReport, ProgramReport};
use crate::settings::settings;
use crate::{Chain, ChainError, Loaded};
use slowpath_bpf::lift::{LiftOptions, Receive};
use slowpath_bpf::{BpfProgram, Btf, Object};
use slowpath_ir::PacketFacts;
use slowpath_specialise::Mode;
use slowpath_stop::Stop;
use std::mem;
use std::time::Instant;

/// Options for rewriting a chain.
#[derive(Clone, Debug)]
pub struct RewriteOptions {
    /// Mode of rewriting. With `None`, the programs stay unchanged and only the facts about packets
    /// are found.
    pub mode: Option<Mode>,
    /// Facts that hold for packets arriving at the first program.
    pub first: PacketFacts,
    /// Content of frozen maps (maps that the programs are rewritten for), by the index of the
    /// program in the chain. Empty if there are no frozen maps.
    pub contents: Contents,
    /// Options for lifting, such as the delivery of packets, assumptions about maps and helpers,
    /// and the kernel's types.
    pub lift: LiftOptions,
    /// A sentence about the delivery of packets on which all results depend. `None` if there is no
    /// such condition.
    pub condition: Option<String>,
    /// True to find the source lines that establish each fact.
    pub explain: bool,
    /// Name of the fused program. `None` if the programs should not be fused.
    pub fuse: Option<String>,
    /// True to return the control-flow graphs of rewritten programs.
    pub graphs: bool,
}

impl Default for RewriteOptions {
    fn default() -> Self {
        RewriteOptions {
            mode: None,
            first: any_packet(),
            contents: Contents::new(),
            lift: LiftOptions::any_device(),
            condition: None,
            explain: true,
            fuse: None,
            graphs: false,
        }
    }
}

impl RewriteOptions {
    /// Sets the way in which the driver delivers packets, by a name that [`Receive::parse`]
    /// accepts.
    ///
    /// # Errors
    /// If [`Receive::parse`] does not accept the name.
    pub fn receiving(self, name: &str) -> Result<RewriteOptions, String> {
        let receive = Receive::parse(name).map_err(|why| format!("--receive: {why}"))?;
        let condition = receive.condition(name);
        Ok(RewriteOptions { lift: self.lift.receiving(receive), condition, ..self })
    }

    /// Returns the facts that hold for packets arriving at the first program. They include limits
    /// of the length, because the device delivers only certain lengths.
    pub(crate) fn arriving(&self) -> PacketFacts {
        let (least, greatest) = self.lift.receive.length;
        let lengths = PacketFacts::lengths(least, greatest);
        self.first.meet(&lengths).unwrap_or(lengths)
    }
}

/// The result of rewriting a chain.
#[derive(Debug)]
pub struct Rewritten {
    /// Report about all programs of the chain.
    pub report: ChainReport,
    /// For each program of the chain, the object with its rewritten version; `None` if the program
    /// is unchanged.
    pub objects: Vec<Option<Vec<u8>>>,
    /// For each program of the chain, test inputs (packets and map contents) for its rewritten
    /// version. There is one test input for each pair of paths, up to a limit.
    pub test_inputs: Vec<Vec<TestInput>>,
    /// Object with the fused program. `None` if the programs were not fused, or if it is not proved
    /// that the fused program does the same.
    pub fused: Option<Vec<u8>>,
    /// The original programs as separate programs, to be run in the kernel for comparison with the
    /// fused program. An error is the reason why they cannot be run. `None` if the programs were
    /// not fused.
    pub apart: Option<Result<Unfused, String>>,
    /// Test inputs (packets and map contents) for the fused program.
    pub fused_test_inputs: Vec<TestInput>,
    /// Control-flow graphs of the programs, if requested.
    pub graphs: GraphReports,
    /// For each program of the chain, the facts about packets that arrive at it, and the way in
    /// which they are delivered.
    pub arriving: Vec<(PacketFacts, Receive)>,
}

/// Remark about a program that was not rewritten because time ran out.
const NOT_YET: &str = "no time was left to rewrite the program";

/// Finds the facts about packets that arrive at each program of a chain, and rewrites the programs
/// for these facts. Programs that are not finished when `stop` ends the work stay unchanged.
/// `so_far` is called with the results so far, once before the first program is rewritten and once
/// after each program.
///
/// # Errors
/// If a program cannot be linked, or the programs of a dispatcher cannot be ordered.
pub fn rewrite(
    chain: &Chain,
    loaded: &[Loaded],
    options: &RewriteOptions,
    stop: &Stop,
    mut so_far: impl FnMut(&Rewritten),
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
    let (contents, given) = unwritten(&chain, loaded, &options.contents, kernel, stop)?;
    let known = contents.iter().zip(loaded).map(|(own, of)| freezable(&of.object, own));
    let (known, refused): (Vec<_>, Vec<_>) = known.unzip();
    let (first, lift) = (&options.arriving(), &options.lift);
    let between =
        ChainFacts { chain: &chain, loaded, programs: &programs, known: &known, first, lift };
    let (mut reached, rests_on) = between.facts(options.mode == Some(Mode::Guard), stop);
    let alone = chain.members.len() == 1;
    let mut report = ChainReport::default();
    let mut graphs = GraphReports::default();
    let mut arriving = Vec::new();
    for (number, reached) in reached.iter_mut().enumerate() {
        let parts = (&chain, number, &programs[..]);
        stop.about(&chain.members[number].name);
        stop.enter("finding the lines that establish facts");
        let mut program = ProgramReport::of(parts, loaded, reached, options.explain, stop);
        let own = contents.get(number).filter(|own| !own.is_empty());
        let frozen = own.and_then(|own| {
            let mode = options.mode.unwrap_or(Mode::Trust);
            FrozenMaps::of(&loaded[number].object, own, mode).0
        });
        program.refused(&loaded[number].object, refused.get(number).into_iter().flatten());
        program.given(given.get(number).into_iter().flatten());
        program.facts_with = rests_on[number].clone();
        let known = frozen.is_some() || (number == chain.entry && *first != any_packet());
        let facts =
            reached.facts.as_ref().filter(|_| alone || known || !reached.by_edge.is_empty());
        let facts = facts.cloned();
        let receive = options.lift.receive;
        let receive = reached
            .packet_environment
            .map_or(receive, |environment| receive.with_packet_environment(environment));
        let mut graph = None;
        match (&facts, options.mode) {
            (Some(_), Some(_)) => program.remarks.push(NOT_YET.to_owned()),
            (Some(facts), None) => {
                let (object, linked) = (&loaded[number].object, &programs[number]);
                let made = program.decided(object, linked, (facts, frozen.as_ref(), receive), stop);
                if let Some(made) = made.filter(|_| options.graphs) {
                    let pair = PairReport::of(&chain.members[number].name, object, linked, &made);
                    graph = pair.map(PairReport::before_only);
                }
            }
            (None, _) => {}
        }
        graphs.programs.push(graph);
        report.programs.push(program);
        arriving.push((facts, frozen, receive));
    }
    let own: Vec<Vec<String>> = (0..loaded.len())
        .map(|number| {
            settings(&chain.members[number].name, &loaded[number].object, &programs[number])
        })
        .collect();
    rest_on_others(&chain, &own, &mut report);
    for program in &mut report.programs {
        program.assumptions.extend(options.condition.iter().cloned());
    }
    for (member, map, other) in chain.pinned(loaded)? {
        let what = format!("map {map} is the same as {other}: both objects pin it by this name");
        report.programs[member].remarks.push(what);
    }
    let (objects, test_inputs) = (vec![None; loaded.len()], vec![Vec::new(); loaded.len()]);
    let known = |(facts, _, receive): &(Option<PacketFacts>, Option<FrozenMaps>, Receive)| {
        let (least, greatest) = receive.length;
        let lengths = || PacketFacts::lengths(least, greatest);
        (facts.clone().unwrap_or_else(lengths), *receive)
    };
    let mut rewritten = Rewritten {
        arriving: arriving.iter().map(known).collect(),
        report,
        objects,
        test_inputs,
        fused: None,
        apart: None,
        fused_test_inputs: Vec::new(),
        graphs,
    };
    let Some(mode) = options.mode else { return Ok(ended(rewritten, started, stop)) };
    so_far(&rewritten);
    for (number, (facts, frozen, receive)) in arriving.iter().enumerate() {
        let Some(facts) = facts else { continue };
        let (object, linked) = (&loaded[number].object, &programs[number]);
        // The remaining time is divided equally among the programs that are not rewritten yet.
        let left = arriving[number..].iter().filter(|(facts, ..)| facts.is_some()).count();
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        let share = stop.within(stop.remaining().map(|time| time / left));
        share.about(&chain.members[number].name);
        let program = &mut rewritten.report.programs[number];
        program.remarks.retain(|remark| remark != NOT_YET);
        let mut lift = options.lift.clone();
        lift.receive = *receive;
        let (known, how) = ((facts, frozen.as_ref()), (mode, Guards::Profitable));
        match optimize_for((&**object, linked), known, how, &lift, &share) {
            Ok(mut done) => {
                if let Some(proof) = &mut done.proof {
                    rewritten.test_inputs[number] = mem::take(&mut proof.test_inputs);
                }
                let written = write(object, &done, kernel, &mut program.remarks);
                let made = done.specialised.as_ref();
                if let Some(made) = made.filter(|_| options.graphs && written.is_some()) {
                    let name = &chain.members[number].name;
                    rewritten.graphs.programs[number] = PairReport::of(name, object, linked, made);
                }
                program.optimized(object, linked, done, written.is_some());
                if written.is_some() {
                    program.assumptions.extend(own[number].iter().cloned());
                }
                rewritten.objects[number] = written;
            }
            Err(error) => program.remarks.push(error.to_string()),
        }
        rewritten.report.seconds = started.elapsed().as_secs_f64();
        so_far(&rewritten);
    }
    if let Some(name) = &options.fuse {
        stop.about("fused program");
        match fused(&chain, loaded, &rewritten.objects, name, (&options.lift, options.graphs), stop)
        {
            Ok(done) => {
                rewritten.report.fused = Some(done.report);
                rewritten.apart = done.bytes.is_some().then_some(done.apart);
                rewritten.fused = done.bytes;
                rewritten.fused_test_inputs = done.test_inputs;
                rewritten.graphs.fused = done.graph;
            }
            Err(error) => rewritten.report.not_fused = Some(error.to_string()),
        }
    }
    Ok(ended(rewritten, started, stop))
}

/// Adds to each program's report the assumptions on which its results depend. Facts about its
/// packets depend on the assumptions of earlier programs. For each program, `own` contains further
/// conditions, on which its removed branches and the facts at later programs depend.
fn rest_on_others(chain: &Chain, own: &[Vec<String>], report: &mut ChainReport) {
    let direct: Vec<Vec<String>> =
        report.programs.iter().map(|program| program.assumptions.clone()).collect();
    for (number, program) in report.programs.iter_mut().enumerate() {
        let upstream = chain.upstream(number).into_iter().filter(|_| !program.facts.is_empty());
        let others = upstream.flat_map(|from| direct[from].iter().chain(&own[from]));
        let decided = own[number].iter().filter(|_| !program.dropped.is_empty());
        for sentence in others.chain(decided) {
            if !program.assumptions.contains(sentence) {
                program.assumptions.push(sentence.clone());
            }
        }
    }
}

fn ended(mut rewritten: Rewritten, started: Instant, stop: &Stop) -> Rewritten {
    rewritten.report.seconds = started.elapsed().as_secs_f64();
    rewritten.report.stopped = stop.reason().map(|reason| reason.to_string());
    rewritten
}

/// Writes an object in which a rewritten program replaces the original; all other programs stay as
/// they are. Returns `None` if there is no rewritten program or the object cannot be written. In
/// the second case, adds the reason to `remarks`.
pub(crate) fn write(
    object: &Object,
    done: &Optimized,
    kernel: Option<&Btf>,
    remarks: &mut Vec<String>,
) -> Option<Vec<u8>> {
    let program = &done.specialised.as_ref()?.program;
    let written = done.object.as_ref().unwrap_or(object);
    let mut all = Vec::new();
    for number in (0..object.programs.len()).filter(|&number| number != program.number) {
        let left_out = match object.link(number, kernel) {
            Ok(other) => match other.unresolved.first() {
                None => {
                    all.push(other);
                    continue;
                }
                Some(unresolved) => unresolved.what.clone(),
            },
            Err(error) => error.to_string(),
        };
        let name = &object.programs[number].name;
        remarks.push(format!("the written object lacks {name}: {left_out}"));
    }
    all.push(program.clone());
    all.sort_by_key(|program| program.number);
    let all: Vec<&BpfProgram> = all.iter().collect();
    match written.write(&all) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            remarks.push(format!("the object cannot be written: {error}"));
            None
        }
    }
}
