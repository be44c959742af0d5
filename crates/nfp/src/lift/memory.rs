//! Lifts memory commands, which move words between memory and transfer registers. Reads and writes
//! are little-endian, except that the first byte of `read8` becomes the highest.
//!
//! Addresses have 32 bits in SRAM (the packet) and 40 bits in DRAM (the map).

use slowpath_ir::{BinaryOp, Emit, Operand as Value};

use super::core_state::{ArchReg, CoreState};
use super::delayed_effects::{Deferred, Issued};
use super::error::LiftCause;
use crate::abi::XFER_COUNT;
use crate::insn::ADD_NARROW_COUNTS;
use crate::{Address, MemCommand, Operand};

/// Number of bytes in a word.
const WORD: u8 = 4;
/// Smallest `count` field with which the command `add` adds 64 bits; with smaller ones, it adds 32
/// bits.
const ADD_WIDE_COUNT: u8 = ADD_NARROW_COUNTS + 1;
/// Position and width, in bits, of the length field in an ALU result. `indirect_ref` takes the
/// length from this field of the previous ALU result.
const LENGTH_FIELD: (u8, u8) = (8, 5);
/// Index of the bit in the previous ALU result that makes an atomic addition 64 bits wide.
const WIDE_ADD_BIT: u8 = LENGTH_FIELD.0 + 2;

impl CoreState {
    /// Lifts the memory command `mem[…]`. `count` is `None` if the command has `indirect_ref`.
    /// `waits` is true if it has `ctx_swap`. A command with delay slots is performed after them,
    /// because instructions in the delay slots may still write its transfer registers.
    pub(super) fn mem(
        &mut self,
        command: MemCommand,
        (xfer, count): (u8, Option<u8>),
        address: Address,
        waits: bool,
        defer: u8,
    ) -> Result<(), LiftCause> {
        if command == MemCommand::AddImm {
            if count.is_some() || defer > 0 {
                return Err(LiftCause::DirectAddImm);
            }
            return self.add_imm(address);
        }
        if command == MemCommand::Add && !(waits && matches!(count, Some(1 | ADD_WIDE_COUNT))) {
            return Err(LiftCause::AddForm);
        }
        let count = match count {
            Some(count) => count,
            None => {
                let field = self.previous_field(LENGTH_FIELD.0, LENGTH_FIELD.1);
                field.ok_or(LiftCause::UnknownLength { what: "length" })? + 1
            }
        };
        let xfers = match command {
            MemCommand::Write8Swap | MemCommand::Read8 => count.div_ceil(WORD),
            MemCommand::Add => count.div_ceil(ADD_WIDE_COUNT - 1),
            _ => count,
        };
        if u16::from(xfer) + u16::from(xfers) > XFER_COUNT.into() {
            return Err(LiftCause::TooManyXfers { first: xfer, count: xfers });
        }
        if command == MemCommand::Read8 && !count.is_multiple_of(WORD) {
            return Err(LiftCause::PartOfWord { count });
        }
        let start = self.address(address);
        let number = self.number;
        let mut issued = Issued { command, xfer, start, count, waits, number };
        if defer > 0 {
            // Delay slots may write the registers of the address, so the address is captured now.
            issued.start.0 = self.emit.capture(start.0);
            self.deferred = Some(Deferred { issued, remaining: defer + 1 });
            return Ok(());
        }
        self.perform(issued);
        Ok(())
    }

    /// Counts the delay slots of a memory command, and performs the command after the last one.
    pub(super) fn step_deferred(&mut self) {
        let Some(deferred) = &mut self.deferred else { return };
        deferred.remaining -= 1;
        if deferred.remaining > 0 {
            return;
        }
        // The operations belong to the command, not to its last delay slot.
        let issued = deferred.issued;
        self.deferred = None;
        self.emit.begin_insn(issued.number);
        self.perform(issued);
        self.expire_pending();
    }

    fn perform(&mut self, issued: Issued) {
        let Issued { command, xfer, start: (start, width), count, waits, .. } = issued;
        if command == MemCommand::Add {
            return self.add(xfer, start, count);
        }
        let bytes = match command {
            MemCommand::Write8Swap | MemCommand::Read8 => count,
            _ => count.saturating_mul(WORD),
        };
        for index in 0..bytes.div_ceil(WORD) {
            let offset = Value::constant(width, u64::from(WORD * index));
            let at = match index {
                0 => start,
                _ => self.emit.binary(BinaryOp::Add, start, offset),
            };
            match command {
                MemCommand::Read32Swap => self.read_word(xfer + index, at, waits, false),
                MemCommand::Read8 => self.read_word(xfer + index, at, waits, true),
                _ => {
                    let bytes = (bytes - WORD * index).min(WORD);
                    let word = self.get(ArchReg::XferOut(xfer + index));
                    let value = self.emit.extract(word, 0, 8 * bytes);
                    self.emit.store(at, value);
                }
            }
        }
    }

    /// Reads a word into a transfer register. If the thread does not wait for the word, its time of
    /// arrival is unknown, and the register becomes undefined.
    fn read_word(&mut self, xfer: u8, at: Value, waits: bool, first_is_high: bool) {
        if waits {
            let mut word = self.emit.load(at, WORD);
            if first_is_high {
                word = self.bytes_reversed(word);
            }
            self.set(ArchReg::XferIn(xfer), word);
        } else {
            self.undefine(ArchReg::XferIn(xfer), "a transfer register (no ctx_swap waits for it)");
        }
    }

    fn bytes_reversed(&mut self, word: Value) -> Value {
        let mut result = self.emit.extract(word, 0, 8);
        for byte in 1..WORD {
            let next = self.emit.extract(word, 8 * byte, 8);
            result = self.emit.binary(BinaryOp::Concat, result, next);
        }
        result
    }

    /// Lifts `mem[add, …]` or `mem[add64, …]`, which adds one or two transfer registers to memory.
    /// The first register contains the low word.
    fn add(&mut self, xfer: u8, at: Value, count: u8) {
        let low = self.get(ArchReg::XferOut(xfer));
        let (data, bytes) = if count == ADD_WIDE_COUNT {
            let high = self.get(ArchReg::XferOut(xfer + 1));
            (self.emit.binary(BinaryOp::Concat, high, low), 2 * WORD)
        } else {
            (low, WORD)
        };
        let old = self.emit.load(at, bytes);
        let sum = self.emit.binary(BinaryOp::Add, old, data);
        self.emit.store(at, sum);
    }

    /// Lifts `mem[add_imm, …], indirect_ref`, which adds the upper half of the previous ALU result
    /// to memory.
    fn add_imm(&mut self, address: Address) -> Result<(), LiftCause> {
        let wide = self
            .previous_field(WIDE_ADD_BIT, 1)
            .ok_or(LiftCause::UnknownLength { what: "width" })?;
        let bytes = if wide == 1 { 8 } else { 4 };
        let previous = self.get(ArchReg::Previous);
        let data = self.emit.extract(previous, 16, 16);
        let data = self.emit.zero_extend(data, 8 * bytes);
        let (at, _) = self.address(address);
        let old = self.emit.load(at, bytes);
        let sum = self.emit.binary(BinaryOp::Add, old, data);
        self.emit.store(at, sum);
        Ok(())
    }

    fn previous_field(&mut self, lo: u8, count: u8) -> Option<u8> {
        let previous = self.get(ArchReg::Previous);
        self.emit.known(previous).field(lo, count).map(|field| field as u8)
    }

    /// Computes the value of an address operand. Returns this value, and the width of the address
    /// in bits.
    fn address(&mut self, address: Address) -> (Value, u8) {
        match address {
            Address::Sram(x, y) => {
                let base = self.source(x);
                (self.plus(base, y, 32), 32)
            }
            Address::Dram(x, y) => {
                let high = self.source(x);
                let base = self.emit.binary(BinaryOp::Concat, high, Value::constant(8, 0));
                (self.plus(base, y, 40), 40)
            }
        }
    }

    fn plus(&mut self, base: Value, offset: Operand, width: u8) -> Value {
        if offset == Operand::Immediate(0) {
            return base;
        }
        let offset = self.source(offset);
        let offset = self.emit.zero_extend(offset, width);
        self.emit.binary(BinaryOp::Add, base, offset)
    }
}
