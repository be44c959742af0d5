//! Results of calls that the program does not determine: one of several values, or a number or an
//! error.

use slowpath_ir::{Emit, Operand, ValueFormat};

use crate::lift::ir::emit::word;
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;

/// `enum xdp_action` of the kernel's `uapi/linux/bpf.h`.
pub(in crate::lift) const XDP_ABORTED: u64 = 0;

pub(in crate::lift) const XDP_REDIRECT: u64 = 4;

/// Name of a call's result in witnesses.
pub(in crate::lift) const RETURNED: &str = "return value";
/// Name of the result of a call that returns a number or an error.
pub(in crate::lift) const NUMBER: &str = "return value, if it is no error";
const ERROR: &str = "return value, if it is an error";

impl Lifter<'_> {
    /// Returns one of `values`; `result` is its name in reports.
    fn any_of(&mut self, result: &str, values: &'static [i64]) -> Operand {
        let emit = &mut self.ir.emit;
        let last = values.len() as u64 - 1;
        let index = emit.draw(result, ValueFormat::OneOf(values), 64, last);
        let first = word(values[0] as u64);
        (1..).zip(&values[1..]).fold(first, |value, (number, &next)| {
            let this = emit.eq(index, word(number));
            emit.select(this, word(next as u64), value)
        })
    }

    /// Returns an unknown choice of `values`, which may include errors, as result of a call.
    pub(in crate::lift) fn one_of(&mut self, values: &'static [i64]) -> Operand {
        self.any_of(RETURNED, values)
    }

    /// Returns the error of a call: one of `errors`, of which the first is zero for success.
    pub(in crate::lift) fn error_of(&mut self, errors: &'static [i64]) -> Operand {
        self.any_of(ERROR, errors)
    }

    /// Returns `number` or one of `errors`, of which the first is zero for success.
    pub(in crate::lift) fn number_or_error(
        &mut self,
        number: Operand,
        errors: &'static [i64],
    ) -> Operand {
        let error = self.error_of(errors);
        let fine = self.ir.emit.eq(error, word(0));
        self.ir.emit.select(fine, number, error)
    }

    /// Assigns unknown values to bytes behind an argument if the condition holds; `what` is their
    /// name in reports.
    pub(in crate::lift) fn havoc_if(
        &mut self,
        cond: Operand,
        address: Operand,
        bytes: u32,
        what: &str,
    ) {
        for (offset, size) in chunks(bytes) {
            let last = offset + u64::from(size) - 1;
            let part = match bytes {
                0..=8 => what.to_owned(),
                _ => format!("bytes {offset} to {last} of {what}"),
            };
            let max = u64::MAX >> (64 - 8 * u32::from(size));
            let emit = &mut self.ir.emit;
            let any = emit.draw(&part, ValueFormat::Bytes, 8 * size, max);
            let destination = emit.add(address, word(offset));
            emit.store_if(cond, destination, any);
        }
    }

    /// Stores an unknown number from 0 to `max`, of `bytes` bytes, if the condition holds; `what`
    /// is its name in reports.
    pub(in crate::lift) fn number_if(
        &mut self,
        cond: Operand,
        address: Operand,
        (bytes, max): (u8, u64),
        what: &str,
    ) {
        let emit = &mut self.ir.emit;
        let any = emit.draw(what, ValueFormat::Number, 8 * bytes, max);
        emit.store_if(cond, address, any);
    }
}
