//! Evaluates the definitions of numbered values.

use slowpath_domain::{Domain, transfer};
use slowpath_ir::BinaryOp;

use crate::value::{Origin, Value};
use crate::value_number::{Arg, Def, NumberedValue};

pub(crate) fn value_of(values: &[NumberedValue], arg: Arg) -> Value {
    match arg {
        Arg::Number(id) => values[id as usize].value,
        Arg::Const(value, width) => Value::scalar(Domain::constant(width, value)),
    }
}

/// Returns the possible results of a definition, which has `width` bits. If the definition is
/// unknown, returns all values.
pub(crate) fn evaluate(values: &[NumberedValue], def: &Def, width: u8) -> Value {
    let v = |arg| value_of(values, arg);
    match *def {
        Def::Unknown => Value::full(width),
        Def::Not(a) => Value::scalar(transfer::not(v(a).domain)),
        Def::Extract(a, lo) => Value::scalar(transfer::extract(v(a).domain, lo, width)),
        Def::ZeroExtend(a) => Value::scalar(transfer::zext(v(a).domain, width)),
        Def::SignExtend(a) => Value::scalar(transfer::sext(v(a).domain, width)),
        Def::Select(c, a, b) => match v(c).domain.as_constant() {
            Some(0) => v(b),
            Some(_) => v(a),
            None => v(a).join(&v(b)),
        },
        Def::Binary(op, a, b) => binary(op, v(a), v(b), a == b),
    }
}

fn binary(op: BinaryOp, a: Value, b: Value, same: bool) -> Value {
    let (x, y) = (a.domain, b.domain);
    let scalar = Value::scalar;
    if same {
        match op {
            BinaryOp::Sub | BinaryOp::Xor => return scalar(Domain::constant(x.width(), 0)),
            BinaryOp::And | BinaryOp::Or => return a,
            BinaryOp::Eq => return scalar(Domain::constant(1, 1)),
            BinaryOp::Ult | BinaryOp::Slt => return scalar(Domain::constant(1, 0)),
            _ => {}
        }
    }
    match op {
        BinaryOp::Add => Value {
            domain: transfer::add(x, y),
            origin: match (a.address(), b.address()) {
                (Some(base), None) => Some(moved(base, transfer::add, y)),
                (None, Some(base)) => Some(moved(base, transfer::add, x)),
                _ => None,
            },
        },
        BinaryOp::Sub => match (a.address(), b.address()) {
            (Some(p), Some(q)) if p.region == q.region => scalar(transfer::sub(p.offset, q.offset)),
            (Some(base), None) => {
                Value { domain: transfer::sub(x, y), origin: Some(moved(base, transfer::sub, y)) }
            }
            _ => scalar(transfer::sub(x, y)),
        },
        BinaryOp::Eq => match (a.address(), b.address()) {
            (Some(p), Some(q)) if p.region == q.region => scalar(transfer::eq(p.offset, q.offset)),
            _ => scalar(transfer::eq(x, y)),
        },
        BinaryOp::Mul => scalar(transfer::mul(x, y)),
        BinaryOp::Udiv => scalar(transfer::udiv(x, y)),
        BinaryOp::Urem => scalar(transfer::urem(x, y)),
        BinaryOp::Sdiv => scalar(transfer::sdiv(x, y)),
        BinaryOp::Srem => scalar(transfer::srem(x, y)),
        BinaryOp::And => scalar(transfer::and(x, y)),
        BinaryOp::Or => scalar(transfer::or(x, y)),
        BinaryOp::Xor => scalar(transfer::xor(x, y)),
        BinaryOp::Shl => scalar(transfer::shl(x, y)),
        BinaryOp::Lshr => scalar(transfer::lshr(x, y)),
        BinaryOp::Ashr => scalar(transfer::ashr(x, y)),
        BinaryOp::Ult => scalar(transfer::ult(x, y)),
        BinaryOp::Slt => scalar(transfer::slt(x, y)),
        BinaryOp::Concat => scalar(transfer::concat(x, y)),
        BinaryOp::Intern => Value::full(32),
    }
}

fn moved(base: Origin, by: fn(Domain, Domain) -> Domain, distance: Domain) -> Origin {
    Origin { offset: by(base.offset, distance), ..base }
}
