//! Finds the registers that an instruction reads and writes, and the execution unit that it needs.

use slowpath_bpf::insn::{AluOp, AtomicOp, Call, Insn, Register, Source};
use slowpath_target::Unit;

/// The way in which the core handles an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Instruction that needs no execution unit, because the core handles it at register renaming:
    /// moves and jumps.
    Renamed,
    /// 64-bit constant: handled at register renaming, but has its own cost in the core.
    Constant,
    /// Instruction that this execution unit executes.
    On(Unit),
    /// Call of one of the BPF program's own functions.
    Function,
    /// Call of a kernel function (helper).
    Kernel,
}

/// The registers that an instruction reads and writes, and the way in which the core handles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    pub work: Work,
    pub reads: [Option<u8>; 3],
    pub writes: Option<u8>,
}

pub(crate) fn of(insn: &Insn) -> Effect {
    let number = |register: Register| Some(register.number());
    let operand = |source: Source| match source {
        Source::Reg(register) => Some(register.number()),
        Source::Imm(_) => None,
    };
    let effect = |work, reads, writes| Effect { work, reads, writes };
    match *insn {
        Insn::Alu { op: AluOp::Mov, dst, src, .. } => {
            effect(Work::Renamed, [operand(src), None, None], number(dst))
        }
        Insn::Alu { op, dst, src, .. } => {
            effect(Work::On(unit(op)), [number(dst), operand(src), None], number(dst))
        }
        Insn::Neg { dst, .. } | Insn::Swap { dst, .. } => {
            effect(Work::On(Unit::Alu), [number(dst), None, None], number(dst))
        }
        Insn::MoveSigned { dst, src, .. } => {
            effect(Work::On(Unit::Alu), [number(src), None, None], number(dst))
        }
        Insn::LoadImm64 { dst, .. } => effect(Work::Constant, [None; 3], number(dst)),
        Insn::Load { dst, base, .. } | Insn::LoadAcquire { dst, base, .. } => {
            effect(Work::On(Unit::Load), [number(base), None, None], number(dst))
        }
        Insn::Store { base, src, .. } => {
            effect(Work::On(Unit::Store), [number(base), operand(src), None], None)
        }
        Insn::StoreRelease { base, src, .. } => {
            effect(Work::On(Unit::Store), [number(base), number(src), None], None)
        }
        // RFC 9669, section 5.3: only with the modifier FETCH does a register get the old value.
        Insn::Atomic { op: AtomicOp::Cmpxchg, base, src, .. } => {
            effect(Work::On(Unit::Atomic), [number(base), number(src), Some(0)], Some(0))
        }
        Insn::Atomic { op, base, src, .. } => {
            let old_value = op.fetches().then_some(src.number());
            effect(Work::On(Unit::Atomic), [number(base), number(src), None], old_value)
        }
        Insn::Branch { dst, src, .. } => {
            effect(Work::On(Unit::Branch), [number(dst), operand(src), None], None)
        }
        Insn::Jump { .. } | Insn::SecondSlot => effect(Work::Renamed, [None; 3], None),
        Insn::MayGoto { .. } => effect(Work::On(Unit::Branch), [None; 3], None),
        Insn::Call(Call::Subprogram { .. }) => effect(Work::Function, [None; 3], None),
        Insn::Call(Call::Helper(_) | Call::Kfunc { .. }) => {
            effect(Work::Kernel, [None; 3], Some(0))
        }
        Insn::LoadPacket { .. } => effect(Work::On(Unit::Load), [None; 3], Some(0)),
        Insn::Exit => effect(Work::On(Unit::Alu), [None; 3], None),
    }
}

fn unit(op: AluOp) -> Unit {
    match op {
        AluOp::Mul => Unit::Multiply,
        AluOp::Div | AluOp::Mod | AluOp::Sdiv | AluOp::Smod => Unit::Divide,
        AluOp::Lsh | AluOp::Rsh | AluOp::Arsh => Unit::Shift,
        _ => Unit::Alu,
    }
}

#[cfg(test)]
mod tests;
