//! Tests the search on small random programs by comparing its paths with an enumeration of every
//! path.

use crate::common;

use common::{PACKETS, TARGET, program, specs};
use proptest::prelude::*;
use slowpath_exec::ArcId;
use slowpath_exec::concrete::{self, Environment, Taken};
use slowpath_ir::{InputId, Program, RegionId};
use slowpath_oracle::{Oracle, random_cases};
use slowpath_search::brute_force::BrutePath;
use slowpath_search::{
    CostGraph, Event, FoundPath, InputEnumeration, Metric, Search, SearchOptions, UnrollLimits,
    Unrolled, brute_force, unroll,
};
use slowpath_smt::{BitSolver, Node, Proof, Z3Solver};
use slowpath_stop::Stop;
use slowpath_target::{CostModel, CostVector, Slowness, Target};
use std::collections::BTreeSet;
use std::rc::Rc;

fn unrolled(program: &Program) -> Unrolled {
    unroll(Rc::new(program.clone()), &UnrollLimits::default(), &Stop::never()).expect("unrolls")
}

/// Checks a path of the search by running the program on the packet that was found for it. The run
/// must take this path and have the same cost.
fn replay(unrolled: &Unrolled, model: &CostModel, found: &FoundPath) {
    let executor = &unrolled.executor;
    let program = executor.program();
    let mut environment = Environment { fill: 0x5a, ..Environment::default() };
    for (index, &term) in executor.inputs().iter().enumerate() {
        if let Node::Var(var) = *executor.pool.node(term)
            && let Some(value) = found.model.var(var)
        {
            environment.inputs.insert(InputId::from(index), value);
        }
    }
    environment.inputs.insert(InputId(1), found.length.into());
    for (array, offset, byte) in found.model.bytes() {
        assert_eq!(array, executor.array(RegionId(0)));
        environment.memory.insert((RegionId(0), offset), byte);
    }
    let run = concrete::run(program, &environment, 1000).expect("runs");
    let expected: Vec<Taken> = found
        .path
        .iter()
        .map(|&arc| {
            let arc = &unrolled.dag[arc];
            Taken { block: unrolled.dag[arc.tail].block, edge: arc.edge }
        })
        .collect();
    assert_eq!(run.path, expected, "the witness takes another path");
    let mut cost = model.overhead();
    let mut context = model.start();
    for event in &run.costs {
        context = model.step(context, event.class.0, &mut cost);
    }
    assert_eq!(cost, found.cost, "the witness costs something else");
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    SlowestFirst,
    Any,
}

fn test_target() -> Target {
    Target::parse(TARGET, "test").expect("the target is valid")
}

/// Enumerates all satisfiable paths of a program, with Z3 as the solver.
fn all_paths(program: &Program, model: &CostModel) -> Vec<BrutePath> {
    let mut reference = unrolled(program);
    let costs = CostGraph::new(&reference.dag, program, model);
    let mut solver = Z3Solver::new().expect("Z3 is available");
    brute_force::all_paths(&mut reference, &costs, &mut solver, PACKETS).expect("brute force")
}

fn searched(
    program: &Program,
    model: &CostModel,
    metric: Metric,
    inputs: InputEnumeration,
    proof: &Proof,
) -> Search<BitSolver> {
    let solver = BitSolver::traced(proof.trace());
    let options = SearchOptions { inputs, max_operations: 1 << 20, ..SearchOptions::default() };
    let start = unrolled(program);
    let mut search =
        Search::with_options(start, model, test_target(), metric, PACKETS, solver, options);
    search.request_early_path(BitSolver::new(), 0);
    search
}

fn compare(program: &Program, metric: Metric, order: Order, inputs: InputEnumeration) {
    let model = test_target().cost_model(&program.cost_classes).expect("all classes have prices");
    let all = all_paths(program, &model);
    let proof = Proof::new();
    let search = searched(program, &model, metric, inputs, &proof);
    finds_all(search, &model, all, order);
    compared(&proof);
}

/// Checks a search whose costs change: stops a search after some steps, continues it with other
/// costs, and compares its paths with those of brute force. With `enumerate`, it enumerates paths
/// after the first one.
fn compare_repriced(
    program: &Program,
    metric: Metric,
    inputs: InputEnumeration,
    (steps, enumerate): (usize, bool),
    prices: &[u64],
) {
    let model = test_target().cost_model(&program.cost_classes).expect("all classes have prices");
    let proof = Proof::new();
    let mut search = searched(program, &model, metric, inputs, &proof);
    let mut known = Vec::new();
    for _ in 0..steps {
        match search.step().expect("searches") {
            Event::Path(path) => {
                known.push(*path);
                if enumerate {
                    search.enumerate_all();
                }
            }
            Event::Complete => break,
            _ => {}
        }
    }
    let classes = program.cost_classes.len();
    let prices: Vec<u64> = prices.iter().copied().cycle().take(classes).collect();
    let (target, model) = test_target().with_counter("ps", prices);
    let all = all_paths(program, &model);
    let search = search.repriced(&model, target, Metric::Component(0), known);
    finds_all(search, &model, all, Order::SlowestFirst);
    compared(&proof);
}

/// Checks that a search that runs to its end reports exactly the paths in `all`.
fn finds_all(mut search: Search<BitSolver>, model: &CostModel, all: Vec<BrutePath>, order: Order) {
    let mut found = BTreeSet::<(Vec<ArcId>, CostVector, u32)>::new();
    let mut last: Option<Slowness> = None;
    let worst = all.iter().map(|path| search.slowness(&path.cost, path.length).1).max();
    loop {
        match search.step().expect("searches") {
            Event::Working => {}
            Event::EarlyPath(path) => {
                let reference = all.iter().find(|other| other.path == path.path);
                let reference = reference.expect("a packet takes the path");
                search.branch_conditions(&path.path).expect("executes");
                assert_eq!(path.cost, reference.cost, "the cost of a path that is reached");
                replay(search.unrolled(), model, &path);
            }
            Event::Bound(bound) => {
                if found.is_empty() {
                    assert!(worst.is_none_or(|worst| bound.slowness >= worst), "unsound bound");
                }
            }
            Event::Path(path) => {
                let slowness = search.slowness(&path.cost, path.length).1;
                match last {
                    None => assert_eq!(Some(slowness), worst, "not the slowest path"),
                    Some(last) if order == Order::SlowestFirst => {
                        assert!(slowness <= last, "paths out of order");
                    }
                    Some(_) => {}
                }
                last = Some(slowness);
                replay(search.unrolled(), model, &path);
                // Reports ask for conditions of this path, and of earlier ones, between two steps.
                search.branch_conditions(&path.path).expect("executes");
                if let Some((earlier, ..)) = found.first() {
                    let earlier: Vec<ArcId> = Vec::clone(earlier);
                    search.branch_conditions(&earlier).expect("executes");
                }
                assert!(found.insert((path.path.clone(), path.cost, path.length)), "found twice");
                if order == Order::Any {
                    search.enumerate_all();
                }
            }
            Event::Complete => break,
            Event::GaveUp(why) => panic!("gave up: {why}"),
        }
    }
    let all: BTreeSet<_> = all.into_iter().map(|p| (p.path, p.cost, p.length)).collect();
    assert_eq!(found, all, "other satisfiable paths than brute force");
}

fn compared(proof: &Proof) {
    Oracle::Z3.compared(1, "random programs path by path");
    if proof.contradictions() > 0 {
        Oracle::Proof
            .compared(proof.contradictions(), "answers \"unsatisfiable\" in random programs");
    }
}

/// Generates a random option for the enumeration of inputs.
fn input_enumeration() -> impl Strategy<Value = InputEnumeration> {
    prop_oneof![
        Just(InputEnumeration::Never),
        Just(InputEnumeration::Interleaved),
        Just(InputEnumeration::First)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_cases(200u32), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bit_rate_agrees_with_brute_force(specs in specs(2..9), trying in input_enumeration()) {
        compare(&program(&specs), Metric::BitRate, Order::SlowestFirst, trying);
    }

    #[test]
    fn enumeration_agrees_with_brute_force(specs in specs(2..9), trying in input_enumeration()) {
        compare(&program(&specs), Metric::BitRate, Order::Any, trying);
    }

    #[test]
    fn packet_rate_agrees_with_brute_force(specs in specs(2..9), trying in input_enumeration()) {
        compare(&program(&specs), Metric::PacketRate, Order::SlowestFirst, trying);
    }

    #[test]
    fn other_prices_agree_with_brute_force(
        specs in specs(2..9),
        trying in input_enumeration(),
        steps in 0..60usize,
        enumerate in any::<bool>(),
        prices in proptest::collection::vec(0..50u64, 1..9),
    ) {
        let metric = if steps % 2 == 0 { Metric::BitRate } else { Metric::PacketRate };
        compare_repriced(&program(&specs), metric, trying, (steps, enumerate), &prices);
    }
}
