//! What a definition yields from the values of its operands.

use slowpath_domain::{Domain, transfer};
use slowpath_ir::BinaryOp;

use crate::class::{Arg, Class, Def};
use crate::value::{Origin, Value};

/// The value of an operand.
pub(crate) fn value_of(classes: &[Class], arg: Arg) -> Value {
    match arg {
        Arg::Class(id) => classes[id as usize].value,
        Arg::Const(value, width) => Value::number(Domain::constant(width, value)),
    }
}

/// The value of `width` bits that a definition yields; everything where there is none.
pub(crate) fn evaluate(classes: &[Class], def: &Def, width: u8) -> Value {
    let v = |arg| value_of(classes, arg);
    match *def {
        Def::Unknown => Value::full(width),
        Def::Not(a) => Value::number(transfer::not(v(a).domain)),
        Def::Extract(a, lo) => Value::number(transfer::extract(v(a).domain, lo, width)),
        Def::ZeroExtend(a) => Value::number(transfer::zext(v(a).domain, width)),
        Def::SignExtend(a) => Value::number(transfer::sext(v(a).domain, width)),
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
    let number = Value::number;
    if same {
        match op {
            BinaryOp::Sub | BinaryOp::Xor => return number(Domain::constant(x.width(), 0)),
            BinaryOp::And | BinaryOp::Or => return a,
            BinaryOp::Eq => return number(Domain::constant(1, 1)),
            BinaryOp::Ult | BinaryOp::Slt => return number(Domain::constant(1, 0)),
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
            (Some(p), Some(q)) if p.region == q.region => number(transfer::sub(p.offset, q.offset)),
            (Some(base), None) => {
                Value { domain: transfer::sub(x, y), origin: Some(moved(base, transfer::sub, y)) }
            }
            _ => number(transfer::sub(x, y)),
        },
        BinaryOp::Eq => match (a.address(), b.address()) {
            (Some(p), Some(q)) if p.region == q.region => number(transfer::eq(p.offset, q.offset)),
            _ => number(transfer::eq(x, y)),
        },
        BinaryOp::Mul => number(transfer::mul(x, y)),
        BinaryOp::Udiv => number(transfer::udiv(x, y)),
        BinaryOp::Urem => number(transfer::urem(x, y)),
        BinaryOp::Sdiv => number(transfer::sdiv(x, y)),
        BinaryOp::Srem => number(transfer::srem(x, y)),
        BinaryOp::And => number(transfer::and(x, y)),
        BinaryOp::Or => number(transfer::or(x, y)),
        BinaryOp::Xor => number(transfer::xor(x, y)),
        BinaryOp::Shl => number(transfer::shl(x, y)),
        BinaryOp::Lshr => number(transfer::lshr(x, y)),
        BinaryOp::Ashr => number(transfer::ashr(x, y)),
        BinaryOp::Ult => number(transfer::ult(x, y)),
        BinaryOp::Slt => number(transfer::slt(x, y)),
        BinaryOp::Concat => number(transfer::concat(x, y)),
        BinaryOp::Intern => Value::full(32),
    }
}

fn moved(base: Origin, by: fn(Domain, Domain) -> Domain, distance: Domain) -> Origin {
    Origin { offset: by(base.offset, distance), ..base }
}
