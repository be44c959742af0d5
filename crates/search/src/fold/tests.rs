use super::Folded;
use crate::costs::{CostGraph, EXIT, Scratch};
use crate::dag::{Arc, Dag, DagNode, Head};
use proptest::prelude::*;
use slowpath_exec::{ArcId, NodeId};
use slowpath_ir::BlockId;
use std::collections::BTreeMap;

/// Builds a graph with one state per node. For each node, `heads` lists the outgoing arcs: for each
/// arc, the number of nodes that it skips, and its cost.
fn graph(heads: &[Vec<(usize, u64)>]) -> (Dag, CostGraph) {
    let mut dag = Dag::default();
    let (mut first, mut costs, mut next) = (Vec::new(), Vec::new(), Vec::new());
    for (node, ways) in heads.iter().enumerate() {
        first.push(dag.arcs.len() as u32);
        let mut out = Vec::new();
        for &(by, cost) in ways {
            let to = node + 1 + by;
            let head = if to < heads.len() { Head::Node(NodeId::from(to)) } else { Head::Exit(0) };
            out.push(ArcId::from(dag.arcs.len()));
            let arc =
                Arc { tail: NodeId::from(node), head, edge: 0, condition: None, min_length: 0 };
            dag.arcs.push(arc);
            next.push(if to < heads.len() { to as u32 } else { EXIT });
            costs.push(cost);
        }
        dag.nodes.push(DagNode { block: BlockId(0), out });
    }
    first.push(dag.arcs.len() as u32);
    let arcs = (0..dag.arcs.len()).map(ArcId::from).collect();
    let graph = CostGraph::of_parts(first, arcs, next, costs);
    (dag, graph)
}

/// Returns all paths of a cost graph, each with its cost.
fn paths(graph: &CostGraph) -> BTreeMap<Vec<ArcId>, u64> {
    let mut paths = BTreeMap::new();
    let mut work: Vec<(usize, Vec<ArcId>)> = vec![(0, Vec::new())];
    while let Some((state, path)) = work.pop() {
        for transition in graph.transitions(state) {
            let transition = graph.transition(transition);
            let mut path = path.clone();
            path.push(transition.arc);
            if transition.next == EXIT {
                let cost = graph.path_cost(&path)[0];
                assert!(paths.insert(path, cost).is_none(), "two ways for a path");
            } else {
                assert!(transition.next as usize > state, "states in topological order");
                work.push((transition.next as usize, path));
            }
        }
    }
    paths
}

/// Generates a random graph: for each node up to two outgoing arcs, given by the number of nodes
/// skipped and the cost.
fn any_graph() -> impl Strategy<Value = Vec<Vec<(usize, u64)>>> {
    let ways = || prop::collection::vec((0usize..3, 0u64..100), 1..=2);
    prop::collection::vec(ways(), 1..10)
}

/// Generates random batches of nogoods. Arcs are given as numbers, which the test reduces modulo
/// the number of arcs.
fn any_nogoods() -> impl Strategy<Value = Vec<Vec<Vec<u32>>>> {
    let nogood = prop::collection::btree_set(any::<u32>(), 1..4);
    let nogood = nogood.prop_map(|arcs| arcs.into_iter().collect());
    prop::collection::vec(prop::collection::vec(nogood, 1..4), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_left_is_without_the_nogoods_taken_in(
        ways in any_graph(), batches in any_nogoods(), room in prop_oneof![Just(10_000usize), 0usize..20],
    ) {
        let (dag, plain) = graph(&ways);
        let all = paths(&plain);
        let mut folded = Folded { max_states: plain.states() + room, ..Folded::new(plain.clone()) };
        let mut taken_in: Vec<Vec<ArcId>> = Vec::new();
        for batch in batches {
            let count = dag.arcs.len() as u32;
            let arcs_of = |arcs: &Vec<u32>| arcs.iter().map(|arc| ArcId(arc % count)).collect();
            let batch: Vec<Vec<ArcId>> = batch.iter().map(arcs_of).collect();
            let taken = folded.add(&dag, &plain, &batch);
            prop_assert!(room < 10_000 || taken.iter().all(|&taken| taken));
            let with_room = batch.into_iter().zip(taken).filter(|(_, taken)| *taken);
            taken_in.extend(with_room.map(|(arcs, _)| arcs));
            let mut left = all.clone();
            left.retain(|path, _| {
                let contains = |arcs: &Vec<ArcId>| arcs.iter().all(|arc| path.contains(arc));
                !taken_in.iter().any(contains)
            });
            prop_assert_eq!(&paths(folded.graph()), &left);
            prop_assert!(folded.graph().states() <= folded.max_states);
            let allowed = vec![true; dag.arcs.len()];
            let found = folded.graph().longest(0, &allowed, &mut Scratch::default());
            prop_assert_eq!(found.map(|(cost, _)| cost), left.values().copied().max());
        }
    }
}
