//! Stores facts about each instruction of a program, for analyses and optimisations.

use std::collections::BTreeSet;

use slowpath_bpf::insn::Register;
use slowpath_bpf::lift::{RegisterValue, Registers};

use super::helpers;

pub(super) trait Facts {
    /// Returns true if the instruction at a slot can be reached.
    fn is_live(&self, slot: usize) -> bool;

    /// Returns the abstract value of a register before an instruction.
    fn value(&self, slot: usize, register: Register) -> RegisterValue;

    /// Returns the distance in bytes from the first to the second of two packet pointers, if it is
    /// known. Each pointer is given by a slot, and by the register that contains it before the
    /// instruction there.
    fn packet_distance(&self, first: (usize, Register), second: (usize, Register)) -> Option<i64>;

    /// Returns the number of argument registers that a call of a helper reads.
    fn arguments(&self, slot: usize, helper: i32) -> u8;

    /// Returns true if a store writes 64 bits, whatever its size is.
    fn stores_whole(&self, slot: usize, base: Register, src: Register) -> bool;
}

/// The facts about a program after linking.
pub(super) struct LinkedFacts<'a> {
    pub registers: &'a Registers,
    /// Slots that the kernel's verifier visits.
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
