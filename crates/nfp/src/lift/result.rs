//! Stores the program's result in memory when the program exits. The result is the low word of `r0`
//! in bank B.
//!
//! The code at the end of every compiled program passes the result to the firmware. Listings exit
//! before that code, so no instruction in them reads the result.

use slowpath_ir::{
    Block, Destination, Input, InputId, InputKind, InsnIdx, Op, Operand as Value, OriginOp,
    Program, Reg, Region, RegionId, RegionKind, Terminator,
};

use super::core_state::{ArchReg, CoreState};
use crate::Bank;

/// Adds a store of the program's result to each block that leaves the program. Returns the register
/// with the address of the memory region to which the result is stored.
pub(super) fn store_result(core: &mut CoreState, blocks: &mut [Block]) -> Reg {
    let base = core.emit.named("address of result".into(), 32);
    let value = Value::Reg(core.reg(ArchReg::Gpr(Bank::B, 0)));
    for block in blocks {
        let leaves = |edge: &slowpath_ir::Edge| matches!(edge.target, Destination::Exit(_));
        if matches!(&block.terminator, Terminator::Jump(edge) if leaves(edge)) {
            let insn = block.insns.last().copied().unwrap_or(InsnIdx(0));
            block.ops.push(OriginOp { op: Op::Store { addr: Value::Reg(base), value }, insn });
        }
    }
    base
}

/// Adds the memory region to which the result is stored.
pub(super) fn add_region(program: &mut Program, base: Reg) {
    let region = RegionId::from(program.regions.len());
    let input = InputId::from(program.inputs.len());
    program.inputs.push(Input {
        name: "address of result".into(),
        width: 32,
        min: 0x1_0000,
        max: 0x2000_0000,
        kind: InputKind::BaseAddress(region),
    });
    let kind = RegionKind::Context;
    program.regions.push(Region { name: "result".into(), kind, base, content: None });
    program.prologue.insert(0, OriginOp { op: Op::Input { dst: base, input }, insn: InsnIdx(0) });
}
