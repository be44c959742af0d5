//! Tracks effects of instructions that take place later: delayed writes of base registers, memory
//! commands with delay slots, and multiplications in several steps.

use slowpath_ir::Operand as Value;

use crate::{MemCommand, MulStep, Operand};

/// A pending write of a base register.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingBase {
    /// Index of the base register.
    pub index: u8,
    /// New value.
    pub value: Value,
    /// Number of further instructions that use the old value.
    pub remaining: usize,
    /// Number of the writing instruction.
    pub number: usize,
}

/// A memory command when it is issued. Later instructions can still affect it through the transfer
/// registers, but not through other registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    pub command: MemCommand,
    pub xfer: u8,
    /// Start address, and width of addresses in bits.
    pub start: (Value, u8),
    /// Count in words or bytes.
    pub count: u8,
    pub waits: bool,
    /// Number of the instruction.
    pub number: usize,
}

/// A memory command whose delay slots are running.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deferred {
    pub issued: Issued,
    /// Number of delay slots that have not run yet, plus one for the command itself.
    pub remaining: u8,
}

impl Deferred {
    /// Returns the number of the instruction.
    pub fn number(&self) -> u32 {
        self.issued.number as u32
    }
}

/// An unfinished multiplication.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multiplication {
    /// Operands of `start`.
    pub operands: (Operand, Operand),
    /// Product, 64 bits.
    pub product: Value,
    /// Latest step.
    pub last: MulStep,
}
