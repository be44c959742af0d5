//! Builds programs from lists of edges, for several tests.

use slowpath_ir::{
    Block, BlockId, Destination, Draw, Edge, InsnIdx, Instruction, Op, Operand, OriginOp, Program,
    Reg, RegInfo, Terminator,
};

/// Returns a program in which block `i` ends in a branch to the blocks `edges[i]`. A number in
/// `edges` that is not the index of a block stands for an exit. Register 0 is the branch condition;
/// registers 1 to 3 are 8 bits wide.
pub fn program(edges: &[&[u32]]) -> Program {
    let edge = |&to: &u32| Edge {
        target: if (to as usize) < edges.len() {
            Destination::Block(BlockId(to))
        } else {
            Destination::Exit(to)
        },
        costs: Vec::new(),
    };
    let block = |(index, targets): (usize, &&[u32])| Block {
        first: InsnIdx::from(index),
        insns: vec![InsnIdx::from(index)],
        ops: Vec::new(),
        costs: Vec::new(),
        terminator: match targets {
            [only] => Terminator::Jump(edge(only)),
            [first, second, ..] => {
                Terminator::Branch { cond: Reg(0), taken: edge(first), fallthrough: edge(second) }
            }
            [] => Terminator::Jump(edge(&u32::MAX)),
        },
    };
    let reg = |name: &str, width| RegInfo { name: name.into(), width };
    Program {
        name: "test".into(),
        insns: vec![Instruction { text: "?".into(), source: None }; edges.len()],
        regs: vec![reg("cond", 1), reg("a", 8), reg("b", 8), reg("c", 8)],
        blocks: edges.iter().enumerate().map(block).collect(),
        draws: vec![Draw::default()],
        ..Program::default()
    }
}

/// Returns a micro-operation that copies `src` to register `dst`, as part of instruction 0.
#[allow(dead_code)]
pub fn copy(dst: u32, src: Operand) -> OriginOp {
    OriginOp { op: Op::Copy { dst: Reg(dst), src }, insn: InsnIdx(0) }
}
