//! Memory commands. Reads and writes are little-endian; words go through transfer registers.
//!
//! Addresses: 32 bits in SRAM (the packet), 40 bits in DRAM (the map).

use slowpath_ir::{BinaryOp, Emit, Operand as Value};

use super::error::LiftCause;
use super::machine::{ArchReg, Machine};
use crate::{Address, MemCommand, Operand};

/// Transfer registers of one file.
const XFERS: u8 = 32;
/// Where the length is in the previous ALU result that `indirect_ref` refers to, and its width.
const LENGTH_FIELD: (u8, u8) = (8, 5);
/// The bit of it that makes an atomic addition 64 bits wide.
const WIDE_ADD_BIT: u8 = LENGTH_FIELD.0 + 2;

impl Machine {
    /// `mem[…]`; no `count` stands for `indirect_ref`, `waits` for `ctx_swap`.
    pub(super) fn mem(
        &mut self,
        command: MemCommand,
        xfer: u8,
        address: Address,
        count: Option<u8>,
        waits: bool,
    ) -> Result<(), LiftCause> {
        if command == MemCommand::AddImm {
            if count.is_some() {
                return Err(LiftCause::DirectAddImm);
            }
            return self.add_imm(address);
        }
        let count = match count {
            Some(count) => count,
            None => {
                let field = self.previous_field(LENGTH_FIELD.0, LENGTH_FIELD.1);
                field.ok_or(LiftCause::UnknownLength { what: "length" })? + 1
            }
        };
        let xfers = if command == MemCommand::Write8Swap { count.div_ceil(4) } else { count };
        if u16::from(xfer) + u16::from(xfers) > XFERS.into() {
            return Err(LiftCause::TooManyXfers { first: xfer, count: xfers });
        }
        let (start, width) = self.address(address);
        for index in 0..xfers {
            let offset = Value::constant(width, 4 * u64::from(index));
            let at = match index {
                0 => start,
                _ => self.emit.binary(BinaryOp::Add, start, offset),
            };
            if command == MemCommand::Read32Swap {
                self.read_word(xfer + index, at, waits);
                continue;
            }
            let bytes = match command {
                MemCommand::Write8Swap => (count - 4 * index).min(4),
                _ => 4,
            };
            let word = self.get(ArchReg::XferOut(xfer + index));
            let value = self.emit.extract(word, 0, 8 * bytes);
            self.emit.store(at, value);
        }
        Ok(())
    }

    /// Without a wait, nobody knows when the word arrives.
    fn read_word(&mut self, xfer: u8, at: Value, waits: bool) {
        if waits {
            let word = self.emit.load(at, 4);
            self.set(ArchReg::XferIn(xfer), word);
        } else {
            self.undefine(ArchReg::XferIn(xfer), "a transfer register (no ctx_swap waits for it)");
        }
    }

    /// `mem[add_imm, …], indirect_ref`: adds the upper half of the previous ALU result.
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

    /// The address and its width in bits.
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
