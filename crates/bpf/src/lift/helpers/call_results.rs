//! Creates unknown results for helper calls: one of several given values, or either a number or an
//! error.

use slowpath_ir::{Emit, Operand, ValueFormat};

use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;

/// XDP return code for a program error (`enum xdp_action` of the kernel's `uapi/linux/bpf.h`).
/// Helpers that redirect packets return it for invalid flags.
pub(in crate::lift) const XDP_ABORTED: u64 = 0;

pub(in crate::lift) const XDP_REDIRECT: u64 = 4;

/// Name of a call's result in reports.
pub(in crate::lift) const RETURNED: &str = "return value";
/// Name that reports use for the number that a call returns, if the call can also return an error.
pub(in crate::lift) const NUMBER: &str = "return value, if it is no error";
const ERROR: &str = "return value, if it is an error";

impl Lifter<'_> {
    /// Returns an unknown value out of `values`, which reports call `result`.
    fn any_of(&mut self, result: &str, values: &'static [i64]) -> Operand {
        let emit = &mut self.ir.emit;
        let last = values.len() as u64 - 1;
        let index = emit.draw(result, ValueFormat::OneOf(values), 64, last);
        let first = word(values[0] as u64);
        (1..).zip(&values[1..]).fold(first, |value, (number, &next)| {
            let selected = emit.eq(index, word(number));
            emit.select(selected, word(next as u64), value)
        })
    }

    /// Returns an unknown value out of `values`, which may include errors, as the result of a call.
    pub(in crate::lift) fn one_of(&mut self, values: &'static [i64]) -> Operand {
        self.any_of(RETURNED, values)
    }

    /// Returns an unknown value out of `errors` as the result of a call; `errors[0]` is zero and
    /// stands for success.
    pub(in crate::lift) fn error_of(&mut self, errors: &'static [i64]) -> Operand {
        self.any_of(ERROR, errors)
    }

    /// Returns either `number` or one of the values in `errors`, chosen by an unknown value.
    /// `errors[0]` is zero and selects `number`.
    pub(in crate::lift) fn number_or_error(
        &mut self,
        number: Operand,
        errors: &'static [i64],
    ) -> Operand {
        let error = self.error_of(errors);
        let fine = self.ir.emit.eq(error, word(0));
        self.ir.emit.select(fine, number, error)
    }

    /// Stores an unknown number from 0 to `max` in `bytes` bytes of memory, if the condition holds.
    /// Reports call it `what`.
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
