//! Tests that the bound without unrolling is not below the cost of the longest path of the unrolled
//! program.

use crate::common;

use common::{TARGET, program, specs};
use proptest::prelude::*;
use slowpath_ir::FlowGraph;
use slowpath_search::{CostGraph, Scratch, UnrollLimits, structural_bound, unroll};
use slowpath_stop::Stop;
use slowpath_target::Target;
use std::rc::Rc;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_path_costs_more_than_rounds_times_the_heaviest_round(specs in specs(2..7)) {
        let program = program(&specs);
        let limits = UnrollLimits { every: Some(3), ..UnrollLimits::default() };
        let unrolled = unroll(Rc::new(program.clone()), &limits, &Stop::never()).expect("unrolls");
        let target = Target::parse(TARGET, "test").expect("the target is valid");
        let model = target.cost_model(&program.cost_classes).expect("all classes have prices");
        let flow = FlowGraph::of(&program).expect("loops have one entry");
        // These loops are not nested, so each is entered once.
        let instances = |block| {
            unrolled.dag.nodes.iter().filter(|node| node.block == block).count() as u64
        };
        let rounds: Vec<u64> =
            flow.loops.iter().map(|around| instances(around.header).max(1)).collect();
        let bound = structural_bound(&program, &flow, &rounds, &model, &Stop::never());
        let bound = bound.expect("nothing stops it").expect("a way leads out");
        let costs = CostGraph::new(&unrolled.dag, &program, &model);
        let allowed = vec![true; unrolled.dag.arcs.len()];
        for component in 0..costs.components() {
            let longest = costs.longest(component, &allowed, &mut Scratch::default());
            if let Some((ticks, _)) = longest {
                prop_assert!(bound[component] >= ticks, "{}: {} < {ticks}", component, bound[component]);
            }
        }
    }
}
