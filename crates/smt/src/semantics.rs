//! Computes operators on concrete values (SMT-LIB `QF_BV`), for constant folding and for
//! evaluation. Constants and values that come from a model (unknowns, bytes of arrays, interned
//! pairs) are handled elsewhere.

use crate::domain::{mask, sign_extend};
use crate::term::Node;

/// Values of a term's operands, and their widths in bits.
pub(crate) struct Operands {
    pub(crate) values: [u64; 3],
    pub(crate) widths: [u8; 3],
}

/// Computes an operator on concrete operands. The result has `width` bits. Returns `None` for
/// constants and for values that come from a model: unknowns, bytes of arrays, interned pairs.
#[inline]
pub(crate) fn apply(node: &Node, width: u8, operands: &Operands) -> Option<u64> {
    let [a, b, c] = operands.values;
    let w = operands.widths[0];
    let signed = |v| sign_extend(v, w);
    let value = match node {
        Node::Const(_) | Node::Var(_) | Node::Select { .. } | Node::Intern(..) => {
            return None;
        }
        Node::Not(_) => !a,
        Node::Neg(_) => a.wrapping_neg(),
        Node::And(..) => a & b,
        Node::Or(..) => a | b,
        Node::Xor(..) => a ^ b,
        Node::Add(..) => a.wrapping_add(b),
        Node::Mul(..) => a.wrapping_mul(b),
        Node::Udiv(..) => a.checked_div(b).unwrap_or(u64::MAX),
        Node::Urem(..) => a.checked_rem(b).unwrap_or(a),
        Node::Sdiv(..) => match signed(b) {
            0 if signed(a) < 0 => 1,
            0 => u64::MAX,
            divisor => signed(a).wrapping_div(divisor) as u64,
        },
        Node::Srem(..) => match signed(b) {
            0 => a,
            divisor => signed(a).wrapping_rem(divisor) as u64,
        },
        Node::Shl(..) => {
            if b >= u64::from(w) {
                0
            } else {
                a << b
            }
        }
        Node::Lshr(..) => {
            if b >= u64::from(w) {
                0
            } else {
                a >> b
            }
        }
        Node::Ashr(..) => (signed(a) >> b.min(u64::from(w) - 1)) as u64,
        Node::Eq(..) => u64::from(a == b),
        Node::Ult(..) => u64::from(a < b),
        Node::Slt(..) => u64::from(signed(a) < signed(b)),
        Node::Concat(..) => (a << operands.widths[1]) | b,
        Node::Extract { lo, .. } => a >> lo,
        Node::Sext(_) => signed(a) as u64,
        Node::Ite(..) => {
            if a != 0 {
                b
            } else {
                c
            }
        }
    };
    Some(value & mask(width))
}
