//! Compile-time values and the operators on them.

use std::rc::Rc;

use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::types::Type;
use crate::ast::{BinaryOp, DeclId, UnaryOp};

/// A value that is known at compile time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// An integer. A value of a type with a width is already reduced to this width.
    Number(BigInt),
    /// A string.
    Text(Rc<str>),
    /// A member of `error`.
    Error(Rc<str>),
    /// A member of an enum without an underlying type: declaration of the enum, and name of the
    /// member.
    Member(DeclId, Rc<str>),
    /// A list, a tuple, or the fields of a struct in order.
    List(Rc<[Value]>),
    /// A record literal whose type is not known yet: names and values of its fields.
    Record(Rc<[(Rc<str>, Value)]>),
    /// An invalid header.
    Invalid,
}

impl Value {
    /// Returns true if the value consists of more than `limit` nested values. Subtracts the number
    /// of counted values from `limit`.
    pub(super) fn has_more_parts(&self, limit: &mut u32) -> bool {
        let Some(rest) = limit.checked_sub(1) else { return true };
        *limit = rest;
        match self {
            Value::List(values) => values.iter().any(|value| value.has_more_parts(limit)),
            Value::Record(fields) => fields.iter().any(|(_, value)| value.has_more_parts(limit)),
            _ => false,
        }
    }

    /// Returns the integer; `None` for values of other kinds.
    pub fn number(&self) -> Option<&BigInt> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// Returns `value` reduced to the width of an integer type, modulo 2^width, and interpreted with
/// its sign.
pub fn wrap(value: &BigInt, ty: &Type) -> BigInt {
    match ty {
        Type::Bit(width) => value & &mask(*width),
        Type::Int(width) if *width > 0 => {
            let low = value & &mask(*width);
            if low.bit(u64::from(*width) - 1) { low - (BigInt::one() << *width) } else { low }
        }
        Type::Int(_) => BigInt::zero(),
        _ => value.clone(),
    }
}

fn mask(width: u32) -> BigInt {
    (BigInt::one() << width) - 1
}

/// Returns the smallest and the largest integer of a type with a width; `None` for other types.
pub fn limits(ty: &Type) -> Option<(BigInt, BigInt)> {
    match ty {
        Type::Bit(width) => Some((BigInt::zero(), mask(*width))),
        Type::Int(0) => Some((BigInt::zero(), BigInt::zero())),
        Type::Int(width) => Some((-(BigInt::one() << (width - 1)), mask(width - 1))),
        _ => None,
    }
}

/// Returns the result of a cast between integers and truth values; `None` for other casts.
pub fn cast(value: &Value, to: &Type) -> Option<Value> {
    Some(match (value, to) {
        (Value::Number(number), Type::Bit(_) | Type::Int(_) | Type::Integer) => {
            Value::Number(wrap(number, to))
        }
        (Value::Number(number), Type::Bool) => Value::Bool(!number.is_zero()),
        (Value::Bool(value), Type::Bit(_)) => Value::Number(BigInt::from(u8::from(*value))),
        (Value::Number(number), Type::New(_, of) | Type::Enum(_, Some(of))) => {
            Value::Number(wrap(number, of))
        }
        (value, _) => value.clone(),
    })
}

/// Returns the result of a unary operator, or `None` if it is unknown. `ty` is the result type.
pub fn unary(op: UnaryOp, value: &Value, ty: &Type) -> Option<Value> {
    Some(match (op, value) {
        (UnaryOp::Not, Value::Bool(value)) => Value::Bool(!value),
        (UnaryOp::Negate, Value::Number(number)) => Value::Number(wrap(&-number, ty)),
        (UnaryOp::Plus, Value::Number(number)) => Value::Number(number.clone()),
        (UnaryOp::Complement, Value::Number(number)) => Value::Number(wrap(&(-number - 1), ty)),
        _ => return None,
    })
}

/// Largest shift distance for an integer without a width, in bits.
const LARGEST_SHIFT: u32 = 4096;

/// Returns the result of a binary operator, or `None` if it is unknown or undefined. `left` and
/// `right` are the types of the operands.
pub fn binary(op: BinaryOp, a: &Value, b: &Value, left: &Type, right: &Type) -> Option<Value> {
    use BinaryOp as B;
    match (op, a, b) {
        (B::LogicalAnd, Value::Bool(a), Value::Bool(b)) => return Some(Value::Bool(*a && *b)),
        (B::LogicalOr, Value::Bool(a), Value::Bool(b)) => return Some(Value::Bool(*a || *b)),
        (B::Equal, _, _) => return Some(Value::Bool(a == b)),
        (B::NotEqual, _, _) => return Some(Value::Bool(a != b)),
        _ => {}
    }
    let (x, y) = (a.number()?, b.number()?);
    let ty = left;
    let number = match op {
        B::Less => return Some(Value::Bool(x < y)),
        B::LessEqual => return Some(Value::Bool(x <= y)),
        B::Greater => return Some(Value::Bool(x > y)),
        B::GreaterEqual => return Some(Value::Bool(x >= y)),
        B::Add => x + y,
        B::Subtract => x - y,
        B::AddSaturating | B::SubtractSaturating => {
            let exact = if op == B::AddSaturating { x + y } else { x - y };
            let (low, high) = limits(ty)?;
            return Some(Value::Number(exact.clamp(low, high)));
        }
        B::Multiply => x * y,
        B::Divide if !y.is_zero() && !x.is_negative() && !y.is_negative() => x / y,
        B::Modulo if !y.is_zero() && !x.is_negative() && !y.is_negative() => x % y,
        B::ShiftLeft => {
            let shift = y.to_u32();
            match ty.width() {
                Some(width) if shift.is_none_or(|shift| shift >= width) => BigInt::zero(),
                _ => x << shift.filter(|shift| *shift <= LARGEST_SHIFT)?,
            }
        }
        B::ShiftRight => match y.to_u32() {
            Some(shift) => x >> shift,
            None if x.sign() == Sign::Minus => BigInt::from(-1),
            None => BigInt::zero(),
        },
        B::And => x & y,
        B::Or => x | y,
        B::Xor => x ^ y,
        B::Concat => {
            let width = right.width()?;
            let sum = (x << width) | (y & &mask(width));
            let whole = left.width()?.checked_add(width)?;
            let ty = if matches!(left, Type::Int(_)) { Type::Int(whole) } else { Type::Bit(whole) };
            return Some(Value::Number(wrap(&sum, &ty)));
        }
        _ => return None,
    };
    Some(Value::Number(wrap(&number, ty)))
}

/// Returns bits `high` down to `low` of an integer; `None` if the value is not an integer.
pub fn slice(value: &Value, high: u32, low: u32) -> Option<Value> {
    let number = value.number()?;
    Some(Value::Number((number >> low) & mask(high.checked_sub(low)?.checked_add(1)?)))
}
