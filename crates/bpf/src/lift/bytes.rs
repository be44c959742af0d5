//! Operations on several bytes of memory: copying, and assigning unknown values.

use slowpath_ir::{Emit, Operand, ValueFormat};

use crate::lift::ir::emit::word;
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;

impl Lifter<'_> {
    /// Copies bytes if the condition holds.
    pub(super) fn copy_if(&mut self, cond: Operand, to: Operand, from: Operand, bytes: u32) {
        for (offset, size) in chunks(bytes) {
            let emit = &mut self.ir.emit;
            let source = emit.add(from, word(offset));
            let value = emit.load(source, size);
            let destination = emit.add(to, word(offset));
            emit.store_if(cond, destination, value);
        }
    }

    /// Assigns unknown values to bytes; `what` is the name in reports of the object that the
    /// current instruction writes.
    pub(super) fn havoc(&mut self, address: Operand, bytes: u32, what: &str) {
        for (offset, size) in chunks(bytes) {
            let last = offset + u64::from(size) - 1;
            let part = match bytes {
                0..=8 => what.to_owned(),
                _ => format!("bytes {offset} to {last} of {what}"),
            };
            let destination = self.ir.emit.add(address, word(offset));
            self.havoc_as(destination, size, &part, ValueFormat::Bytes);
        }
    }

    /// Assigns an unknown value to at most 8 bytes; `what` is its name in reports, `reading` its
    /// format.
    pub(super) fn havoc_as(
        &mut self,
        address: Operand,
        size: u8,
        what: &str,
        reading: ValueFormat,
    ) {
        let max = u64::MAX >> (64 - 8 * u32::from(size));
        let any = self.ir.emit.draw(what, reading, 8 * size, max);
        self.ir.emit.store(address, any);
    }
}
