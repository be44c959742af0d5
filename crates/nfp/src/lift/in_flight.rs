//! What instructions have begun and later ones finish: writes of base registers that take effect
//! cycles later, memory commands with delay slots, multiplications in steps.

use slowpath_ir::Operand as Value;

use crate::{MemCommand, MulStep, Operand};

/// A base register on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingBase {
    /// Which base register.
    pub index: u8,
    /// Its new value.
    pub value: Value,
    /// How many more instructions see the old one.
    pub left: usize,
    /// The instruction that writes it.
    pub number: usize,
}

/// A memory command as it is issued: what it does does not depend on registers that are written
/// later, but for the transfer registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    pub command: MemCommand,
    pub xfer: u8,
    /// Where it starts, and the width of addresses in bits.
    pub start: (Value, u8),
    /// Words or bytes.
    pub count: u8,
    pub waits: bool,
    /// The instruction.
    pub number: usize,
}

/// A memory command whose delay slots are running.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deferred {
    pub issued: Issued,
    /// Delay slots that have not run yet, and the command itself.
    pub left: u8,
}

impl Deferred {
    /// The instruction.
    pub fn number(&self) -> u32 {
        self.issued.number as u32
    }
}

/// A multiplication under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multiplication {
    /// The operands that name the factors.
    pub operands: (Operand, Operand),
    /// The product, 64 bits.
    pub product: Value,
    /// The last step so far.
    pub last: MulStep,
}
