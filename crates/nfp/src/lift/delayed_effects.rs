//! Tracks effects of instructions that take place later: delayed writes of base registers, memory
//! commands with delay slots, and multiplications in several steps.

use slowpath_ir::Operand as Value;

use crate::{MemCommand, MulStep, Operand};

/// A write of a base register that has not taken effect yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingBase {
    /// Index of the base register.
    pub index: u8,
    pub value: Value,
    /// Number of following instructions that still read the old value.
    pub remaining: usize,
    /// Number, in the listing, of the instruction that writes the register.
    pub number: usize,
}

/// A memory command that was issued. Until it executes, later instructions can change its data in
/// transfer registers, but not its other operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    pub command: MemCommand,
    pub xfer: u8,
    /// First address that the command accesses, and the width of addresses in bits.
    pub start: (Value, u8),
    /// Number of words or bytes that the command transfers.
    pub count: u8,
    pub waits: bool,
    /// Number, in the listing, of the memory command.
    pub number: usize,
}

/// A memory command whose delay slots are running.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deferred {
    pub issued: Issued,
    /// Number of delay slots that have not run yet, plus one for the command.
    pub remaining: u8,
}

impl Deferred {
    /// Returns the number, in the listing, of the memory command.
    pub fn number(&self) -> u32 {
        self.issued.number as u32
    }
}

/// A multiplication that is not finished yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multiplication {
    /// The two factors, which are the operands of the step `start`.
    pub operands: (Operand, Operand),
    /// The product of both factors, 64 bits.
    pub product: Value,
    /// The latest step of the multiplication.
    pub last: MulStep,
}
