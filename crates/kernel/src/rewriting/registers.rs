//! Finds the registers that an instruction reads, writes or leaves without a value.

use slowpath_bpf::insn::{AluOp, AtomicOp, Call, Insn, Register, Source};

/// A set of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers(u16);

impl Registers {
    pub const NONE: Registers = Registers(0);
    /// `r0` to `r9`.
    pub const ALL: Registers = Registers(0x3ff);
    /// `r0`.
    pub const RESULT: Registers = Registers(1);
    /// `r1` to `r5`.
    pub const ARGUMENTS: Registers = Registers(0x3e);
    /// `r1`.
    pub const CONTEXT: Registers = Registers(2);

    pub fn of(register: Register) -> Registers {
        Registers(1 << register.number()).and(Registers::ALL)
    }

    fn source(source: Source) -> Registers {
        match source {
            Source::Reg(register) => Registers::of(register),
            Source::Imm(_) => Registers::NONE,
        }
    }

    pub fn or(self, other: Registers) -> Registers {
        Registers(self.0 | other.0)
    }

    pub fn and(self, other: Registers) -> Registers {
        Registers(self.0 & other.0)
    }

    pub fn without(self, other: Registers) -> Registers {
        Registers(self.0 & !other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Register> {
        (0..10).filter(move |n| self.0 >> n & 1 == 1).filter_map(Register::new)
    }
}

/// Registers that an instruction reads, writes or leaves without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    pub reads: Registers,
    pub writes: Registers,
    /// Registers that have no defined value after the instruction, such as argument registers after
    /// a call.
    pub clobbers: Registers,
}

/// Returns how an instruction affects registers. Calls are assumed to read all argument registers.
pub fn effect(insn: &Insn) -> Effect {
    let of = Registers::of;
    let plain = |reads, writes| Effect { reads, writes, clobbers: Registers::NONE };
    match *insn {
        Insn::Alu { op: AluOp::Mov, dst, src, .. } => plain(Registers::source(src), of(dst)),
        Insn::Alu { dst, src, .. } => plain(Registers::source(src).or(of(dst)), of(dst)),
        Insn::Neg { dst, .. } | Insn::Swap { dst, .. } => plain(of(dst), of(dst)),
        Insn::MoveSigned { dst, src, .. } => plain(of(src), of(dst)),
        Insn::LoadImm64 { dst, .. } => plain(Registers::NONE, of(dst)),
        Insn::Load { dst, base, .. } | Insn::LoadAcquire { dst, base, .. } => {
            plain(of(base), of(dst))
        }
        Insn::Store { base, src, .. } => {
            plain(Registers::source(src).or(of(base)), Registers::NONE)
        }
        Insn::StoreRelease { base, src, .. } => plain(of(src).or(of(base)), Registers::NONE),
        Insn::Atomic { op, base, src, .. } => {
            let operands = of(base).or(of(src));
            match op {
                AtomicOp::Cmpxchg => plain(operands.or(Registers::RESULT), Registers::RESULT),
                AtomicOp::Xchg
                | AtomicOp::Add { fetch: true }
                | AtomicOp::Or { fetch: true }
                | AtomicOp::And { fetch: true }
                | AtomicOp::Xor { fetch: true } => plain(operands, of(src)),
                _ => plain(operands, Registers::NONE),
            }
        }
        Insn::Branch { dst, src, .. } => plain(Registers::source(src).or(of(dst)), Registers::NONE),
        Insn::Exit => plain(Registers::RESULT, Registers::NONE),
        Insn::Call(Call::Helper(_) | Call::Subprogram { .. } | Call::Kfunc { .. }) => Effect {
            reads: Registers::ARGUMENTS,
            writes: Registers::RESULT,
            clobbers: Registers::ARGUMENTS,
        },
        // The verifier rejects it in XDP programs.
        Insn::LoadPacket { .. } => Effect {
            reads: Registers::ALL,
            writes: Registers::RESULT,
            clobbers: Registers::ARGUMENTS,
        },
        Insn::Jump { .. } | Insn::MayGoto { .. } | Insn::SecondSlot => {
            plain(Registers::NONE, Registers::NONE)
        }
    }
}
