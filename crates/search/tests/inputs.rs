//! Tests input enumeration by running programs concretely on every input. Also tests programs with
//! 16 input bits that only input enumeration can decide.

use crate::common;
use crate::structured;

use common::TARGET;
use proptest::prelude::*;
use slowpath_exec::ArcId;
use slowpath_exec::concrete::{self, Environment, Run};
use slowpath_ir::{BinaryOp, FlowGraph, InputId, Loop, Program, RegionId};
use slowpath_search::{
    Dag, Event, Head, InputEnumeration, Metric, Search, SearchOptions, UnrollLimits, Unrolled,
    unroll,
};
use slowpath_smt::BitSolver;
use slowpath_target::{CostModel, CostVector, Slowness, Target};
use std::collections::BTreeMap;
use std::rc::Rc;
use structured::elements::CHANCES;
use structured::{Cond, Element, Shape, Stmt, VALUES, compile};

/// Maximum number of concrete runs of a program. Programs that draw (receive from outside) values
/// in every iteration of a loop need more and are skipped.
const MOST_RUNS: usize = 3_000;

/// All satisfiable paths, each with its cost and the length of its shortest packet in bytes.
type Paths = BTreeMap<Vec<ArcId>, (CostVector, u32)>;

fn model(program: &Program) -> (Target, CostModel) {
    let target = Target::parse(TARGET, "test").expect("the target is valid");
    let model = target.cost_model(&program.cost_classes).expect("all classes have prices");
    (target, model)
}

fn unrolled(program: &Program, limits: &UnrollLimits) -> Unrolled {
    unroll(Rc::new(program.clone()), limits, &slowpath_stop::Stop::never()).expect("unrolls")
}

/// Returns the arcs that a run takes. Returns `None` if a loop limit has removed one of these arcs
/// from the graph.
fn arcs_of(unrolled: &Unrolled, run: &Run) -> Option<Vec<ArcId>> {
    let dag = &unrolled.dag;
    let mut node = Dag::ENTRY;
    let mut arcs = Vec::new();
    for taken in &run.path {
        let here = dag.nodes.get(node.index())?;
        assert_eq!(here.block, taken.block, "the graph has other blocks");
        let arc = *here.out.iter().find(|&&arc| dag[arc].edge == taken.edge)?;
        arcs.push(arc);
        if let Head::Node(next) = dag[arc].head {
            node = next;
        }
    }
    Some(arcs)
}

/// Runs a program on all packets of all lengths and with all values that it can draw from outside.
/// Only the bits in `masks` of the first packet bytes vary. Returns the paths and the number of
/// runs, or `None` if there are too many runs.
fn all_runs(unrolled: &Unrolled, shape: Shape, masks: &[u8]) -> Option<(Paths, usize)> {
    let program = unrolled.executor.program();
    let (_, model) = model(program);
    let parts = |mask: u8| (0..=mask).filter(move |value| value & !mask == 0);
    let mut packets: Vec<Vec<u8>> = vec![Vec::new()];
    for &mask in masks {
        let longer = |packet: Vec<u8>| {
            parts(mask).map(move |byte| packet.iter().copied().chain([byte]).collect())
        };
        packets = packets.into_iter().flat_map(longer).collect();
    }
    let (mut found, mut runs) = (Paths::new(), 0);
    for packet in &packets {
        for length in shape.packets.0..=shape.packets.1 {
            let mut drawn: Vec<Vec<u64>> = vec![Vec::new()];
            while let Some(unknowns) = drawn.pop() {
                // Bytes outside the masks do not matter, so the fill value is arbitrary.
                let mut environment = Environment::with_fill(program, 0xa5);
                environment.inputs.insert(InputId(1), length.into());
                for (offset, &byte) in packet.iter().enumerate() {
                    let byte = byte | 0x5a & !masks[offset];
                    environment.memory.insert((RegionId(0), offset as u64), byte);
                }
                environment.unknowns.clone_from(&unknowns);
                let run = concrete::run(program, &environment, 1000).expect("runs");
                if run.unknowns > unknowns.len() {
                    let next = |value| unknowns.iter().copied().chain([value]).collect();
                    drawn.extend((0..CHANCES).map(next));
                    continue;
                }
                runs += 1;
                if runs > MOST_RUNS {
                    return None;
                }
                let Some(arcs) = arcs_of(unrolled, &run) else { continue };
                let mut cost = model.overhead();
                let mut context = model.start();
                for event in &run.costs {
                    context = model.step(context, event.class.0, &mut cost);
                }
                let length = if shape.has_length { length } else { shape.packets.0 };
                let (known, least) = found.entry(arcs).or_insert((cost, length));
                assert_eq!(*known, cost, "one path, two costs");
                *least = (*least).min(length);
            }
        }
    }
    Some((found, runs))
}

/// Returns statements that read the first bytes of the packet, each masked with one of `masks`.
fn reads(masks: &[u8]) -> Vec<Stmt> {
    let read = |(dst, &mask): (usize, &u8)| {
        let and = BinaryOp::And;
        [
            Stmt::Read { dst, offset: dst as u8, bytes: 1 },
            Stmt::WithConstant { op: and, dst, a: dst, constant: mask },
        ]
    };
    masks.iter().enumerate().flat_map(read).collect()
}

fn any_operator() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::{Add, And, Ashr, Lshr, Mul, Or, Sdiv, Shl, Srem, Sub, Udiv, Urem, Xor};
    let all = vec![Add, Sub, Mul, Udiv, Urem, Sdiv, Srem, And, Or, Xor, Shl, Lshr, Ashr];
    prop::sample::select(all)
}

fn cond() -> impl Strategy<Value = Cond> {
    let comparison = || prop::sample::select(vec![BinaryOp::Eq, BinaryOp::Ult, BinaryOp::Slt]);
    let value = || 0..VALUES;
    prop_oneof![
        5 => (comparison(), value(), 0u8..9, any::<bool>())
            .prop_map(|(op, a, constant, byte)| Cond::Constant { op, a, constant, byte }),
        3 => (comparison(), value(), value()).prop_map(|(op, a, b)| Cond::Values { op, a, b }),
        1 => (59u16..70).prop_map(|length| Cond::Shorter { length }),
        1 => (58u16..68, value()).prop_map(|(base, a)| Cond::ShorterThanSum { base, a }),
    ]
}

/// Generates a statement. It draws values from outside only if it is not in a loop, so that each
/// draw is a single input.
fn simple(loops: usize) -> impl Strategy<Value = Stmt> {
    let value = || 0..VALUES;
    let draw = move |dst| match loops {
        0 => Stmt::Element(Element::Draw { dst }),
        _ => Stmt::Element(Element::Table { dst, a: dst }),
    };
    prop_oneof![
        6 => (any_operator(), value(), value(), value())
            .prop_map(|(op, dst, a, b)| Stmt::Compute { op, dst, a, b }),
        6 => (any_operator(), value(), value(), any::<u8>())
            .prop_map(|(op, dst, a, constant)| Stmt::WithConstant { op, dst, a, constant }),
        2 => (value(), value()).prop_map(|(dst, a)| Stmt::Element(Element::Table { dst, a })),
        1 => value().prop_map(draw),
        5 => (0usize..5).prop_map(|class| Stmt::Work { class }),
    ]
}

/// Generates a list of statements that only read and combine values.
fn list(loops: usize, depth: usize) -> BoxedStrategy<Vec<Stmt>> {
    let leave = cond().prop_map(|cond| Stmt::Leave { cond });
    let mut kinds: Vec<(u32, BoxedStrategy<Stmt>)> =
        vec![(9, simple(loops).boxed()), (1, leave.boxed())];
    if loops > 0 {
        let exit = (cond(), 1..loops + 1).prop_map(|(cond, loops)| Stmt::Break { cond, loops });
        kinds.push((2, exit.boxed()));
        kinds.push((1, cond().prop_map(|cond| Stmt::Continue { cond }).boxed()));
    }
    if depth > 0 {
        let branches = (cond(), list(loops, depth - 1), list(loops, depth - 1));
        let branch =
            branches.prop_map(|(cond, then, otherwise)| Stmt::If { cond, then, otherwise });
        kinds.push((4, branch.boxed()));
        if loops < structured::NESTING {
            let repeat = (1u8..6, list(loops + 1, depth - 1))
                .prop_map(|(times, body)| Stmt::Loop { times, body });
            kinds.push((3, repeat.boxed()));
        }
    }
    let most = if depth == 0 { 4 } else { 7 };
    prop::collection::vec(prop::strategy::Union::new_weighted(kinds), 1..most).boxed()
}

/// Returns the number of statements that draw a value from outside, such as a time.
fn draws(statements: &[Stmt]) -> usize {
    let of = |statement: &Stmt| match statement {
        Stmt::Element(Element::Draw { .. }) => 1,
        Stmt::If { then, otherwise, .. } => draws(then) + draws(otherwise),
        Stmt::Loop { body, .. } => draws(body),
        _ => 0,
    };
    statements.iter().map(of).sum()
}

fn searched(
    program: &Program,
    shape: Shape,
    (metric, options): (Metric, SearchOptions),
    limits: &UnrollLimits,
) -> Search<BitSolver> {
    let (target, model) = model(program);
    let start = unrolled(program, limits);
    let solver = BitSolver::new();
    Search::with_options(start, &model, target, metric, shape.packets, solver, options)
}

/// Compares the paths that a search reports with the paths of all concrete runs. Unless `exhaust`
/// is set, the search must report the slowest paths first. Returns the number of program runs if
/// the search has tried all inputs.
fn compare(mut search: Search<BitSolver>, expected: &Paths, exhaust: bool) -> Option<u64> {
    let mut missing = expected.clone();
    // Number of missing paths for each slowness.
    let mut rates: BTreeMap<Slowness, usize> = BTreeMap::new();
    for (cost, length) in missing.values() {
        *rates.entry(search.slowness(cost, *length).1).or_default() += 1;
    }
    let mut last = None;
    loop {
        let worst = rates.last_key_value().map(|(&worst, _)| worst);
        let bound = search.bound().map(|bound| bound.slowness);
        assert!(exhaust || bound >= worst, "the bound {bound:?} hides a path of {worst:?}");
        match search.step().expect("searches") {
            Event::Working | Event::Bound(_) | Event::EarlyPath(_) => {}
            Event::Path(path) => {
                let found = missing.remove(&path.path).expect("an unknown path, or found twice");
                assert_eq!((path.cost, path.length), found);
                let slowness = search.slowness(&path.cost, path.length).1;
                if let Some(alike) = rates.get_mut(&slowness) {
                    *alike -= 1;
                    rates.retain(|_, count| *count > 0);
                }
                assert!(last.is_some() || Some(slowness) == worst, "not the slowest path");
                assert!(exhaust || last.is_none_or(|last| slowness <= last), "out of order");
                last = Some(slowness);
                if exhaust {
                    search.enumerate_all();
                }
            }
            Event::Complete => break,
            Event::GaveUp(why) => panic!("gave up: {why}"),
        }
    }
    assert!(missing.is_empty(), "paths that were not found: {missing:?}");
    search.has_tried_all().then_some(search.statistics().runs)
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        4 => Just(Shape { packets: (60, 68), has_length: true }),
        1 => Just(Shape { packets: (60, 60), has_length: true }),
        1 => Just(Shape { packets: (60, 68), has_length: false }),
    ]
}

/// Returns limits that cut every loop after `rounds` iterations, or no limits if `rounds` is
/// `None`.
fn limits(program: &Program, rounds: Option<u32>) -> UnrollLimits {
    let flow = FlowGraph::of(program).expect("loops have one entry");
    let header = |inside: &Loop| program.block(inside.header).first.0;
    let limit = |inside: &Loop| rounds.map(|rounds| (header(inside), rounds));
    UnrollLimits { at: flow.loops.iter().filter_map(limit).collect(), ..UnrollLimits::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_tried_is_every_run(
        masks in prop::collection::vec(0u8..16, VALUES),
        body in list(0, 3),
        shape in shapes(),
        metric in prop::sample::select(vec![Metric::BitRate, Metric::PacketRate]),
        rounds in prop_oneof![3 => Just(None), 1 => (0u32..3).prop_map(Some)],
        exhaust in any::<bool>(),
    ) {
        let mut statements = reads(&masks);
        statements.extend(body);
        // With more draws, the estimated number of inputs is too high for a trial.
        prop_assume!(draws(&statements) <= 4);
        let program = compile(&statements, shape);
        let limits = limits(&program, rounds);
        let Some((paths, runs)) = all_runs(&unrolled(&program, &limits), shape, &masks) else {
            return Ok(());
        };
        let options = SearchOptions { inputs: InputEnumeration::First, ..SearchOptions::default() };
        let search = searched(&program, shape, (metric, options), &limits);
        let first = search.bound();
        let tried = compare(search, &paths, exhaust);
        prop_assert!(tried.is_some() || first.is_none(), "inputs were not tried");
        prop_assert!(tried <= Some(runs as u64), "{tried:?} instead of {runs}");
    }

    #[test]
    fn a_trial_that_is_given_up_loses_nothing(
        masks in prop::collection::vec(0u8..4, VALUES),
        body in list(0, 2),
        max_operations in 1u64..400,
        exhaust in any::<bool>(),
    ) {
        let shape = Shape { packets: (60, 62), has_length: true };
        let mut statements = reads(&masks);
        statements.extend(body);
        let (program, limits) = (compile(&statements, shape), UnrollLimits::default());
        let Some((paths, _)) = all_runs(&unrolled(&program, &limits), shape, &masks) else {
            return Ok(());
        };
        let options =
            SearchOptions { inputs: InputEnumeration::First, max_operations, ..SearchOptions::default() };
        compare(searched(&program, shape, (Metric::BitRate, options), &limits), &paths, exhaust);
    }
}

/// Maximum number of steps of a search; a search that takes more is considered endless. Most steps
/// run the program on some of its inputs.
const PATIENCE: usize = 2_000;

/// Checks that the slowest path that the search finds has the cost of the slowest of all concrete
/// runs, over all packets.
fn exact(body: Vec<Stmt>) {
    let shape = Shape { packets: (60, 68), has_length: true };
    let mut statements = vec![Stmt::Read { dst: 0, offset: 0, bytes: 2 }];
    statements.extend(body);
    let program = compile(&statements, shape);
    let what = (Metric::PacketRate, SearchOptions::default());
    let mut search = searched(&program, shape, what, &UnrollLimits::default());
    let mut steps = 0..PATIENCE;
    let found = loop {
        steps.next().expect("it comes to an end");
        match search.step().expect("searches") {
            Event::Path(found) => break found,
            Event::Working | Event::Bound(_) | Event::EarlyPath(_) => {}
            Event::Complete => panic!("there are paths"),
            Event::GaveUp(why) => panic!("gave up: {why}"),
        }
    };
    assert!(search.has_tried_all(), "the search came to an end by itself");
    let (_, model) = model(&program);
    let cost = |packet: u16| {
        let mut environment = Environment::with_fill(&program, 0);
        for (offset, byte) in packet.to_le_bytes().into_iter().enumerate() {
            environment.memory.insert((RegionId(0), offset as u64), byte);
        }
        let run = concrete::run(&program, &environment, 10_000).expect("runs");
        let (mut cost, mut context) = (model.overhead(), model.start());
        for event in &run.costs {
            context = model.step(context, event.class.0, &mut cost);
        }
        cost[0]
    };
    assert_eq!(Some(found.cost[0]), (0..=u16::MAX).map(cost).max());
}

fn with(op: BinaryOp, dst: usize, a: usize, constant: u8) -> Stmt {
    Stmt::WithConstant { op, dst, a, constant }
}

fn work(class: usize, times: usize) -> Vec<Stmt> {
    vec![Stmt::Work { class }; times]
}

fn equals(a: usize, constant: u8) -> Cond {
    Cond::Constant { op: BinaryOp::Eq, a, constant, byte: false }
}

#[test]
fn collatz_steps_are_exact() {
    let halve = vec![with(BinaryOp::Lshr, 0, 0, 1)];
    let mut triple = vec![with(BinaryOp::Mul, 0, 0, 3), with(BinaryOp::Add, 0, 0, 1)];
    triple.extend(work(0, 2));
    let below_two = Cond::Constant { op: BinaryOp::Ult, a: 0, constant: 2, byte: false };
    exact(vec![Stmt::Loop {
        times: 60,
        body: vec![
            Stmt::Break { cond: below_two, loops: 1 },
            with(BinaryOp::And, 1, 0, 1),
            Stmt::If { cond: equals(1, 1), then: triple, otherwise: halve },
            Stmt::Work { class: 0 },
        ],
    }]);
}

#[test]
fn a_shift_register_is_exact() {
    let feedback = vec![
        with(BinaryOp::And, 2, 2, 0),
        with(BinaryOp::Or, 2, 2, 0xb4),
        with(BinaryOp::Shl, 2, 2, 8),
        Stmt::Compute { op: BinaryOp::Xor, dst: 0, a: 0, b: 2 },
        Stmt::Work { class: 0 },
    ];
    exact(vec![Stmt::Loop {
        times: 48,
        body: vec![
            with(BinaryOp::And, 1, 0, 1),
            with(BinaryOp::Lshr, 0, 0, 1),
            Stmt::If { cond: equals(1, 1), then: feedback, otherwise: vec![] },
            with(BinaryOp::And, 1, 0, 0x30),
            Stmt::If { cond: equals(1, 0x10), then: work(0, 3), otherwise: vec![] },
        ],
    }]);
}

#[test]
fn multiplicative_mixing_is_exact() {
    exact(vec![Stmt::Loop {
        times: 40,
        body: vec![
            with(BinaryOp::Mul, 0, 0, 197),
            with(BinaryOp::Add, 0, 0, 91),
            with(BinaryOp::Lshr, 1, 0, 7),
            Stmt::Compute { op: BinaryOp::Xor, dst: 0, a: 0, b: 1 },
            with(BinaryOp::And, 1, 0, 8),
            Stmt::If { cond: equals(1, 8), then: work(0, 3), otherwise: work(0, 1) },
            with(BinaryOp::Urem, 1, 0, 13),
            Stmt::Break { cond: equals(1, 3), loops: 1 },
        ],
    }]);
}

#[test]
fn a_checksum_by_table_is_exact() {
    exact(vec![Stmt::Loop {
        times: 32,
        body: vec![
            Stmt::Element(Element::Table { dst: 1, a: 0 }),
            with(BinaryOp::Lshr, 0, 0, 3),
            with(BinaryOp::Shl, 1, 1, 9),
            Stmt::Compute { op: BinaryOp::Xor, dst: 0, a: 0, b: 1 },
            with(BinaryOp::Add, 0, 0, 77),
            with(BinaryOp::And, 1, 0, 4),
            Stmt::If { cond: equals(1, 4), then: work(0, 2), otherwise: vec![] },
        ],
    }]);
}
