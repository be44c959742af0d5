use slowpath_ir::{BinaryOp, Op, Operand as Value, Reg};

use super::*;

const LEFT: Reg = Reg(0);
const RIGHT: Reg = Reg(1);
const RESULT: Reg = Reg(2);

/// Returns the known bits of `left op right`, for two 8-bit values.
fn known(op: BinaryOp, width: u8, left: KnownBits, right: KnownBits) -> KnownBits {
    let op = Op::Binary { op, dst: RESULT, a: Value::Reg(LEFT), b: Value::Reg(RIGHT) };
    result(&op, width, |value| (if value == Value::Reg(LEFT) { left } else { right }, 8))
}

fn evaluate(op: BinaryOp, a: u64, b: u64) -> u64 {
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a << b,
        BinaryOp::Lshr => a >> b,
        _ => a << 8 | b,
    }
}

/// Checks that computed known bits are right for all values of the operands' unknown bits.
#[test]
fn known_bits_are_right() {
    use BinaryOp::{Add, And, Concat, Lshr, Or, Shl, Sub, Xor};
    let patterns: Vec<KnownBits> = [(0, 0), (0xff, 0x5a), (0x0f, 0x06), (0xf0, 0x90), (0x11, 0x01)]
        .map(|(mask, value)| KnownBits { mask, value })
        .to_vec();
    let values = |known: KnownBits| (0..=0xff_u64).filter(move |v| v & known.mask == known.value);
    for op in [Add, Sub, And, Or, Xor, Concat] {
        let width = if op == Concat { 16 } else { 8 };
        for &a in &patterns {
            for &b in &patterns {
                let result = known(op, width, a, b);
                for (x, y) in values(a).flat_map(|x| values(b).step_by(7).map(move |y| (x, y))) {
                    assert_eq!(evaluate(op, x, y) & result.mask, result.value, "{op:?} {x} {y}");
                }
            }
        }
    }
    for op in [Shl, Lshr] {
        for (bits, &a) in (0..8).flat_map(|bits| patterns.iter().map(move |a| (bits, a))) {
            let result = known(op, 8, a, KnownBits::constant(bits, 8));
            for x in values(a) {
                assert_eq!(evaluate(op, x, bits) & 0xff & result.mask, result.value, "{op:?}");
            }
        }
        assert_eq!(known(op, 8, patterns[1], patterns[2]), KnownBits::default());
    }
}

#[test]
fn fields_are_known_as_a_whole_or_not() {
    let known = KnownBits { mask: 0x0f00, value: 0x0900 };
    assert_eq!(known.field(8, 4), Some(9));
    assert_eq!(known.field(8, 5), None);
}
