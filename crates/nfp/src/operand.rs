//! Operands: the registers and constants that instructions name.
//!
//! Which operand an instruction accepts in which place is checked by the parser, not by the type.

/// One of the two register banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bank {
    /// `gprA_n`
    A,
    /// `gprB_n`
    B,
}

/// How a local-memory operand uses its base register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalAccess {
    /// `*l$indexI[k]`: the word `k` words behind the base register; `k` is 0 to 15.
    Word(u8),
    /// `*l$indexI++`: the word at the base register, which then advances by one word.
    Increment,
    /// `*l$indexI--`: the word at the base register, which then goes back by one word.
    Decrement,
}

/// A source or destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// `--`: no source, or the result is dropped.
    None,
    /// A general-purpose register, number 0 to 31.
    Gpr(Bank, u8),
    /// A transfer register, number 0 to 31; sources name the read file, destinations the write
    /// file.
    Xfer(u8),
    /// Local memory through base register `ActLMAddr{index}`, index 0 to 3.
    Local {
        /// Which base register.
        index: u8,
        /// Which word, and what happens to the base register.
        access: LocalAccess,
    },
    /// A constant.
    Immediate(u32),
}

impl Operand {
    /// The base register of a local-memory operand.
    pub fn local_index(self) -> Option<u8> {
        match self {
            Operand::Local { index, .. } => Some(index),
            _ => None,
        }
    }
}
