//! Computes the results of operators on concrete values.

use slowpath_ir::BinaryOp;

/// Returns a mask of the low `width` bits.
pub(super) fn ones(width: u8) -> u64 {
    u64::MAX >> (64 - u32::from(width))
}

/// Interprets the low `width` bits of `value` as a signed number.
pub(super) fn signed(value: u64, width: u8) -> i64 {
    let unused = 64 - u32::from(width);
    ((value << unused) as i64) >> unused
}

/// Returns the value of `a op b`. `width` is the width of `a` in bits, `low_width` the width of
/// `b`. Returns `None` for [`BinaryOp::Intern`], whose result does not follow from its operands.
/// The caller must clear the bits above the width of the result.
pub(super) fn arithmetic(op: BinaryOp, a: u64, b: u64, width: u8, low_width: u8) -> Option<u64> {
    let (signed_a, signed_b) = (signed(a, width), signed(b, width));
    let amount = u32::try_from(b).unwrap_or(u32::MAX);
    Some(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Udiv => a.checked_div(b).unwrap_or(u64::MAX),
        BinaryOp::Urem => a.checked_rem(b).unwrap_or(a),
        BinaryOp::Sdiv if b == 0 => {
            if signed_a < 0 {
                1
            } else {
                u64::MAX
            }
        }
        BinaryOp::Sdiv => signed_a.wrapping_div(signed_b) as u64,
        BinaryOp::Srem if b == 0 => a,
        BinaryOp::Srem => signed_a.wrapping_rem(signed_b) as u64,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl if amount >= u32::from(width) => 0,
        BinaryOp::Shl => a << amount,
        BinaryOp::Lshr if amount >= u32::from(width) => 0,
        BinaryOp::Lshr => a >> amount,
        BinaryOp::Ashr => (signed_a >> amount.min(63)) as u64,
        BinaryOp::Eq => u64::from(a == b),
        BinaryOp::Ult => u64::from(a < b),
        BinaryOp::Slt => u64::from(signed_a < signed_b),
        BinaryOp::Concat => (a << low_width) | b,
        BinaryOp::Intern => return None,
    })
}
