//! The positions of the fields in instruction words. Bits are numbered from 0, which is the lowest.

/// A range of bits in a word, both ends included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    high: u8,
    low: u8,
}

const fn field(high: u8, low: u8) -> Field {
    Field { high, low }
}

const fn bit(number: u8) -> Field {
    field(number, number)
}

impl Field {
    const fn mask(self) -> u64 {
        (1 << (self.high - self.low + 1)) - 1
    }

    /// Returns the value shifted to the field's position; bits that do not fit are dropped.
    pub const fn put(self, value: u64) -> u64 {
        (value & self.mask()) << self.low
    }

    /// Returns 1 shifted to the position of a one-bit field if `value` is true, else 0.
    pub const fn flag(self, value: bool) -> u64 {
        self.put(value as u64)
    }

    /// Extracts the value of the field from a word.
    pub const fn get(self, word: u64) -> u64 {
        word >> self.low & self.mask()
    }

    /// Returns true if the field is not zero.
    pub const fn is_set(self, word: u64) -> bool {
        self.get(word) != 0
    }
}

/// Bit that is set in all instruction classes except memory commands.
pub(super) const CLASS_NO_MEMORY: Field = bit(39);
/// Field with the class of an instruction, in all words except memory commands.
pub(super) const CLASS: Field = field(39, 35);

/// Classes of instructions, encoded in the five bits of [`CLASS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Shift,
    Alu,
    LdField,
    BranchBit,
    Branch,
    Return,
    Immed,
    MulOrCsr,
    Other,
}

impl Class {
    pub fn of(bits: u64) -> Self {
        match bits {
            0b10000..=0b10011 => Class::Shift,
            0b10100..=0b10111 => Class::Alu,
            0b11000 => Class::LdField,
            0b11010 => Class::BranchBit,
            0b11011 => Class::Branch,
            0b11101 => Class::Return,
            0b11110 => Class::Immed,
            0b11111 => Class::MulOrCsr,
            _ => Class::Other,
        }
    }

    /// Returns the code of this class at the position of [`CLASS`]. Bits that belong to other
    /// fields in this class are clear.
    pub const fn bits(self) -> u64 {
        CLASS.put(match self {
            Class::Shift => 0b10000,
            Class::Alu => 0b10100,
            Class::LdField => 0b11000,
            Class::BranchBit => 0b11010,
            Class::Branch => 0b11011,
            Class::Return => 0b11101,
            Class::Immed => 0b11110,
            Class::MulOrCsr => 0b11111,
            Class::Other => 0,
        })
    }
}

/// Fields with the same position in most classes of instructions.
pub(super) mod common {
    use super::{Field, bit};

    /// Bit that is set if the result goes to both register banks.
    pub const BOTH: Field = bit(41);
    /// Bit that is set if a source in local memory uses base register 2 or 3.
    pub const SOURCE_LOCAL_HIGH: Field = bit(42);
    /// Bit that is set if a destination in local memory uses base register 2 or 3.
    pub const RESULT_LOCAL_HIGH: Field = bit(43);
}

/// Fields of the two sources in words with unrestricted (10-bit) operands.
pub(super) mod wide {
    use super::{Field, field};

    pub const A: Field = field(9, 0);
    pub const B: Field = field(19, 10);
}

/// Fields of words with restricted (8-bit) operands: the two sources, shifts, and further fields.
pub(super) mod narrow {
    use super::{Field, bit, field};

    pub const A: Field = field(7, 0);
    pub const SHIFT_KIND: Field = field(9, 8);
    pub const B: Field = field(17, 10);
    /// Bit 7 of a constant in a source, which does not fit into the source's own field.
    pub const CONSTANT_HIGH: Field = bit(18);
    pub const SWAP: Field = bit(19);
    pub const SHIFT_BITS: Field = field(32, 28);
}

pub(super) mod alu {
    use super::{Field, bit, field};

    pub const RESULT: Field = field(29, 20);
    pub const SWAP: Field = bit(30);
    pub const OPERATOR: Field = field(35, 31);
    pub const RESULT_IN_B: Field = bit(36);
}

pub(super) mod mul {
    use super::{Field, bit, field};

    pub const STEP: Field = field(22, 20);
    pub const RESULT_IN_B: Field = bit(23);
    pub const SWAP: Field = bit(30);
    pub const KIND: Field = field(32, 31);
}

pub(super) mod shift {
    use super::{Field, bit, field};

    pub const RESULT: Field = field(27, 20);
    pub const OPERATOR: Field = field(35, 33);
    pub const RESULT_IN_B: Field = bit(36);
}

pub(super) mod ld_field {
    use super::{Field, bit, field};

    pub const CLEAR: Field = bit(20);
    pub const MASK: Field = field(27, 24);
}

pub(super) mod immed {
    use super::{Field, bit, field};

    /// Field with the upper eight bits of the constant. The lower eight are encoded as a source
    /// operand.
    pub const HIGH: Field = field(27, 20);
    pub const WIDTH: Field = field(30, 29);
    pub const INVERTED: Field = bit(31);
    /// Field with the left rotation of the constant, in bytes.
    pub const SHIFT: Field = field(34, 33);
}

pub(super) mod csr {
    use super::{Field, bit, field};

    pub const IS_CSR: Field = bit(34);
    pub const WRITE: Field = bit(21);
    /// Field with the address of the control register, in words of 4 bytes.
    pub const ADDRESS: Field = field(32, 22);
}

pub(super) mod branch {
    use super::{Field, bit, field};

    pub const CONDITION: Field = field(4, 0);
    /// Bit that is set in all branches.
    pub const ONE: Field = bit(5);
    /// Field that is not zero if the branch waits for condition codes.
    pub const CONDITIONAL: Field = field(9, 8);
    pub const SIGNAL_STATE: Field = field(17, 14);
    pub const DEFER: Field = field(21, 20);
    pub const TARGET_LOW: Field = field(34, 22);
    pub const TARGET_HIGH: Field = bit(40);
    /// Field with the value of the tested bit for which the branch is taken: 1 for `br_bset`, 0 for
    /// `br_bclr`.
    pub const BIT_VALUE: Field = bit(18);
}

pub(super) mod mem {
    use super::{Field, bit, field};

    /// Field with the number of delay slots before the thread waits for the command, 0 to 2; 3 for
    /// no wait.
    pub const WAIT: Field = field(9, 8);
    pub const TOKEN: Field = field(19, 18);
    pub const XFER: Field = field(24, 20);
    /// Field with the number of words or bytes to transfer, minus one.
    pub const COUNT: Field = field(27, 25);
    pub const SIGNAL: Field = field(31, 28);
    pub const COMMAND: Field = field(38, 32);
    pub const INDIRECT: Field = bit(41);
    pub const MODE: Field = field(44, 42);
}
