//! Facts that the code generator's analyses and optimisations need about the instructions of a BPF
//! program. Each instruction is given by its index, called `slot`.

use std::collections::BTreeSet;

use slowpath_bpf::insn::Register;
use slowpath_bpf::lift::{RegisterValue, Registers};

use super::helpers;

pub(super) trait Facts {
    /// Returns true if the instruction at index `slot` can be reached.
    fn is_live(&self, slot: usize) -> bool;

    /// Returns the abstract value of a register before the instruction at index `slot`.
    fn value(&self, slot: usize, register: Register) -> RegisterValue;

    /// Returns the distance in bytes from the first to the second of two packet pointers; `None` if
    /// it is unknown. Each pointer is the value of a register before an instruction, and is given
    /// by the instruction's index and the register.
    fn packet_distance(&self, first: (usize, Register), second: (usize, Register)) -> Option<i64>;

    /// Returns the number of argument registers that a helper reads when the instruction at index
    /// `slot` calls it.
    fn arguments(&self, slot: usize, helper: i32) -> u8;

    /// Returns true if the driver's code for the store at index `slot` reads the whole 64-bit
    /// source register, even if it stores fewer bits.
    fn stores_whole(&self, slot: usize, base: Register, src: Register) -> bool;
}

/// Facts about a linked BPF program, from the analysis of its registers.
pub(super) struct LinkedFacts<'a> {
    pub registers: &'a Registers,
    /// Indices of the instructions that the kernel's verifier visits.
    pub live: &'a BTreeSet<usize>,
}

impl Facts for LinkedFacts<'_> {
    fn is_live(&self, slot: usize) -> bool {
        self.live.contains(&slot)
    }

    fn value(&self, slot: usize, register: Register) -> RegisterValue {
        self.registers.before(slot, register.number())
    }

    fn packet_distance(&self, first: (usize, Register), second: (usize, Register)) -> Option<i64> {
        let numbered = |(slot, register): (usize, Register)| (slot, register.number());
        self.registers.packet_distance(numbered(first), numbered(second))
    }

    fn arguments(&self, _: usize, helper: i32) -> u8 {
        helpers::arguments(helper)
    }

    fn stores_whole(&self, slot: usize, _: Register, src: Register) -> bool {
        !matches!(self.value(slot, src), RegisterValue::Other | RegisterValue::Constant(_))
    }
}
