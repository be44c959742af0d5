//! Tests bounds on loop iterations: bounds that the analysis derives, limits that the user states,
//! and loops without either.

use crate::common;

use common::{BlockSpec, EndSpec, OpSpec, program};
use slowpath_exec::NodeId;
use slowpath_ir::BinaryOp;
use slowpath_search::{SearchError, UnrollLimits, Unrolled, unroll};
use slowpath_stop::{Limits, Reason, Stop};
use std::rc::Rc;

fn block(ops: Vec<OpSpec>, end: EndSpec) -> BlockSpec {
    BlockSpec { ops, end, costs: Vec::new(), edge_costs: [Vec::new(), Vec::new()] }
}

fn unrolled(specs: &[BlockSpec], limits: UnrollLimits) -> Result<Unrolled, SearchError> {
    unroll(Rc::new(program(specs)), &limits, &Stop::never())
}

/// Returns the number of copies of a basic block in the unrolled program.
fn instances(unrolled: &Unrolled, block: u32) -> usize {
    unrolled.dag.nodes.iter().filter(|node| node.block.0 == block).count()
}

fn at(location: u32, limit: u32) -> UnrollLimits {
    UnrollLimits { at: vec![(location, limit)], ..UnrollLimits::default() }
}

#[test]
fn a_counter_bounds_its_loop() {
    let specs = [block(vec![], EndSpec::Next), block(vec![], EndSpec::Repeat { times: 7 })];
    let result = unrolled(&specs, UnrollLimits::default()).expect("the bound is derived");
    assert_eq!(instances(&result, 1), 7);
    assert!(result.assumptions.is_empty());
    assert_eq!(result.dag.arcs.len(), 8, "the counter decides every branch");
}

#[test]
fn a_limit_above_the_derived_bound_changes_nothing() {
    let specs = [block(vec![], EndSpec::Next), block(vec![], EndSpec::Repeat { times: 7 })];
    let limits = UnrollLimits { every: Some(7), ..UnrollLimits::default() };
    let result = unrolled(&specs, limits).expect("the bound is derived");
    assert_eq!(instances(&result, 1), 7);
    assert!(result.assumptions.is_empty());
}

#[test]
fn the_packet_bounds_a_loop_over_it() {
    // Each iteration increments r0; the loop repeats while r0 is 3. The first repetition fixes r0,
    // so facts decide the second comparison.
    let advance = OpSpec::WithConstant { op: BinaryOp::Add, dst: 0, a: 0, constant: 1 };
    let specs = [
        block(vec![], EndSpec::Next),
        block(vec![advance], EndSpec::RepeatWhile { a: 0, constant: 3 }),
    ];
    let result = unrolled(&specs, UnrollLimits::default()).expect("the value bounds it");
    assert_eq!(instances(&result, 1), 2, "the second time the register is 4");
}

#[test]
fn a_loop_without_a_bound_is_named() {
    let specs =
        [block(vec![], EndSpec::Next), block(vec![], EndSpec::RepeatWhile { a: 0, constant: 3 })];
    match unrolled(&specs, UnrollLimits::default()).err() {
        Some(SearchError::UnboundedLoop { location: 1, .. }) => {}
        other => panic!("expected an unbounded loop at .1, got {other:?}"),
    }
}

#[test]
fn a_stated_limit_cuts_and_is_an_assumption() {
    let specs =
        [block(vec![], EndSpec::Next), block(vec![], EndSpec::RepeatWhile { a: 0, constant: 3 })];
    let result = unrolled(&specs, at(1, 5)).expect("the limit bounds it");
    assert_eq!(instances(&result, 1), 5);
    assert_eq!(result.assumptions.len(), 1);
    assert!(result.assumptions[0].contains(".1 runs at most 5 times"), "{:?}", result.assumptions);
    for node in &result.dag.nodes {
        for &arc in &node.out {
            let head = result.dag[arc].head;
            let exists = |n: NodeId| n.index() < result.dag.nodes.len();
            assert!(!matches!(head, slowpath_search::Head::Node(n) if !exists(n)));
        }
    }
}

#[test]
fn a_limit_for_all_loops_cuts_none_that_ends_by_itself() {
    let specs = [block(vec![], EndSpec::Next), block(vec![], EndSpec::Repeat { times: 7 })];
    let limits = UnrollLimits { every: Some(3), ..UnrollLimits::default() };
    let result = unrolled(&specs, limits).expect("the bound is derived");
    assert_eq!(instances(&result, 1), 7);
    assert!(result.assumptions.is_empty() && result.cuts.is_empty());
}

#[test]
fn a_limit_of_its_own_cuts_a_loop_that_ends_later_and_says_so() {
    let specs = [block(vec![], EndSpec::Next), block(vec![], EndSpec::Repeat { times: 7 })];
    let result = unrolled(&specs, at(1, 3)).expect("the limit bounds it");
    assert_eq!(instances(&result, 1), 3);
    let sentence =
        "the loop at .1 runs at most 3 times, less than the 7 that are possible (--unroll)";
    assert_eq!(result.assumptions, [sentence]);
    assert_eq!(result.cuts, [sentence]);
    let result = unrolled(&specs, at(1, 7)).expect("the bound is derived");
    assert!(result.assumptions.is_empty() && result.cuts.is_empty());
}

#[test]
fn loops_are_cut_where_they_have_no_limit_and_nowhere_else() {
    let endless = EndSpec::RepeatWhile { a: 0, constant: 3 };
    let specs = [
        block(vec![], EndSpec::Repeat { times: 7 }),
        block(vec![], endless.clone()),
        // The counter continues from the first loop.
        block(vec![], EndSpec::Repeat { times: 12 }),
    ];
    let limits = UnrollLimits { every: Some(2), ..UnrollLimits::default() };
    let result = unrolled(&specs, limits.clone()).expect("the limit bounds it");
    let counts = [0, 1, 2].map(|at| instances(&result, at));
    assert_eq!(counts, [7, 2, 5]);
    assert_eq!(result.assumptions, ["the loop at .1 runs at most 2 times (--unroll)"]);
    assert!(result.cuts.is_empty());
    // The result is equal if the analysis does not try to derive a bound.
    let known = UnrollLimits { underivable: vec![1], ..limits };
    let result = unrolled(&specs, known).expect("the limit bounds it");
    assert_eq!([0, 1, 2].map(|at| instances(&result, at)), counts);
    assert_eq!(result.assumptions.len(), 1);
}

#[test]
fn a_limit_where_there_is_no_loop_is_refused() {
    let specs = [block(vec![], EndSpec::Next), block(vec![], EndSpec::Repeat { times: 7 })];
    let result = unrolled(&specs, at(0, 5));
    assert!(matches!(result.err(), Some(SearchError::NoLoopAt { location: 0 })));
}

/// Returns a stop condition that already holds.
fn stopped() -> Stop {
    let stop = Stop::new(Limits::default());
    stop.request_stop();
    stop
}

#[test]
fn stopping_is_an_error_without_a_bound() {
    let specs = [block(vec![], EndSpec::Next)];
    let result = unroll(Rc::new(program(&specs)), &UnrollLimits::default(), &stopped());
    assert!(matches!(result.err(), Some(SearchError::Stopped(Reason::Interrupted))));
}

#[test]
fn arcs_know_the_least_packet_length() {
    let specs = [
        block(vec![], EndSpec::ShorterThan { length: 64, ahead: 2 }),
        block(vec![], EndSpec::ShorterThan { length: 66, ahead: 2 }),
        block(vec![], EndSpec::Next),
    ];
    let result = unrolled(&specs, UnrollLimits::default()).expect("unrolls");
    let lengths: Vec<u32> = result.dag.arcs.iter().map(|arc| arc.min_length).collect();
    assert_eq!(lengths, [60, 64, 64, 66, 60]);
}
