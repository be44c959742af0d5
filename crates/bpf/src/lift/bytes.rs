//! Emits operations on ranges of bytes: copies, and assignments of unknown values.

use slowpath_ir::{Emit, Operand, ValueFormat};

use crate::lift::ir::emit::word;
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;

impl Lifter<'_> {
    /// Emits a copy of `bytes` bytes that takes effect only if the condition holds.
    pub(super) fn copy_if(&mut self, cond: Operand, to: Operand, from: Operand, bytes: u32) {
        for (offset, size) in chunks(bytes) {
            let emit = &mut self.ir.emit;
            let source = emit.add(from, word(offset));
            let value = emit.load(source, size);
            let destination = emit.add(to, word(offset));
            emit.store_if(cond, destination, value);
        }
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

    /// Assigns unknown values to `bytes` bytes at an address if the condition holds. `what` is the
    /// name of the bytes in reports.
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

    /// Assigns an unknown value to `size` bytes, at most 8; reports call it `what` and print it as
    /// `format` says.
    pub(super) fn havoc_as(&mut self, address: Operand, size: u8, what: &str, format: ValueFormat) {
        let max = u64::MAX >> (64 - 8 * u32::from(size));
        let any = self.ir.emit.draw(what, format, 8 * size, max);
        self.ir.emit.store(address, any);
    }
}

/// Returns the name that reports use for `size` bytes at `offset` in the memory called `object`,
/// whose size is `bytes`.
fn chunk_name((offset, size): (u64, u8), bytes: u32, object: &str) -> String {
    match bytes {
        0..=8 => object.to_owned(),
        _ => format!("bytes {offset} to {} of {object}", offset + u64::from(size) - 1),
    }
}
