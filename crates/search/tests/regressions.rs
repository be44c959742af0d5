//! Tests the search for the slowest path on programs for which it once gave a wrong result, or for
//! which it easily could.

use crate::common;
use crate::structured;

use common::TARGET;
use slowpath_ir::{
    BinaryOp, BlockId, FlowGraph, Op, Operand, OriginOp, Program, RegInfo, Terminator,
};
use slowpath_search::{Event, Metric, Search, SearchError, UnrollLimits, unroll};
use slowpath_smt::BitSolver;
use slowpath_stop::Stop;
use slowpath_target::Target;
use std::rc::Rc;
use structured::{Cond, Shape, Stmt, compile};

const SHAPE: Shape = Shape { packets: (60, 68), has_length: true };

fn search(program: &Program, shape: Shape) -> Result<Search<BitSolver>, SearchError> {
    let target = Target::parse(TARGET, "test").expect("the target is valid");
    let model = target.cost_model(&program.cost_classes).expect("all classes have prices");
    let unrolled = unroll(Rc::new(program.clone()), &UnrollLimits::default(), &Stop::never())?;
    let solver = BitSolver::new();
    Ok(Search::new(unrolled, &model, target, Metric::BitRate, shape.packets, solver))
}

/// Returns the length of the shortest packet for each satisfiable path, slowest path first.
fn lengths(program: &Program, shape: Shape) -> Result<Vec<u32>, SearchError> {
    let mut search = search(program, shape)?;
    let mut found = Vec::new();
    loop {
        match search.step()? {
            Event::Working | Event::Bound(_) | Event::EarlyPath(_) => {}
            Event::Path(path) => found.push(path.length),
            Event::Complete => return Ok(found),
            Event::GaveUp(why) => panic!("gave up: {why}"),
        }
    }
}

fn equals(a: usize, constant: u8) -> Cond {
    Cond::Constant { op: BinaryOp::Eq, a, constant, byte: true }
}

fn work(times: usize) -> Vec<Stmt> {
    vec![Stmt::Work { class: 0 }; times]
}

#[test]
fn the_bound_never_rises_when_a_size_class_opens() {
    // The slowest branches exclude each other for packets of every size. The search learns this
    // first for the least size, and again for the size class that the second check creates.
    let is = |a| Cond::Constant { op: BinaryOp::Eq, a, constant: 0, byte: false };
    let branch = |cond, then, otherwise| Stmt::If { cond, then, otherwise };
    let one = Cond::Constant { op: BinaryOp::Ult, a: 0, constant: 1, byte: false };
    let change = Stmt::WithConstant { op: BinaryOp::Sub, dst: 1, a: 0, constant: 1 };
    let checked = |a| Cond::ShorterThanSum { base: 58, a };
    let statements = [
        branch(is(0), vec![], vec![]),
        branch(
            is(0),
            vec![
                branch(
                    is(1),
                    vec![branch(one, vec![change], vec![])],
                    vec![Stmt::Read { dst: 0, offset: 0, bytes: 1 }],
                ),
                branch(checked(0), vec![], vec![branch(checked(1), vec![], vec![])]),
            ],
            vec![],
        ),
    ];
    let mut search = search(&compile(&statements, SHAPE), SHAPE).expect("unrolls");
    let mut last = search.bound().expect("a first bound").slowness;
    while !matches!(search.step().expect("searches"), Event::Complete) {
        if let Some(bound) = search.bound() {
            assert!(bound.slowness <= last, "{:?} after {last:?}", bound.slowness);
            last = bound.slowness;
        }
    }
}

#[test]
fn a_packet_length_that_is_a_constant_decides_checks() {
    let shape = Shape { packets: (60, 60), has_length: true };
    let check =
        |length| Stmt::If { cond: Cond::Shorter { length }, then: work(1), otherwise: work(2) };
    assert_eq!(lengths(&compile(&[check(60), check(61)], shape), shape).expect("searches"), [60]);
}

#[test]
fn a_limit_is_not_second_guessed() {
    let body = [Stmt::Read { dst: 0, offset: 0, bytes: 1 }];
    let mut program = compile(&body, SHAPE);
    // Block 0 repeats itself while its value is zero.
    let cond = slowpath_ir::Reg::from(program.regs.len());
    program.regs.push(RegInfo { name: "cond".into(), width: 1 });
    let zero = Operand::constant(16, 0);
    let op = Op::Binary { op: BinaryOp::Eq, dst: cond, a: slowpath_ir::Reg(0).into(), b: zero };
    let block = &mut program.blocks[0];
    block.ops.push(OriginOp { op, insn: block.first });
    let Terminator::Jump(exit) = block.terminator.clone() else { panic!("one way out") };
    let mut again = exit.clone();
    again.target = slowpath_ir::Destination::Block(BlockId(0));
    block.terminator = Terminator::Branch { cond, taken: again, fallthrough: exit };
    let with = |every| {
        let limits = UnrollLimits { every, ..UnrollLimits::default() };
        unroll(Rc::new(program.clone()), &limits, &Stop::never())
    };
    match with(None).err() {
        Some(SearchError::UnboundedLoop { location: 0, .. }) => {}
        other => panic!("expected an unbounded loop, got {other:?}"),
    }
    let unrolled = with(Some(12_000)).expect("the limit bounds it");
    assert_eq!(unrolled.dag.nodes.len(), 12_000);
    assert_eq!(unrolled.assumptions.len(), 1);
    assert!(with(Some(0)).expect("nothing is left").dag.nodes.is_empty());
}

#[test]
fn an_inner_loop_that_is_cut_is_mentioned_once() {
    let leave = Stmt::Break { cond: equals(0, 1), loops: 1 };
    let change = Stmt::Compute { op: BinaryOp::Add, dst: 0, a: 0, b: 1 };
    let inner = Stmt::Loop { times: 3, body: vec![change, leave] };
    let program = compile(&[Stmt::Loop { times: 3, body: vec![inner] }], SHAPE);
    let flow = FlowGraph::of(&program).expect("loops have one entry");
    let headers = flow.loops.iter().map(|inside| program.block(inside.header).first.0);
    let at = headers.map(|header| (header, 2)).collect();
    let limits = UnrollLimits { at, ..UnrollLimits::default() };
    let unrolled = unroll(Rc::new(program), &limits, &Stop::never()).expect("unrolls");
    assert_eq!(unrolled.assumptions.len(), 2, "{:?}", unrolled.assumptions);
    assert_eq!(unrolled.cuts, unrolled.assumptions);
}

#[test]
fn reading_behind_many_merges_does_not_exhaust_the_stack() {
    // Memory has 200 * 100 merges before the final read.
    let cond = equals(0, 1);
    let write = vec![Stmt::Write { src: 1, offset: 5, bytes: 1 }];
    let branch = Stmt::If { cond, then: write, otherwise: Vec::new() };
    let inner = Stmt::Loop { times: 100, body: vec![branch] };
    let statements = [
        Stmt::Loop { times: 200, body: vec![inner] },
        Stmt::Read { dst: 2, offset: 5, bytes: 2 },
        Stmt::Leave { cond: equals(2, 7) },
    ];
    let search = search(&compile(&statements, SHAPE), SHAPE).expect("unrolls");
    assert!(search.unrolled().dag.nodes.len() > 40_000);
}

#[test]
fn a_path_that_no_packet_takes_may_read_anywhere() {
    // The pointer becomes null if value 0 is below value 1, and is dereferenced if value 1 is below
    // value 0. Intervals alone do not show that these conditions exclude each other.
    let below = |a, b| Cond::Values { op: BinaryOp::Ult, a, b };
    let statements = [
        Stmt::If {
            cond: below(0, 1),
            then: vec![Stmt::Spill { pointer: 0, slot: 0 }],
            otherwise: vec![Stmt::Point { pointer: 0, stack: false, a: 2 }],
        },
        Stmt::If {
            cond: below(1, 0),
            then: vec![
                Stmt::ReadVia { dst: 0, pointer: 0, bytes: 1 },
                Stmt::Leave { cond: equals(0, 1) },
            ],
            otherwise: Vec::new(),
        },
    ];
    let mut program = compile(&statements, SHAPE);
    // Instead of spilling the pointer, the changed program sets it to null.
    let spill = program.blocks.iter_mut().flat_map(|block| &mut block.ops);
    let mut changed = 0;
    for origin in spill {
        if let Op::Store { value: Operand::Reg(pointer), .. } = origin.op {
            origin.op = Op::Copy { dst: pointer, src: Operand::constant(32, 0) };
            changed += 1;
        }
    }
    assert_eq!(changed, 1);
    assert_eq!(lengths(&program, SHAPE).expect("searches").len(), 4);
}

#[test]
fn a_pointer_that_was_spilled_survives_a_store_to_one_of_two_regions() {
    // For all paths together, the store may hit any address. On each single path, it misses the
    // slot of the spilled pointer.
    let point = |stack| vec![Stmt::Point { pointer: 0, stack, a: 1 }];
    let statements = [
        Stmt::If { cond: equals(0, 0), then: point(false), otherwise: point(true) },
        Stmt::WriteVia { src: 0, pointer: 0, bytes: 1 },
        Stmt::Spill { pointer: 0, slot: 0 },
        Stmt::WriteVia { src: 0, pointer: 0, bytes: 2 },
        Stmt::Fill { pointer: 1, slot: 0 },
        Stmt::ReadVia { dst: 1, pointer: 1, bytes: 1 },
        Stmt::Leave { cond: equals(1, 3) },
    ];
    // The value that is read back is value 0: 0 in the packet, and possibly 3 on the stack.
    assert_eq!(lengths(&compile(&statements, SHAPE), SHAPE).expect("searches").len(), 3);
}
