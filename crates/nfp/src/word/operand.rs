//! Encodes and decodes operands. Unrestricted operands have ten bits. Restricted operands have only
//! eight bits, so they reach fewer words of local memory and hold smaller constants.
//!
//! A word has one source from bank A and one from bank B. A constant, transfer register or word of
//! local memory can replace one of them. If the first source is from bank B or the second from bank
//! A, the word stores them swapped.

use super::error::WordError;
use crate::{Bank, LocalAccess, Operand};

/// Encoding of an instruction's operands, by the number of bits for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Ten bits per operand.
    Unrestricted,
    /// Eight bits per operand; constants are at most 0x7f.
    Restricted,
    /// Eight bits per operand, and a separate bit for constants above 0x7f.
    RestrictedByte,
}

/// Encoding of the operand `--` as a source.
const NO_SOURCE: u64 = 0;
const LAST_REGISTER: u8 = 31;

// Unrestricted operands: codes of the kinds, in the bits above the value.
const WIDE_XFER: u64 = 0x180;
const WIDE_LOCAL: u64 = 0x200;
const WIDE_LOCAL_INDEX: u64 = 0x20;
const WIDE_LOCAL_MOVES: u64 = 0x10;
const WIDE_CONSTANT: u64 = 0x300;

// Restricted operands: codes of the kinds.
const NARROW_XFER: u64 = 0x80;
const NARROW_LOCAL: u64 = 0x50;
const NARROW_LOCAL_INDEX: u64 = 0x08;
const NARROW_CONSTANT: u64 = 0x20;

/// The two source operands in encoded form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sources {
    /// Encoded source in field A, which can be a register of bank A.
    pub a: u64,
    /// Encoded source in field B, which can be a register of bank B.
    pub b: u64,
    /// True if the first source is in field B, and the second in field A.
    pub swap: bool,
    /// True if a source in local memory uses base register 2 or 3.
    pub local_high: bool,
    /// Bit 7 of a constant in a restricted operand; the operand's own field has only bits 0 to 6.
    pub constant_high: bool,
}

/// The destination operand in encoded form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    pub code: u64,
    /// True if the destination is in bank B.
    pub in_b: bool,
    /// True if a destination in local memory uses base register 2 or 3.
    pub local_high: bool,
}

impl Form {
    /// Returns the encoding of the operand `--` as a destination.
    fn no_destination(self) -> u64 {
        if self == Form::Unrestricted { WIDE_CONSTANT } else { NARROW_CONSTANT }
    }

    /// Returns the encoding of the constant zero as a source.
    pub fn zero(self) -> u64 {
        self.no_destination()
    }

    fn last_word(self) -> u8 {
        if self == Form::Unrestricted { 15 } else { 7 }
    }

    fn last_constant(self) -> u32 {
        if self == Form::Restricted { 0x7f } else { 0xff }
    }

    /// Encodes a source operand without bit 7 of a restricted constant, because words store this
    /// bit in a separate field.
    fn code(self, operand: Operand) -> Result<u64, WordError> {
        let wide = self == Form::Unrestricted;
        let misplaced = |place| WordError::Misplaced { operand, place };
        match operand {
            Operand::None => Ok(NO_SOURCE),
            Operand::Gpr(_, number) if number <= LAST_REGISTER => Ok(number.into()),
            Operand::Xfer(number) if number <= LAST_REGISTER => {
                Ok(if wide { WIDE_XFER } else { NARROW_XFER } | u64::from(number))
            }
            Operand::Gpr(..) | Operand::Xfer(_) => Err(misplaced("a register: they end at 31")),
            Operand::Local { index: 4.., .. } => {
                Err(misplaced("local memory: there are four base registers"))
            }
            Operand::Local { index, access: LocalAccess::Word(word) } => {
                if word > self.last_word() {
                    let place = match wide {
                        true => "local memory: words end at 15",
                        false => "an operand of this instruction: words end at 7",
                    };
                    return Err(misplaced(place));
                }
                let (base, index_bit) = match wide {
                    true => (WIDE_LOCAL, WIDE_LOCAL_INDEX),
                    false => (NARROW_LOCAL, NARROW_LOCAL_INDEX),
                };
                Ok(base | (u64::from(index & 1) * index_bit) | u64::from(word))
            }
            Operand::Local { index, access } => {
                if !wide {
                    return Err(misplaced("an operand of this instruction: ++ and -- need `alu`"));
                }
                let back = u64::from(access == LocalAccess::Decrement);
                let index = u64::from(index & 1) * WIDE_LOCAL_INDEX;
                Ok(WIDE_LOCAL | WIDE_LOCAL_MOVES | index | back)
            }
            Operand::Immediate(value) => {
                let max = self.last_constant();
                if value > max {
                    return Err(WordError::Constant { value, max });
                }
                let value = u64::from(value);
                Ok(match wide {
                    true => WIDE_CONSTANT | value,
                    false => NARROW_CONSTANT | value & 0x1f | (value & 0x60) << 1,
                })
            }
        }
    }

    /// Encodes the two source operands of an instruction, and swaps them if their banks require it.
    pub fn sources(self, first: Operand, second: Operand) -> Result<Sources, WordError> {
        if let Some(what) = source_kind(first).filter(|_| source_kind(first) == source_kind(second))
        {
            return Err(WordError::SourceConflict { first, second, kind: what });
        }
        let swap = is_in(first, Bank::B) || is_in(second, Bank::A);
        let (a, b) = if swap { (second, first) } else { (first, second) };
        let high = |operand| matches!(operand, Operand::Immediate(value) if value & 0x80 != 0);
        Ok(Sources {
            a: self.code(a)?,
            b: self.code(b)?,
            swap,
            local_high: is_local_high(a) || is_local_high(b),
            constant_high: self == Form::RestrictedByte && (high(a) || high(b)),
        })
    }

    /// Encodes a destination; `both_banks` is the attribute `gpr_wrboth`.
    pub fn destination(self, operand: Operand, both_banks: bool) -> Result<Destination, WordError> {
        check_both(operand, both_banks)?;
        let code = match operand {
            Operand::None => self.no_destination(),
            Operand::Immediate(_) => {
                return Err(WordError::Misplaced { operand, place: "a destination" });
            }
            _ => self.code(operand)?,
        };
        let in_b = is_in(operand, Bank::B);
        Ok(Destination { code, in_b, local_high: is_local_high(operand) })
    }

    /// Decodes a source operand. `bank` is the register bank of the field that contains `code`;
    /// `high` is bit 7 of a restricted constant.
    pub fn read(self, code: u64, bank: Bank, local_high: bool, high: bool) -> Option<Operand> {
        let local = |index_set: bool, access| {
            let index = u8::from(index_set) + 2 * u8::from(local_high);
            Operand::Local { index, access }
        };
        let word = |bits: u64| LocalAccess::Word(bits as u8);
        let low = (code & 0x1f) as u8;
        Some(match (self, code) {
            (_, 0..=0x1f) => Operand::Gpr(bank, low),
            (Form::Unrestricted, WIDE_XFER..0x1a0) => Operand::Xfer(low),
            (Form::Unrestricted, WIDE_LOCAL..0x240) => {
                let access = match (code & WIDE_LOCAL_MOVES != 0, code & 0xf) {
                    (false, bits) => word(bits),
                    (true, 0) => LocalAccess::Increment,
                    (true, 1) => LocalAccess::Decrement,
                    _ => return None,
                };
                local(code & WIDE_LOCAL_INDEX != 0, access)
            }
            (Form::Unrestricted, WIDE_CONSTANT..) => Operand::Immediate((code & 0xff) as u32),
            (Form::Unrestricted, _) => return None,
            (_, NARROW_XFER..0xa0) => Operand::Xfer(low),
            (_, NARROW_LOCAL..0x60) => local(code & NARROW_LOCAL_INDEX != 0, word(code & 0x7)),
            (_, _) if code & NARROW_CONSTANT != 0 => {
                let bits = (code & 0xc0) >> 1 | code & 0x1f | u64::from(high) << 7;
                Operand::Immediate(bits as u32)
            }
            _ => return None,
        })
    }

    /// Decodes both sources of a word, and returns them in the order of the listing.
    pub fn read_sources(self, from: Sources) -> Option<(Operand, Operand)> {
        let Sources { a, b, swap, local_high, constant_high } = from;
        let a = self.read(a, Bank::A, local_high, constant_high)?;
        let b = self.read(b, Bank::B, local_high, constant_high)?;
        Some(if swap { (b, a) } else { (a, b) })
    }

    /// Decodes the destination of a word.
    pub fn read_destination(self, from: Destination) -> Option<Operand> {
        if from.code == self.no_destination() {
            return Some(Operand::None);
        }
        let bank = if from.in_b { Bank::B } else { Bank::A };
        self.read(from.code, bank, from.local_high, false)
    }
}

/// Returns the kind of a source as a text, such as `in bank A`; `None` for `--`. A word can contain
/// only one source of each kind.
fn source_kind(operand: Operand) -> Option<&'static str> {
    Some(match operand {
        Operand::None => return None,
        Operand::Gpr(Bank::A, _) => "in bank A",
        Operand::Gpr(Bank::B, _) => "in bank B",
        Operand::Xfer(_) => "transfer registers",
        Operand::Local { .. } => "in local memory",
        Operand::Immediate(_) => "constants",
    })
}

fn is_in(operand: Operand, bank: Bank) -> bool {
    matches!(operand, Operand::Gpr(known, _) if known == bank)
}

fn is_local_high(operand: Operand) -> bool {
    operand.local_index().is_some_and(|index| index & 2 != 0)
}

/// Checks that the destination of `gpr_wrboth` is a register of one of the banks.
pub(super) fn check_both(operand: Operand, both_banks: bool) -> Result<(), WordError> {
    match operand {
        Operand::Gpr(..) => Ok(()),
        _ if both_banks => Err(WordError::BothBanks { operand }),
        _ => Ok(()),
    }
}

/// Checks that a source is present.
pub(super) fn require_source(operand: Operand) -> Result<Operand, WordError> {
    match operand {
        Operand::None => Err(WordError::Misplaced { operand, place: "a source here" }),
        _ => Ok(operand),
    }
}
