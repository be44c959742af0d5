//! Compares the guarantees of thousands of random BPF programs with an enumeration of all their
//! paths. Z3 checks each path separately. For every metric, the search must find the same slowest
//! path, with the same cost and the same shortest packet.
//!
//! `EXHAUSTIVE_SEED` sets the first seed. Programs with too many paths, and programs with arithmetic
//! that Z3 cannot decide in time, are skipped and counted.

mod target;

use slowpath_bpf::Object;
use slowpath_bpf::lift::{LiftOptions, Receive, lift};
use slowpath_generate::{Features, Programs};
use slowpath_ir::Program;
use slowpath_oracle::{Oracle, random_cases};
use slowpath_search::brute_force::{BrutePath, all_paths};
use slowpath_search::{
    CostGraph, Event, Head, InputEnumeration, Metric, Search, SearchOptions, UnrollLimits,
    Unrolled, unroll,
};
use slowpath_smt::{BitSolver, Proof, Solver, Z3Solver};
use slowpath_stop::Stop;
use slowpath_target::CostModel;
use std::rc::Rc;
use std::time::Duration;
use target::target;

const PROGRAMS: u64 = 300;
/// Maximum number of paths of a compared program after unrolling. To enumerate more paths would
/// take too long.
const MOST_PATHS: u64 = 64;
/// Minimum and maximum packet length in bytes.
const PACKETS: (u32, u32) = (14, 128);
/// Metrics to search by, each with the way in which the search enumerates inputs.
const SEARCHES: [(Metric, InputEnumeration); 6] = [
    (Metric::BitRate, InputEnumeration::Interleaved),
    (Metric::PacketRate, InputEnumeration::Interleaved),
    (Metric::Component(0), InputEnumeration::Interleaved),
    (Metric::Component(1), InputEnumeration::Interleaved),
    (Metric::BitRate, InputEnumeration::First),
    (Metric::Component(0), InputEnumeration::First),
];
/// Maximum number of operations that a search may spend on trying all combinations of input values.
const MOST_OPERATIONS: u64 = 1 << 18;

/// Time limit for one Z3 query about a path.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns generators of random programs: from small programs with all features to larger programs
/// without arithmetic that is hard for solvers.
fn kinds() -> Vec<Programs> {
    let all = Features { packet_reach: 64, max_slots: 300, ..Features::all() };
    let easy = Features { multiply: false, divide: false, variable_shifts: false, ..all.clone() };
    vec![
        Programs::new(all, 8),
        Programs::new(easy.clone(), 12),
        Programs::new(Features { loops: false, calls: false, ..easy.clone() }, 14),
        Programs::new(Features { stack: false, helpers: false, ..easy }, 14),
    ]
}

fn first_seed() -> u64 {
    std::env::var("EXHAUSTIVE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Counts of programs, paths and searches.
#[derive(Default, Debug)]
struct Tally {
    /// Number of compared programs.
    compared: u64,
    /// Number of paths of the compared programs.
    paths: u64,
    /// Number of paths of the compared programs that no packet takes.
    impossible: u64,
    /// Number of programs skipped because they have too many paths.
    many_paths: u64,
    /// Number of programs skipped because Z3 does not decide a path in time.
    undecided: u64,
    /// Number of searches that tried all combinations of relevant input values.
    tried: u64,
}

fn lifted(data: &[u8]) -> Program {
    let object = Object::parse(data).expect("an object");
    let linked = object.link(0, None).expect("it links");
    let (min_packet, max_packet) = (PACKETS.0 as u16, PACKETS.1 as u16);
    let options = LiftOptions {
        receive: Receive::PAGE.with_length(min_packet, max_packet),
        ..LiftOptions::default()
    };
    lift(&object, &linked, &options).expect("it is supported").program
}

fn count_paths(unrolled: &Unrolled) -> u64 {
    let mut paths = vec![0u64; unrolled.dag.nodes.len()];
    for (index, node) in unrolled.dag.nodes.iter().enumerate().rev() {
        for &arc in &node.out {
            let continuations = match unrolled.dag[arc].head {
                Head::Exit(_) => 1,
                Head::Node(next) => paths[next.index()],
            };
            paths[index] = paths[index].saturating_add(continuations);
        }
    }
    paths.first().copied().unwrap_or(0)
}

fn unrolled(program: &Rc<Program>) -> Unrolled {
    unroll(Rc::clone(program), &UnrollLimits::default(), &Stop::never()).expect("unrolls")
}

/// Checks that the search finds the slowest path. Returns true if the search tried all combinations
/// of relevant input values.
fn compare(
    name: &str,
    program: &Rc<Program>,
    model: &CostModel,
    all: &[BrutePath],
    (metric, inputs): (Metric, InputEnumeration),
    proof: &Proof,
) -> bool {
    let device = target(&program.cost_classes);
    let solver = BitSolver::traced(proof.trace());
    let options =
        SearchOptions { inputs, max_operations: MOST_OPERATIONS, ..SearchOptions::default() };
    let start = unrolled(program);
    let mut search = Search::with_options(start, model, device, metric, PACKETS, solver, options);
    let worst = all.iter().map(|path| search.slowness(&path.cost, path.length).1).max();
    loop {
        match search.step().unwrap_or_else(|error| panic!("{name}: {metric:?}: {error}")) {
            Event::Working | Event::EarlyPath(_) => {}
            Event::Bound(bound) => assert!(
                worst.is_none_or(|worst| bound.slowness >= worst),
                "{name}: {metric:?}: a bound of {:?} hides a path of {worst:?}",
                bound.slowness
            ),
            Event::Path(found) => {
                let slowness = search.slowness(&found.cost, found.length).1;
                assert_eq!(Some(slowness), worst, "{name}: {metric:?}: not the slowest path");
                let same = all.iter().find(|path| path.path == found.path);
                let same = same.unwrap_or_else(|| panic!("{name}: {metric:?}: an impossible path"));
                assert_eq!(
                    (found.cost, found.length),
                    (same.cost, same.length),
                    "{name}: {metric:?}"
                );
                return search.has_tried_all();
            }
            Event::Complete => {
                assert_eq!(worst, None, "{name}: {metric:?}: no path is found");
                return search.has_tried_all();
            }
            Event::GaveUp(reason) => panic!("{name}: {metric:?}: gave up: {reason}"),
        }
    }
}

/// Guard that prints the program's name if the engine panics.
struct NameOnPanic<'a>(&'a str);

impl Drop for NameOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the program is that of {}", self.0);
        }
    }
}

fn examine(name: &str, data: &[u8], tally: &mut Tally, proof: &Proof) {
    let _guard = NameOnPanic(name);
    let program = Rc::new(lifted(data));
    let device = target(&program.cost_classes);
    let model = device.cost_model(&program.cost_classes).expect("all classes have prices");
    let mut reference = unrolled(&program);
    let paths = count_paths(&reference);
    if paths > MOST_PATHS {
        tally.many_paths += 1;
        return;
    }
    let costs = CostGraph::new(&reference.dag, &program, &model);
    let mut oracle = Z3Solver::new().expect("Z3 is available");
    oracle.set_time_limit(Some(PATIENCE));
    let all = match all_paths(&mut reference, &costs, &mut oracle, PACKETS) {
        Ok(all) => all,
        Err(_) if oracle.statistics().unknown > 0 => {
            tally.undecided += 1;
            return;
        }
        Err(error) => panic!("{name}: {error}"),
    };
    for search in SEARCHES {
        tally.tried += u64::from(compare(name, &program, &model, &all, search, proof));
    }
    tally.compared += 1;
    tally.paths += paths;
    tally.impossible += paths - all.len() as u64;
}

/// Compares one half of the random programs, those from every second seed, with the enumeration of
/// their paths. Each half runs in its own thread.
fn half(seeds: std::ops::Range<u64>, proof: &Proof) -> Tally {
    let kinds = kinds();
    let mut tally = Tally::default();
    for seed in seeds.step_by(2) {
        let kind = (seed / 2) as usize % kinds.len();
        let program = kinds[kind].from_seed(seed);
        examine(&format!("seed {seed} of kind {kind}"), &program.object(), &mut tally, proof);
    }
    tally
}

#[test]
fn guarantees_are_those_of_the_enumeration_of_every_path() {
    let first = first_seed();
    let end = first + random_cases(PROGRAMS);
    let proof = Proof::new();
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(first + 1..end, &proof));
        (half(first..end, &proof), other.join().expect("no disagreement"))
    });
    let compared = one.compared + other.compared;
    assert!(10 * compared >= 9 * (end - first), "few programs compared: {one:?}, {other:?}");
    Oracle::Z3.compared(compared as usize, "random programs path by path");
    Oracle::Proof.compared(proof.contradictions(), "answers \"unsatisfiable\" in random programs");
    Oracle::Proof.compared(proof.learnt(), "learnt clauses in random programs");
    let tried = one.tried + other.tried;
    assert!(tried >= compared, "few searches by trying inputs: {one:?}, {other:?}");
    let impossible = one.impossible + other.impossible;
    assert!(2 * impossible >= compared, "few impossible paths: {one:?}, {other:?}");
}
