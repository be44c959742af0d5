//! Answers questions about a single instruction: its operands, branch targets, delay slots and
//! condition codes.

use crate::{Address, BranchCondition, Insn, Operand};

impl Insn {
    /// Returns true if the instruction is a branch: unconditional, conditional, on a bit, or a
    /// return.
    pub fn is_branch(&self) -> bool {
        matches!(self, Insn::Branch { .. } | Insn::BranchBit { .. } | Insn::Return { .. })
    }

    /// Returns true if the instruction always branches.
    pub fn is_unconditional(&self) -> bool {
        let always = BranchCondition::Always;
        matches!(self, Insn::Return { .. })
            || matches!(*self, Insn::Branch { condition, .. } if condition == always)
    }

    /// Returns the number of delay slots: following instructions that run before this one takes
    /// effect.
    pub fn delay_slots(&self) -> u8 {
        match *self {
            Insn::Branch { defer, .. }
            | Insn::BranchBit { defer, .. }
            | Insn::Return { defer, .. }
            | Insn::Mem { defer, .. } => defer,
            _ => 0,
        }
    }

    /// Returns the destination of the result, and a flag that is true if the result goes to both
    /// register banks. Returns `None` if the instruction has no result.
    pub fn destination(&self) -> Option<(Operand, bool)> {
        match *self {
            Insn::Alu { dst, both_banks, .. }
            | Insn::AluShf { dst, both_banks, .. }
            | Insn::Asr { dst, both_banks, .. }
            | Insn::DblShf { dst, both_banks, .. }
            | Insn::Immed { dst, both_banks, .. }
            | Insn::ImmedW1 { dst, both_banks, .. }
            | Insn::LdField { dst, both_banks, .. } => Some((dst, both_banks)),
            Insn::MulStep { a, step, both_banks, .. } if step.writes_result() => {
                Some((a, both_banks))
            }
            _ => None,
        }
    }

    /// Returns true if the instruction writes the condition codes.
    pub fn writes_condition_codes(&self) -> bool {
        match self {
            Insn::Alu { .. }
            | Insn::AluShf { .. }
            | Insn::Asr { .. }
            | Insn::DblShf { .. }
            | Insn::LdField { .. } => true,
            Insn::MulStep { step, .. } => step.writes_result(),
            _ => false,
        }
    }

    /// Returns the operands, destinations included, in the order of the listing.
    pub fn operands(&self) -> impl Iterator<Item = Operand> {
        let list = match *self {
            Insn::Alu { dst, a, b, .. }
            | Insn::AluShf { dst, a, b, .. }
            | Insn::DblShf { dst, a, b, .. } => [Some(dst), Some(a), Some(b)],
            Insn::Asr { dst, b, .. } => [Some(dst), Some(b), None],
            Insn::Immed { dst, .. } | Insn::ImmedW1 { dst, .. } => [Some(dst), None, None],
            Insn::LdField { dst, src, .. } => [Some(dst), Some(src), None],
            Insn::LocalCsrWr { src, .. }
            | Insn::BranchBit { src, .. }
            | Insn::Return { src, .. } => [Some(src), None, None],
            Insn::Mem { address: Address::Sram(x, y) | Address::Dram(x, y), .. } => {
                [Some(x), Some(y), None]
            }
            Insn::MulStep { a, b, .. } => [Some(a), Some(b), None],
            Insn::LocalCsrRd { .. } | Insn::Nop | Insn::Branch { .. } => [None; 3],
        };
        list.into_iter().flatten()
    }
}
