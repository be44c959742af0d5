//! Tests that the cost automaton yields the same cost for a path as adding up the costs of its
//! operations one by one.

use crate::common;

use common::{TARGET, program, specs};
use proptest::prelude::*;
use slowpath_exec::ArcId;
use slowpath_search::{CostGraph, Dag, Head, Scratch, UnrollLimits, Unrolled, unroll};
use slowpath_stop::Stop;
use slowpath_target::{CostModel, CostVector, Target};
use std::rc::Rc;

/// Computes the cost of a path without the cost automaton: adds up the costs of its operations one
/// by one.
fn price(unrolled: &Unrolled, model: &CostModel, path: &[ArcId]) -> CostVector {
    let program = unrolled.executor.program();
    let mut cost = model.overhead();
    let mut context = model.start();
    for &arc in path {
        let arc = &unrolled.dag[arc];
        let block = program.block(unrolled.dag[arc.tail].block);
        let edge = block.terminator.edges().nth(arc.edge).expect("the edge exists");
        for event in block.costs.iter().chain(&edge.costs) {
            context = model.step(context, event.class.0, &mut cost);
        }
    }
    cost
}

fn all_paths(unrolled: &Unrolled) -> Vec<Vec<ArcId>> {
    let mut done = Vec::new();
    let mut work = vec![(Dag::ENTRY, Vec::new())];
    while let Some((node, prefix)) = work.pop() {
        for &arc in &unrolled.dag[node].out {
            let path: Vec<ArcId> = prefix.iter().copied().chain([arc]).collect();
            match unrolled.dag[arc].head {
                Head::Node(next) => work.push((next, path)),
                Head::Exit(_) => done.push(path),
            }
        }
    }
    done
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn costs_are_exact_and_the_longest_path_is_the_longest(
        specs in specs(1..9),
        forbidden in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let program = program(&specs);
        let target = Target::parse(TARGET, "test").expect("the target is valid");
        let model = target.cost_model(&program.cost_classes).expect("all classes have prices");
        let unrolled =
            unroll(Rc::new(program), &UnrollLimits::default(), &Stop::never()).expect("unrolls");
        let costs = CostGraph::new(&unrolled.dag, unrolled.executor.program(), &model);
        let mut allowed = vec![true; unrolled.dag.arcs.len()];
        for index in forbidden {
            let index = index.index(allowed.len());
            allowed[index] = false;
        }
        let paths = all_paths(&unrolled);
        for path in &paths {
            prop_assert_eq!(costs.path_cost(path), price(&unrolled, &model, path));
        }
        for component in 0..costs.components() {
            let possible = paths.iter().filter(|path| path.iter().all(|&a| allowed[a.index()]));
            let most = possible.map(|path| costs.path_cost(path)[component]).max();
            let found = costs.longest(component, &allowed, &mut Scratch::default());
            prop_assert_eq!(found.as_ref().map(|(cost, _)| *cost), most);
            if let Some((cost, path)) = found {
                prop_assert!(paths.contains(&path));
                prop_assert_eq!(costs.path_cost(&path)[component], cost);
            }
        }
    }
}
