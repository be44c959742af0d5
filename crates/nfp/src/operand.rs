//! The registers and constants that instructions have as operands.
//!
//! The parser checks which operands an instruction accepts; the type does not restrict them.

/// One of the two register banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bank {
    /// Bank A, with the registers `gprA_0` to `gprA_31`.
    A,
    /// Bank B, with the registers `gprB_0` to `gprB_31`.
    B,
}

/// Word of local memory that an operand names, relative to a base register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalAccess {
    /// `*l$indexI[k]`: the word `k` words after the base register; `k` is 0 to 15.
    Word(u8),
    /// `*l$indexI++`: the word at the base register, which then advances by one word.
    Increment,
    /// `*l$indexI--`: the word at the base register, which then moves back by one word.
    Decrement,
}

/// A source or destination of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// `--`: no source, or a discarded result.
    None,
    /// A general-purpose register, number 0 to 31.
    Gpr(Bank, u8),
    /// A transfer register, number 0 to 31. Sources name the read file, destinations the write
    /// file.
    Xfer(u8),
    /// Local memory through base register `ActLMAddr{index}`, index 0 to 3.
    Local {
        /// Index of the base register, 0 to 3.
        index: u8,
        /// Word relative to the base register, and the change of that register.
        access: LocalAccess,
    },
    /// A constant, which is part of the instruction.
    Immediate(u32),
}

impl Operand {
    /// Returns the index of the base register of a local-memory operand; `None` for other operands.
    pub fn local_index(self) -> Option<u8> {
        match self {
            Operand::Local { index, .. } => Some(index),
            _ => None,
        }
    }
}
