//! Compares the check of all paths with enumeration, on random graphs.

use super::{Paths, follow};
use crate::graph::{Arc, Graph, Node, Priced, Transition};
use proptest::prelude::*;
use slowpath_ir::BlockId;
use slowpath_oracle::random_cases;
use slowpath_target::CostVector;

/// Builds a graph: arc `n` leaves node `arcs[n].0` and skips `arcs[n].1` nodes, and costs
/// `arcs[n].2`. Arcs that would lead beyond the last node leave the program.
fn graph(nodes: u32, arcs: &[(u32, u32, u64)]) -> (Graph, Priced) {
    let mut sorted: Vec<(u32, u32, u64)> =
        arcs.iter().map(|&(tail, skip, cost)| (tail % nodes, skip, cost)).collect();
    // Each node has an exit or leads on, so that most paths leave the program.
    sorted.extend((0..nodes).map(|tail| (tail, 0, u64::from(tail % 3))));
    sorted.sort_unstable();
    let mut graph = Graph::default();
    graph.nodes.resize(nodes as usize, Node { block: BlockId(0), out: Vec::new() });
    let mut transitions: Vec<Vec<Transition>> = vec![Vec::new(); nodes as usize];
    for (number, (tail, skip, cost)) in (0u32..).zip(sorted) {
        let head = Some(tail + 1 + skip).filter(|&head| head < nodes);
        graph.nodes[tail as usize].out.push(number);
        graph.arcs.push(Arc { tail, head, edge: 0, condition: None });
        let cost = CostVector::zero(1).with(0, cost);
        transitions[tail as usize].push(Transition { arc: number, cost, next: head });
    }
    assert_eq!(graph.check(), Ok(()));
    (graph, Priced { node: (0..nodes).collect(), transitions })
}

/// Returns all paths with their costs.
fn all_paths(priced: &Priced) -> Vec<(Vec<u32>, u64)> {
    let mut found = Vec::new();
    let mut work = vec![(0u32, Vec::new(), 0u64)];
    while let Some((state, path, cost)) = work.pop() {
        for transition in &priced.transitions[state as usize] {
            let path = [&path[..], &[transition.arc]].concat();
            let cost = cost + transition.cost[0];
            match transition.next {
                Some(next) => work.push((next, path, cost)),
                None => found.push((path, cost)),
            }
        }
    }
    found
}

fn contains(path: &[u32], nogood: &[u32]) -> bool {
    nogood.iter().all(|arc| path.contains(arc))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(random_cases(2000)))]

    #[test]
    fn paths_are_excluded_as_enumeration_says(
        nodes in 2u32..9,
        arcs in prop::collection::vec((any::<u32>(), 0u32..2, 0u64..4), 6..20),
        nogoods in prop::collection::vec(
            (0u32..6, prop::collection::vec(any::<prop::sample::Index>(), 1..3)),
            0..24,
        ),
        limit in 0u64..14,
        overhead in 0u64..3,
    ) {
        let (graph, priced) = graph(nodes, &arcs);
        let nogoods: Vec<Vec<u32>> = nogoods
            .iter()
            .map(|(end, picks)| {
                let mut arcs: Vec<u32> =
                    picks.iter().map(|pick| pick.index(graph.arcs.len()) as u32).collect();
                // Many nogoods end alike, as those of a branch that contradicts each of many.
                if *end < 4 {
                    arcs.push((graph.arcs.len() as u32).saturating_sub(1 + end));
                }
                arcs.sort_unstable();
                arcs.dedup();
                arcs
            })
            .collect();
        let slices: Vec<&[u32]> = nogoods.iter().map(Vec::as_slice).collect();
        let found = follow(&graph, &priced, &slices, (0, overhead, limit), 64);
        let above: Vec<Vec<u32>> = all_paths(&priced)
            .into_iter()
            .filter(|(_, cost)| cost + overhead > limit)
            .map(|(path, _)| path)
            .collect();
        let open = |path: &Vec<u32>, allowed: &[usize]| {
            !allowed.iter().any(|&index| contains(path, &nogoods[index]))
        };
        let all: Vec<usize> = (0..nogoods.len()).collect();
        match found {
            Paths::Excluded(used) => {
                // The nogoods that were used suffice.
                prop_assert!(!above.iter().any(|path| open(path, &used)));
                let few: Vec<&[u32]> = used.iter().map(|&index| slices[index]).collect();
                let again = follow(&graph, &priced, &few, (0, overhead, limit), 64);
                prop_assert!(matches!(again, Paths::Excluded(_)), "{again:?}");
            }
            Paths::Open { path, .. } => {
                prop_assert!(above.contains(&path) && open(&path, &all));
                prop_assert_eq!(graph.check_path(&path), Ok(()));
            }
            Paths::TooMany => prop_assert!(false, "few states"),
        }
    }
}

#[test]
fn faulty_graphs_and_paths_are_refused() {
    let (graph, _) = graph(4, &[(0, 1, 1), (1, 0, 2)]);
    for path in [&[][..], &[99], &[0], &[2, 3]] {
        assert!(graph.check_path(path).is_err(), "{path:?}");
    }
    let mut backward = graph.clone();
    backward.arcs[0].head = Some(0);
    assert!(backward.check().is_err());
    let mut foreign = graph.clone();
    foreign.nodes[1].out.push(0);
    assert!(foreign.check().is_err());
    let mut missing = graph;
    missing.nodes[0].out.push(99);
    assert!(missing.check().is_err());
}
