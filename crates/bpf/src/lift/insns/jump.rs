//! Lifts the conditions of jumps (RFC 9669, section 4.3).

use slowpath_ir::{BinaryOp, Emit, Operand};

use crate::insn::{Condition, Register, Source, Width};
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

impl Lifter<'_> {
    /// Emits the comparison of a conditional jump, and returns its result as a 1-bit value.
    pub(in crate::lift) fn comparison(
        &mut self,
        width: Width,
        cond: Condition,
        dst: Register,
        src: Source,
    ) -> Operand {
        let a = self.low(dst, width.bits());
        let b = self.source(src, width.bits());
        let emit = &mut self.ir.emit;
        let (op, swapped, negated) = match cond {
            Condition::Eq => (BinaryOp::Eq, false, false),
            Condition::Ne => (BinaryOp::Eq, false, true),
            Condition::Set => {
                let common = emit.and(a, b);
                let none = emit.eq(common, Operand::constant(width.bits(), 0));
                return emit.not(none);
            }
            Condition::Gt => (BinaryOp::Ult, true, false),
            Condition::Ge => (BinaryOp::Ult, false, true),
            Condition::Lt => (BinaryOp::Ult, false, false),
            Condition::Le => (BinaryOp::Ult, true, true),
            Condition::Sgt => (BinaryOp::Slt, true, false),
            Condition::Sge => (BinaryOp::Slt, false, true),
            Condition::Slt => (BinaryOp::Slt, false, false),
            Condition::Sle => (BinaryOp::Slt, true, true),
        };
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let holds = emit.binary(op, a, b);
        if negated { emit.not(holds) } else { holds }
    }

    /// Evaluates the condition of a jump while lifting; `None` if its value can differ between
    /// runs. The value is known if both operands are constants or addresses in the same stack
    /// frame, or if a pointer is compared with null.
    pub(in crate::lift) fn decide(
        &self,
        width: Width,
        cond: Condition,
        dst: Register,
        src: Source,
    ) -> Option<bool> {
        let (a, b) = (self.known(dst), self.known_source(src));
        // Pointers to frames, maps and the context are never null.
        if let (Condition::Eq | Condition::Ne, AbstractValue::Const(0), Width::W64) =
            (cond, b, width)
            && let AbstractValue::Frame { .. }
            | AbstractValue::Map(_)
            | AbstractValue::Data { .. }
            | AbstractValue::Context { .. } = a
        {
            return Some(cond == Condition::Ne);
        }
        let (a, b) = match (a, b) {
            (AbstractValue::Const(a), AbstractValue::Const(b)) => (a, b),
            // Addresses in one frame are in the order of their offsets, signed or unsigned.
            (
                AbstractValue::Frame { depth, offset: Some(a) },
                AbstractValue::Frame { depth: same, offset: Some(b) },
            ) if depth == same && width == Width::W64 && cond != Condition::Set => {
                (ordered(a)?, ordered(b)?)
            }
            _ => return None,
        };
        let (a, b, x, y) = match width {
            Width::W64 => (a, b, a as i64, b as i64),
            Width::W32 => {
                let (a, b) = (a as u32, b as u32);
                (a.into(), b.into(), i64::from(a as i32), i64::from(b as i32))
            }
        };
        Some(match cond {
            Condition::Eq => a == b,
            Condition::Ne => a != b,
            Condition::Set => a & b != 0,
            Condition::Gt => a > b,
            Condition::Ge => a >= b,
            Condition::Lt => a < b,
            Condition::Le => a <= b,
            Condition::Sgt => x > y,
            Condition::Sge => x >= y,
            Condition::Slt => x < y,
            Condition::Sle => x <= y,
        })
    }
}

/// Maps an offset in a stack frame to an unsigned number, so that the order of offsets is kept.
/// Returns `None` for offsets far outside a frame.
fn ordered(offset: i64) -> Option<u64> {
    Some(u64::from(i32::try_from(offset).ok()?.cast_unsigned() ^ 1 << 31))
}
