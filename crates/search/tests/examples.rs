//! Tests the search on the example programs. For programs with few paths, a check of each single
//! path must yield the same slowest path.

use std::path::Path;
use std::rc::Rc;

use slowpath_bpf::lift::{LiftOptions, Lifted, Receive, lift};
use slowpath_bpf::{Object, ProgramKind};
use slowpath_oracle::Oracle;
use slowpath_search::{
    CostGraph, Event, Head, Metric, Search, UnrollLimits, Unrolled, brute_force, unroll,
};
use slowpath_smt::{BitSolver, Proof};
use slowpath_stop::Stop;
use slowpath_target::Target;

/// Minimum and maximum length of the packets that the search considers, in bytes.
const PACKETS: (u32, u32) = (14, 190);
/// Maximum number of paths of a program whose paths are enumerated. Programs with more paths are
/// skipped.
const AFFORDABLE: u64 = 400;

/// Returns all example programs, each with the name of its object file.
fn programs() -> Vec<(String, Lifted)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("examples: {e}"));
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".bpf.o"));
    files.sort();
    let options = LiftOptions {
        receive: Receive::PAGE.with_length(PACKETS.0 as u16, PACKETS.1 as u16),
        ..LiftOptions::default()
    };
    let mut programs = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let data = std::fs::read(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
        let object = Object::parse(&data).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (number, entry) in object.programs.iter().enumerate() {
            if entry.kind == ProgramKind::Xdp {
                let linked = object.link(number, None).unwrap_or_else(|e| panic!("{name}: {e}"));
                let lifted = lift(&object, &linked, &options);
                programs.push((name.clone(), lifted.unwrap_or_else(|e| panic!("{name}: {e}"))));
            }
        }
    }
    programs
}

fn unrolled(lifted: &Lifted) -> Unrolled {
    let program = Rc::new(lifted.program.clone());
    unroll(program, &UnrollLimits::default(), &Stop::never()).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the number of paths from the entry to an exit, satisfiable or not.
fn paths(unrolled: &Unrolled) -> u64 {
    let dag = &unrolled.dag;
    let mut ways = vec![0u64; dag.nodes.len()];
    for (node, info) in dag.nodes.iter().enumerate().rev() {
        ways[node] = info.out.iter().fold(0, |sum: u64, &arc| match dag[arc].head {
            Head::Exit(_) => sum.saturating_add(1),
            Head::Node(next) => sum.saturating_add(ways[next.index()]),
        });
    }
    ways.first().copied().unwrap_or(0)
}

#[test]
fn slowest_paths_of_the_examples_are_the_slowest_of_all() {
    let target = Target::builtin("ebpf").and_then(Result::ok);
    let target = target.unwrap_or_else(|| panic!("there is no target ebpf"));
    let (mut compared, mut skipped) = (Vec::new(), Vec::new());
    // Enumeration and search use the same solver; each "unsatisfiable" answer is proved.
    let proof = Proof::new();
    let solver = || BitSolver::traced(proof.trace());
    for (name, lifted) in programs() {
        let mut all = unrolled(&lifted);
        if paths(&all) > AFFORDABLE {
            skipped.push(name);
            continue;
        }
        let model = target.cost_model(&lifted.program.cost_classes);
        let model = model.unwrap_or_else(|e| panic!("{name}: {e}"));
        let costs = CostGraph::new(&all.dag, &lifted.program, &model);
        let found = brute_force::all_paths(&mut all, &costs, &mut solver(), PACKETS);
        let found = found.unwrap_or_else(|e| panic!("{name}: {e}"));
        for component in 0..model.components() {
            let slowest = found.iter().map(|path| path.cost[component]).max();
            let metric = Metric::Component(component);
            let graph = unrolled(&lifted);
            let mut search = Search::new(graph, &model, target.clone(), metric, PACKETS, solver());
            let exact = loop {
                match search.step().unwrap_or_else(|e| panic!("{name}: {e}")) {
                    Event::Path(path) => break Some(path.cost[component]),
                    Event::Complete => break None,
                    Event::GaveUp(why) => panic!("{name}: {why}"),
                    Event::Working | Event::Bound(_) | Event::EarlyPath(_) => {}
                }
            };
            assert_eq!(exact, slowest, "{name}, {}", target.component_name(component));
        }
        compared.push(name);
    }
    eprintln!("compared: {compared:?}; more than {AFFORDABLE} paths: {skipped:?}");
    assert!(compared.len() >= 6, "few programs have few paths: {compared:?}");
    Oracle::Proof.compared(
        proof.contradictions(),
        "answers \"unsatisfiable\" in enumerations of the examples",
    );
}
