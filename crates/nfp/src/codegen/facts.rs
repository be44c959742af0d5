//! Facts about the instructions of a BPF program that the code generator's analyses and
//! optimisations ask for.

use std::collections::BTreeSet;

use slowpath_bpf::insn::Register;
use slowpath_bpf::lift::{RegisterValue, Registers};

use super::helpers;

pub(super) trait Facts {
    /// Returns true if the instruction at a slot can be reached.
    fn is_live(&self, slot: usize) -> bool;

    /// Returns the abstract value of a register before an instruction.
    fn value(&self, slot: usize, register: Register) -> RegisterValue;

    /// Returns the distance in bytes from the first to the second of two packet pointers, or `None`
    /// if it is unknown. Each pointer is the value of a register before the instruction at a slot.
    fn packet_distance(&self, first: (usize, Register), second: (usize, Register)) -> Option<i64>;

    /// Returns the number of argument registers that a call of a helper reads.
    fn arguments(&self, slot: usize, helper: i32) -> u8;

    /// Returns true if the driver's store code reads all 64 bits of the source register, even if
    /// the store has fewer bits.
    fn stores_whole(&self, slot: usize, base: Register, src: Register) -> bool;
}

/// Facts about a linked BPF program, from the analysis of its registers.
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
