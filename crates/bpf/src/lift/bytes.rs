//! Emits operations on ranges of bytes: copies, and assignments of unknown values.

use slowpath_ir::{BinaryOp, Emit, Operand, ValueFormat};

use crate::lift::calls::arguments::ArgumentSize;
use crate::lift::ir::emit::{Emitter, word};
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;

/// Effect of a conditional copy on the destination if the condition does not hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::lift) enum Otherwise {
    /// The bytes at the destination keep their values.
    Keep,
    /// The bytes at the destination become zero.
    Clear,
}

/// A copy that takes effect only if a condition holds.
#[derive(Clone, Copy)]
pub(in crate::lift) struct ConditionalCopy {
    pub cond: Operand,
    pub otherwise: Otherwise,
}

impl ConditionalCopy {
    /// Stores a copied value at an address. If the condition of the copy does not hold, memory
    /// keeps its content or becomes zero, as [`Otherwise`] selects. If `inside` is given and not
    /// set, memory always keeps its content.
    fn store(self, emit: &mut Emitter, inside: Option<Operand>, address: Operand, copied: Operand) {
        match self.otherwise {
            Otherwise::Keep => {
                let cond = inside.map_or(self.cond, |inside| emit.and(self.cond, inside));
                emit.store_if(cond, address, copied);
            }
            Otherwise::Clear => {
                let zero = Operand::constant(emit.width(copied), 0);
                let value = emit.select(self.cond, copied, zero);
                match inside {
                    Some(inside) => emit.store_if(inside, address, value),
                    None => emit.store(address, value),
                }
            }
        }
    }
}

impl Lifter<'_> {
    /// Emits a copy of `size` bytes between two areas that do not overlap. A copy of a large
    /// variable size stores unknown values.
    pub(super) fn copy_size(
        &mut self,
        to: Operand,
        from: Operand,
        size: ArgumentSize,
        copy: ConditionalCopy,
    ) {
        match size {
            ArgumentSize::Constant(bytes) => {
                for (offset, size) in chunks(bytes) {
                    let emit = &mut self.ir.emit;
                    let source = emit.add(from, word(offset));
                    let value = emit.load(source, size);
                    let destination = emit.add(to, word(offset));
                    copy.store(emit, None, destination, value);
                }
            }
            ArgumentSize::UpTo(bytes, most) => {
                for offset in 0..u64::from(most) {
                    let emit = &mut self.ir.emit;
                    let inside = emit.ult(word(offset), bytes);
                    let source = emit.add(from, word(offset));
                    let value = emit.load(source, 1);
                    let destination = emit.add(to, word(offset));
                    copy.store(emit, Some(inside), destination, value);
                }
            }
            ArgumentSize::Large(bytes, most) => self.copy_unknown(to, (bytes, most), copy),
        }
    }

    /// Stores unknown values in place of copied bytes, because the copy is too large. The number of
    /// bytes is `bytes`, at most `most`. Marks the values as determined
    /// ([`slowpath_ir::Draw::determined`]), because the kernel copies them from memory.
    fn copy_unknown(&mut self, to: Operand, (bytes, most): (Operand, u32), copy: ConditionalCopy) {
        const WORD: u8 = 8;
        let store = |emit: &mut Emitter, inside, destination, size: u8, name: &str| {
            let max = u64::MAX >> (64 - 8 * u32::from(size));
            emit.computed = true;
            let any = emit.draw(name, ValueFormat::Bytes, 8 * size, max);
            copy.store(emit, Some(inside), destination, any);
        };
        let emit = &mut self.ir.emit;
        for offset in (0..u64::from(most / 8 * 8)).step_by(WORD.into()) {
            let behind = offset + u64::from(WORD);
            let outside = emit.ult(bytes, word(behind));
            let inside = emit.not(outside);
            let destination = emit.add(to, word(offset));
            let name = format!("copied bytes {offset} to {}", behind - 1);
            store(emit, inside, destination, WORD, &name);
        }
        // The bytes after the last whole word.
        let whole = emit.and(bytes, word(!u64::from(WORD - 1)));
        for further in 0..WORD - 1 {
            let distance = emit.add(whole, word(further.into()));
            let inside = emit.ult(distance, bytes);
            let destination = emit.binary(BinaryOp::Add, to, distance);
            store(emit, inside, destination, 1, "one of the last copied bytes");
        }
    }

    /// Emits a copy of `bytes` bytes from the address `from` to the address `to`, which takes
    /// effect only if `cond` is set.
    pub(super) fn copy_if(&mut self, cond: Operand, to: Operand, from: Operand, bytes: u32) {
        let copy = ConditionalCopy { cond, otherwise: Otherwise::Keep };
        self.copy_size(to, from, ArgumentSize::Constant(bytes), copy);
    }

    /// Assigns unknown values to `bytes` bytes at an address. `what` is the name of the bytes in
    /// reports.
    pub(super) fn havoc(&mut self, address: Operand, bytes: u32, what: &str) {
        for (offset, size) in chunks(bytes) {
            let destination = self.ir.emit.add(address, word(offset));
            let name = chunk_name((offset, size), bytes, what);
            self.havoc_as(destination, size, &name, ValueFormat::Bytes);
        }
    }

    /// Assigns unknown values to `bytes` bytes at an address, if `cond` is set. `what` is the name
    /// of the bytes in reports.
    pub(super) fn havoc_if(&mut self, cond: Operand, address: Operand, bytes: u32, what: &str) {
        for (offset, size) in chunks(bytes) {
            let name = chunk_name((offset, size), bytes, what);
            let max = u64::MAX >> (64 - 8 * u32::from(size));
            let emit = &mut self.ir.emit;
            let any = emit.draw(&name, ValueFormat::Bytes, 8 * size, max);
            let destination = emit.add(address, word(offset));
            emit.store_if(cond, destination, any);
        }
    }

    /// Assigns an unknown value to `size` bytes, at most 8. Reports call the value `what` and print
    /// it in the format `format`.
    pub(super) fn havoc_as(&mut self, address: Operand, size: u8, what: &str, format: ValueFormat) {
        let max = u64::MAX >> (64 - 8 * u32::from(size));
        let any = self.ir.emit.draw(what, format, 8 * size, max);
        self.ir.emit.store(address, any);
    }
}

/// Returns the name that reports use for `size` bytes at `offset` in an object in memory. The
/// object is called `object` and has `bytes` bytes.
fn chunk_name((offset, size): (u64, u8), bytes: u32, object: &str) -> String {
    match bytes {
        0..=8 => object.to_owned(),
        _ => format!("bytes {offset} to {} of {object}", offset + u64::from(size) - 1),
    }
}
