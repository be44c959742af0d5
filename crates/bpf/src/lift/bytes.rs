//! Emits operations on ranges of bytes: copies, and assignments of unknown values.

use slowpath_ir::{BinaryOp, Emit, Operand, ValueFormat};

use crate::lift::calls::arguments::ArgumentSize;
use crate::lift::ir::emit::{Emitter, word};
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;

impl Lifter<'_> {
    /// Emits code that copies `size` bytes between memory that does not overlap, if the condition
    /// holds. For large sizes, the copied bytes get unknown values.
    pub(super) fn copy_size_if(
        &mut self,
        cond: Operand,
        to: Operand,
        from: Operand,
        size: ArgumentSize,
    ) {
        match size {
            ArgumentSize::Constant(bytes) => self.copy_if(cond, to, from, bytes),
            ArgumentSize::UpTo(bytes, most) => {
                for offset in 0..u64::from(most) {
                    let emit = &mut self.ir.emit;
                    let inside = emit.ult(word(offset), bytes);
                    let inside = emit.and(cond, inside);
                    let source = emit.add(from, word(offset));
                    let value = emit.load(source, 1);
                    let destination = emit.add(to, word(offset));
                    emit.store_if(inside, destination, value);
                }
            }
            ArgumentSize::Large(bytes, most) => {
                self.havoc_copy_if(cond, to, (bytes, most), |_, any| any);
            }
        }
    }

    /// Assigns unknown values to `bytes` bytes at an address, at most `most`, if the condition
    /// holds. The kernel copies them, so they are determined. `change` computes the assigned value
    /// from the unknown one.
    pub(super) fn havoc_copy_if(
        &mut self,
        cond: Operand,
        address: Operand,
        (bytes, most): (Operand, u32),
        change: impl Fn(&mut Emitter, Operand) -> Operand,
    ) {
        const WORD: u64 = 8;
        let unknown = |lifter: &mut Self, inside, destination, size: u8, name: &str| {
            let max = u64::MAX >> (64 - 8 * u32::from(size));
            let emit = &mut lifter.ir.emit;
            emit.computed = true;
            let any = emit.draw(name, ValueFormat::Bytes, 8 * size, max);
            let inside = emit.and(cond, inside);
            let any = change(emit, any);
            emit.store_if(inside, destination, any);
        };
        let mut offset = 0;
        while offset + WORD <= most.into() {
            let emit = &mut self.ir.emit;
            let outside = emit.ult(bytes, word(offset + WORD));
            let inside = emit.not(outside);
            let destination = emit.add(address, word(offset));
            let name = format!("copied bytes {offset} to {}", offset + WORD - 1);
            unknown(self, inside, destination, WORD as u8, &name);
            offset += WORD;
        }
        let whole = self.ir.emit.and(bytes, word(!(WORD - 1)));
        for further in 0..WORD - 1 {
            let emit = &mut self.ir.emit;
            let distance = emit.add(whole, word(further));
            let inside = emit.ult(distance, bytes);
            let destination = emit.binary(BinaryOp::Add, address, distance);
            unknown(self, inside, destination, 1, "one of the last copied bytes");
        }
    }

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
