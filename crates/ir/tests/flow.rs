//! Tests that loops and their nesting are found, that loops with several entries are rejected, and
//! that blocks are in reverse postorder.

use crate::common;

use common::program;
use slowpath_ir::{BlockId, FlowError, FlowGraph};

fn loops(edges: &[&[u32]]) -> Vec<(u32, Vec<u32>, Option<u32>)> {
    let flow = FlowGraph::of(&program(edges)).expect("reducible");
    let blocks = |l: &slowpath_ir::Loop| {
        let mut blocks: Vec<u32> = l.blocks.iter().map(|b| b.0).collect();
        blocks.sort_unstable();
        blocks
    };
    flow.loops.iter().map(|l| (l.header.0, blocks(l), l.parent.map(|p| p.0))).collect()
}

#[test]
fn straight_line_has_no_loops_and_skips_unreachable_blocks() {
    let flow = FlowGraph::of(&program(&[&[1], &[3], &[3], &[9]])).expect("reducible");
    assert!(flow.loops.is_empty());
    assert_eq!(flow.order, [BlockId(0), BlockId(1), BlockId(3)]);
}

#[test]
fn self_loop() {
    assert_eq!(loops(&[&[1], &[1, 2], &[9]]), [(1, vec![1], None)]);
}

#[test]
fn two_back_edges_are_one_loop() {
    let found = loops(&[&[1], &[2, 4], &[1, 3], &[1, 4], &[9]]);
    assert_eq!(found, [(1, vec![1, 2, 3], None)]);
}

#[test]
fn nested_loops_know_their_parents() {
    let found = loops(&[&[1], &[2, 5], &[3, 4], &[2], &[1], &[9]]);
    assert_eq!(found, [(1, vec![1, 2, 3, 4], None), (2, vec![2, 3], Some(0))]);
}

#[test]
fn loops_in_a_row() {
    let found = loops(&[&[0, 1], &[1, 2], &[9]]);
    let mut headers: Vec<u32> = found.iter().map(|l| l.0).collect();
    headers.sort_unstable();
    assert_eq!(headers, [0, 1]);
    assert!(found.iter().all(|l| l.2.is_none()));
}

#[test]
fn a_loop_with_two_entries_is_rejected() {
    let result = FlowGraph::of(&program(&[&[1, 2], &[2, 9], &[1, 9]]));
    assert!(matches!(result, Err(FlowError::Irreducible { .. })));
}

#[test]
fn order_puts_every_forward_edge_forward() {
    let edges: &[&[u32]] = &[&[2, 1], &[3], &[3, 4], &[4, 9], &[9]];
    let flow = FlowGraph::of(&program(edges)).expect("reducible");
    let position = |block: u32| flow.order.iter().position(|b| b.0 == block);
    assert!(position(0) < position(2));
    assert!(position(2) < position(4));
    assert!(position(3) < position(4));
}
