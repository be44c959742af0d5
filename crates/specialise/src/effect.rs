//! Finds the registers that BPF instructions read and write.

use crate::graph::{End, Op};
use crate::helpers;
use slowpath_bpf::insn::{AluOp, AtomicOp, Call, Insn, Register, Source};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers(u16);

impl Registers {
    /// Registers that a call clobbers: `r0` to `r5`.
    pub const CLOBBERED: Registers = Registers(0b11_1111);

    /// Returns the registers `r1` to `r5` that contain the arguments of a call with `count`
    /// arguments.
    pub fn arguments(count: u8) -> Registers {
        Registers((1 << (count + 1)) - 2)
    }

    pub fn contains(self, reg: Register) -> bool {
        self.0 >> reg.number() & 1 == 1
    }

    #[must_use]
    pub fn with(self, reg: Register) -> Registers {
        Registers(self.0 | 1 << reg.number())
    }

    #[must_use]
    pub fn union(self, other: Registers) -> Registers {
        Registers(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: Registers) -> Registers {
        Registers(self.0 & !other.0)
    }

    fn of(reg: Register) -> Registers {
        Registers::default().with(reg)
    }

    fn source(src: Source) -> Registers {
        match src {
            Source::Reg(reg) => Registers::of(reg),
            Source::Imm(_) => Registers::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    pub reads: Registers,
    pub writes: Registers,
    /// True if the operation has no effect except on the register that it writes.
    pub pure: bool,
}

impl Effect {
    pub fn of(op: &Op) -> Effect {
        let pure = |reads, dst| Effect { reads, writes: Registers::of(dst), pure: true };
        let none = Registers::default();
        let impure = |reads, writes| Effect { reads, writes, pure: false };
        match *op {
            Op::Call(_) => impure(Registers::arguments(5), Registers::CLOBBERED),
            Op::Address(dst, _) => pure(none, dst),
            Op::Insn(insn) => match insn {
                Insn::Alu { op: AluOp::Mov, dst, src, .. } => pure(Registers::source(src), dst),
                Insn::Alu { dst, src, .. } => pure(Registers::source(src).with(dst), dst),
                Insn::Neg { dst, .. } | Insn::Swap { dst, .. } => pure(Registers::of(dst), dst),
                Insn::MoveSigned { dst, src, .. } => pure(Registers::of(src), dst),
                Insn::LoadImm64 { dst, .. } => pure(none, dst),
                Insn::Load { dst, base, .. } => pure(Registers::of(base), dst),
                Insn::LoadAcquire { dst, base, .. } => {
                    impure(Registers::of(base), Registers::of(dst))
                }
                Insn::Store { base, src, .. } => impure(Registers::source(src).with(base), none),
                Insn::StoreRelease { base, src, .. } => impure(Registers::of(base).with(src), none),
                Insn::Atomic { op, base, src, .. } => {
                    let reads = Registers::of(base).with(src);
                    match op {
                        AtomicOp::Cmpxchg => {
                            impure(reads.with(Register::R0), Registers::of(Register::R0))
                        }
                        AtomicOp::Xchg
                        | AtomicOp::Add { fetch: true }
                        | AtomicOp::Or { fetch: true }
                        | AtomicOp::And { fetch: true }
                        | AtomicOp::Xor { fetch: true } => impure(reads, Registers::of(src)),
                        _ => impure(reads, none),
                    }
                }
                Insn::LoadPacket { index, .. } => {
                    let reads = index.map_or(none, Registers::of).with(Register::R6);
                    impure(reads, Registers::CLOBBERED)
                }
                Insn::Call(Call::Helper(number)) => {
                    let arguments = helpers::effect(number).arguments;
                    impure(Registers::arguments(arguments), Registers::CLOBBERED)
                }
                Insn::Call(_) => impure(Registers::arguments(5), Registers::CLOBBERED),
                Insn::SecondSlot
                | Insn::Jump { .. }
                | Insn::Branch { .. }
                | Insn::MayGoto { .. }
                | Insn::Exit => impure(none, none),
            },
        }
    }

    /// Returns the registers that the jump, branch or exit at the end of a block reads.
    pub fn of_end(end: End) -> Registers {
        match end {
            End::Branch { test, .. } => Registers::source(test.src).with(test.dst),
            End::Exit => Registers::of(Register::R0),
            End::Original => Registers::of(Register::R1),
            End::Jump(_) | End::MayGoto { .. } => Registers::default(),
        }
    }
}

/// Returns the register that an operation writes, or `None` if the operation also has another
/// effect.
pub(crate) fn result(op: &Op) -> Option<Register> {
    let effect = Effect::of(op);
    let written = || (0..10).filter_map(Register::new).find(|&reg| effect.writes.contains(reg));
    effect.pure.then(written).flatten()
}
