//! Tests the search on programs with many slow paths that are unsatisfiable for the same few
//! reasons.

use crate::common;

use common::{BlockSpec, EndSpec, OpSpec, PACKETS, TARGET, program};
use slowpath_ir::BinaryOp;
use slowpath_search::{Event, Metric, Search, UnrollLimits, unroll};
use slowpath_smt::BitSolver;
use slowpath_stop::Stop;
use slowpath_target::Target;
use std::rc::Rc;

/// Cost of a step that costs time: five cost events of two cycles each.
const WORK: [usize; 5] = [1; 5];

/// Returns a program with one conditional step for each of the lowest `bits` bits of a packet word.
/// A step costs time if its bit is set. The last step costs as much as all others together, but
/// only if the word is zero. No packet takes the last step and another step. So 2^bits - 1
/// unsatisfiable paths are slower than any satisfiable path.
fn explosion(bits: u8) -> Vec<BlockSpec> {
    let block = |ops, end, costs: &[usize]| BlockSpec {
        ops,
        end,
        costs: costs.to_vec(),
        edge_costs: [Vec::new(), Vec::new()],
    };
    let mut specs = vec![block(vec![OpSpec::Load { dst: 0, offset: 0 }], EndSpec::Next, &[])];
    for bit in 0..bits {
        let mask = OpSpec::WithConstant { op: BinaryOp::And, dst: 1, a: 0, constant: 1 << bit };
        let skip = EndSpec::Compare { op: BinaryOp::Eq, a: 1, constant: 0, ahead: 2 };
        specs.push(block(vec![mask], skip, &[]));
        specs.push(block(vec![], EndSpec::Next, &WORK));
    }
    let all = ((1u16 << bits) - 1) as u8;
    let any = OpSpec::WithConstant { op: BinaryOp::And, dst: 1, a: 0, constant: all };
    let skip = EndSpec::Compare { op: BinaryOp::Ult, a: 2, constant: 1, ahead: 2 };
    let zero = OpSpec::WithConstant { op: BinaryOp::And, dst: 2, a: 2, constant: 0 };
    specs.push(block(
        vec![any, zero],
        EndSpec::Compare { op: BinaryOp::Eq, a: 1, constant: 0, ahead: 2 },
        &[],
    ));
    specs.push(block(vec![], skip, &[]));
    specs.push(block(vec![], EndSpec::Next, &WORK.repeat(usize::from(bits))));
    specs
}

#[test]
fn is_solved_with_few_nogoods() {
    for bits in [2u8, 4, 8] {
        let program = program(&explosion(bits));
        let target = Target::parse(TARGET, "test").expect("the target is valid");
        let model = target.cost_model(&program.cost_classes).expect("all classes have prices");
        let unrolled =
            unroll(Rc::new(program), &UnrollLimits::default(), &Stop::never()).expect("unrolls");
        let solver = BitSolver::new();
        let mut search = Search::new(unrolled, &model, target, Metric::PacketRate, PACKETS, solver);
        let found = loop {
            match search.step().expect("searches") {
                Event::Path(found) => break found,
                Event::Complete => panic!("there is a path"),
                Event::GaveUp(why) => panic!("gave up: {why}"),
                Event::Working | Event::Bound(_) | Event::EarlyPath(_) => {}
            }
        };
        // Either all steps of the first part count (10 cycles each), or the last step counts.
        let overhead = 7;
        assert_eq!(found.cost[0], overhead + 10 * u64::from(bits), "{bits} bits");
        assert!(search.nogoods() <= 2 * usize::from(bits) + 2, "{} nogoods", search.nogoods());
    }
}
