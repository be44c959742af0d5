//! Tests the search on small random programs by comparing its paths with an enumeration of every
//! path.

use crate::common;

use common::{PACKETS, TARGET, program, specs};
use proptest::prelude::*;
use slowpath_exec::concrete::{self, Environment, Taken};
use slowpath_ir::{InputId, Program, RegionId};
use slowpath_oracle::{Oracle, random_cases};
use slowpath_search::{
    CostGraph, Event, FoundPath, InputEnumeration, Metric, Search, SearchOptions, UnrollLimits,
    Unrolled, brute_force, unroll,
};
use slowpath_smt::{BitSolver, Node, Proof, Z3Solver};
use slowpath_stop::Stop;
use slowpath_target::{CostModel, Slowness, Target};
use std::collections::BTreeSet;
use std::rc::Rc;

fn unrolled(program: &Program) -> Unrolled {
    unroll(Rc::new(program.clone()), &UnrollLimits::default(), &Stop::never()).expect("unrolls")
}

/// Runs the program on the packet that the search found for a path. The run must take this path and
/// cost the same.
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

fn compare(program: &Program, metric: Metric, order: Order, inputs: InputEnumeration) {
    let target = Target::parse(TARGET, "test").expect("the target is valid");
    let model = target.cost_model(&program.cost_classes).expect("all classes have prices");
    let mut reference = unrolled(program);
    let costs = CostGraph::new(&reference.dag, program, &model);
    let mut solver = Z3Solver::new().expect("Z3 is available");
    let all =
        brute_force::all_paths(&mut reference, &costs, &mut solver, PACKETS).expect("brute force");

    let start = unrolled(program);
    let proof = Proof::new();
    let solver = BitSolver::traced(proof.trace());
    let options = SearchOptions { inputs, max_operations: 1 << 20, ..SearchOptions::default() };
    let target = target.clone();
    let mut search = Search::with_options(start, &model, target, metric, PACKETS, solver, options);
    search.request_early_path(BitSolver::new(), 0);
    let mut found = BTreeSet::new();
    let mut last: Option<Slowness> = None;
    let worst = all.iter().map(|path| search.slowness(&path.cost, path.length).1).max();
    loop {
        match search.step().expect("searches") {
            Event::Working => {}
            Event::EarlyPath(path) => {
                let reference = all.iter().find(|other| other.path == path.path);
                let reference = reference.expect("a packet takes the path");
                assert_eq!(path.cost, reference.cost, "the cost of a path that is reached");
                replay(search.unrolled(), &model, &path);
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
                replay(search.unrolled(), &model, &path);
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
}
