//! Where the fields of instruction words are. Bits are numbered from 0, the lowest.

/// Some bits of a word.
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

    /// The value in its place; bits that do not fit are dropped.
    pub const fn put(self, value: u64) -> u64 {
        (value & self.mask()) << self.low
    }

    /// A bit in its place.
    pub const fn flag(self, value: bool) -> u64 {
        self.put(value as u64)
    }

    /// The value of the field.
    pub const fn get(self, word: u64) -> u64 {
        word >> self.low & self.mask()
    }

    /// Whether the field is not zero.
    pub const fn is_set(self, word: u64) -> bool {
        self.get(word) != 0
    }
}

/// Clear in memory commands only.
pub(super) const CLASS_NO_MEMORY: Field = bit(39);
/// The class of all other instructions.
pub(super) const CLASS: Field = field(39, 35);

/// Classes of instructions, by the five bits of [`CLASS`].
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

    /// The class in its place; classes that have free bits leave them clear.
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

/// Fields that most classes share.
pub(super) mod common {
    use super::{Field, bit};

    /// The result goes to both banks.
    pub const BOTH: Field = bit(41);
    /// A source in local memory uses base register 2 or 3.
    pub const SOURCE_LOCAL_HIGH: Field = bit(42);
    /// A destination in local memory uses base register 2 or 3.
    pub const RESULT_LOCAL_HIGH: Field = bit(43);
}

/// Sources of ten bits.
pub(super) mod wide {
    use super::{Field, field};

    pub const A: Field = field(9, 0);
    pub const B: Field = field(19, 10);
}

/// Sources of eight bits, and what the instructions that have them share.
pub(super) mod narrow {
    use super::{Field, bit, field};

    pub const A: Field = field(7, 0);
    pub const SHIFT_KIND: Field = field(9, 8);
    pub const B: Field = field(17, 10);
    /// Bit 7 of a constant.
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

    /// The upper eight bits of the constant; the lower ones are a source.
    pub const HIGH: Field = field(27, 20);
    pub const WIDTH: Field = field(30, 29);
    pub const INVERTED: Field = bit(31);
    /// In bytes.
    pub const SHIFT: Field = field(34, 33);
}

pub(super) mod csr {
    use super::{Field, bit, field};

    pub const IS_CSR: Field = bit(34);
    pub const WRITE: Field = bit(21);
    /// In words.
    pub const ADDRESS: Field = field(32, 22);
}

pub(super) mod branch {
    use super::{Field, bit, field};

    pub const CONDITION: Field = field(4, 0);
    /// Always set.
    pub const ONE: Field = bit(5);
    /// Whether it waits for condition codes.
    pub const CONDITIONAL: Field = field(9, 8);
    pub const SIGNAL_STATE: Field = field(17, 14);
    pub const DEFER: Field = field(21, 20);
    pub const TARGET_LOW: Field = field(34, 22);
    pub const TARGET_HIGH: Field = bit(40);
    /// `br_bset` and `br_bclr`: the value of the bit.
    pub const BIT_VALUE: Field = bit(18);
}

pub(super) mod mem {
    use super::{Field, bit, field};

    /// How the command waits: 0 to 2 delay slots, or 3 for not at all.
    pub const WAIT: Field = field(9, 8);
    pub const TOKEN: Field = field(19, 18);
    pub const XFER: Field = field(24, 20);
    /// The count less one.
    pub const COUNT: Field = field(27, 25);
    pub const SIGNAL: Field = field(31, 28);
    pub const COMMAND: Field = field(38, 32);
    pub const INDIRECT: Field = bit(41);
    pub const MODE: Field = field(44, 42);
}
