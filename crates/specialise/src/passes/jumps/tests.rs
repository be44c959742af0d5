use super::simplify_jumps;
use crate::assemble;
use crate::graph::{End, Graph};
use crate::support::{after, facts, is};
use slowpath_stop::{Limits, Reason, Stop};

#[track_caller]
fn becomes(before: &str, expected: &str) {
    let made = after(before, &facts(14, &[]), |graph, _, _| {
        simplify_jumps(graph, &Stop::never()).expect("in time")
    });
    is(&made.expect("there are jumps").0, expected);
}

#[test]
fn jumps_to_jumps_lead_straight_on() {
    becomes(
        "r5 = *(u32 *)(r1 +12)
        r0 = 1
        if r5 > 7 goto first
        r0 = 2
        exit
        first:
        goto second
        second:
        goto third
        third:
        r0 += 1
        exit",
        "r5 = *(u32 *)(r1 +12)
        r0 = 1
        if r5 > 7 goto third
        r0 = 2
        exit
        third:
        r0 += 1
        exit",
    );
}

#[test]
fn a_block_and_the_only_one_that_leads_to_it_are_one() {
    let mut graph = Graph::of(&assemble::program(
        "r0 = 1
        goto next
        next:
        r0 += 1
        goto last
        last:
        exit",
    ))
    .expect("it has a graph");
    assert!(simplify_jumps(&mut graph, &Stop::never()).expect("in time"));
    let blocks = graph.order(0);
    assert_eq!(blocks.len(), 1);
    assert_eq!(graph.blocks[blocks[0]].insns.len(), 2);
    assert_eq!(graph.blocks[blocks[0]].end, End::Exit);
    assert!(!simplify_jumps(&mut graph, &Stop::never()).expect("in time"));
}

#[test]
fn a_block_that_two_lead_to_is_left_alone() {
    let text = "
        r5 = *(u32 *)(r1 +12)
        r0 = 1
        if r5 > 7 goto other
        r0 = 2
        goto meet
        other:
        r0 = 3
        meet:
        r0 += 1
        exit";
    let mut graph = Graph::of(&assemble::program(text)).expect("it has a graph");
    let old = graph.clone();
    assert!(!simplify_jumps(&mut graph, &Stop::never()).expect("in time"));
    assert_eq!(graph, old);
}

#[test]
fn rounds_of_nothing_end() {
    let mut graph = Graph::of(&assemble::program("again:\ngoto again")).expect("it has a graph");
    simplify_jumps(&mut graph, &Stop::never()).expect("in time");
    assert_eq!(graph.order(0).len(), 1);
}

#[test]
fn it_stops_when_asked() {
    let text = format!(
        "r0 = 1\n{}exit",
        (0..50).map(|n| format!("goto l{n}\nl{n}:\nr0 += 1\n")).collect::<String>()
    );
    let mut graph = Graph::of(&assemble::program(&text)).expect("it has a graph");
    // Stops in the second half of the pass, which merges blocks.
    let stop = Stop::new(Limits { polls: Some(75), ..Limits::default() });
    assert_eq!(simplify_jumps(&mut graph, &stop), Err(Reason::Interrupted));
    assert!((2..51).contains(&graph.order(0).len()), "some are merged");
}
