//! Computes the results of BPF arithmetic and comparisons for sets of numbers.

use slowpath_bpf::insn::{AluOp, Condition, Size, SwapKind, Width};
use slowpath_domain::{Domain, transfer};

/// Applies an operation to the low 32 or all 64 bits of a value (`width`), and sets all higher bits
/// of the result to zero.
pub(super) fn in_width(domain: Domain, width: Width, of: impl Fn(Domain) -> Domain) -> Domain {
    match width {
        Width::W64 => of(domain),
        Width::W32 => transfer::zext(of(transfer::extract(domain, 0, 32)), 64),
    }
}

/// Applies a byte swap to the low `size` bytes of a value, and sets all higher bits of the result
/// to zero.
pub(super) fn swapped(domain: Domain, kind: SwapKind, size: Size) -> Domain {
    let bits = size.bits();
    let low = transfer::extract(domain, 0, bits);
    if kind == SwapKind::Le {
        return transfer::zext(low, 64);
    }
    let swap = |value: u64| value.swap_bytes() >> (64 - u32::from(bits));
    let above = !slowpath_domain::mask(bits);
    Domain::from_bits(64, swap(low.zeros()) | above, swap(low.ones()))
}

/// Returns a domain with the possible results of a BPF arithmetic operation.
pub(super) fn arithmetic(width: Width, op: AluOp, a: Domain, b: Domain) -> Domain {
    let amount = u64::from(width.bits()) - 1;
    let binary = |of: fn(Domain, Domain) -> Domain| match width {
        Width::W64 => of(a, b),
        Width::W32 => {
            let (a, b) = (transfer::extract(a, 0, 32), transfer::extract(b, 0, 32));
            transfer::zext(of(a, b), 64)
        }
    };
    let all = || in_width(Domain::full(64), width, |all| all);
    let by = transfer::and(b, Domain::constant(64, amount));
    let shift = |of: fn(Domain, Domain) -> Domain| match width {
        Width::W64 => of(a, by),
        Width::W32 => {
            let low = transfer::extract(a, 0, 32);
            transfer::zext(of(low, transfer::extract(by, 0, 32)), 64)
        }
    };
    let divisor = if width == Width::W32 { transfer::extract(b, 0, 32) } else { b };
    match op {
        AluOp::Add => binary(transfer::add),
        AluOp::Sub => binary(transfer::sub),
        AluOp::Mul => binary(transfer::mul),
        AluOp::Or => binary(transfer::or),
        AluOp::And => binary(transfer::and),
        AluOp::Xor => binary(transfer::xor),
        AluOp::Lsh => shift(transfer::shl),
        AluOp::Rsh => shift(transfer::lshr),
        AluOp::Arsh => shift(transfer::ashr),
        // BPF defines division by 0, unlike the domain.
        AluOp::Div if !divisor.contains(0) => binary(transfer::udiv),
        AluOp::Mod if !divisor.contains(0) => binary(transfer::urem),
        AluOp::Div | AluOp::Mod | AluOp::Sdiv | AluOp::Smod => all(),
        AluOp::Mov => b,
    }
}

/// Returns the outcome of a comparison if it is the same for all values of both operands.
pub(super) fn compared(width: Width, cond: Condition, a: Domain, b: Domain) -> Option<bool> {
    let bits = width.bits();
    let (a, b) = (transfer::extract(a, 0, bits), transfer::extract(b, 0, bits));
    let not = |decided: Option<bool>| decided.map(|holds| !holds);
    match cond {
        Condition::Eq => transfer::decide_eq(a, b),
        Condition::Ne => not(transfer::decide_eq(a, b)),
        Condition::Set => not(transfer::decide_eq(transfer::and(a, b), Domain::constant(bits, 0))),
        Condition::Gt => transfer::decide_ult(b, a),
        Condition::Le => not(transfer::decide_ult(b, a)),
        Condition::Lt => transfer::decide_ult(a, b),
        Condition::Ge => not(transfer::decide_ult(a, b)),
        Condition::Sgt => transfer::decide_slt(b, a),
        Condition::Sle => not(transfer::decide_slt(b, a)),
        Condition::Slt => transfer::decide_slt(a, b),
        Condition::Sge => not(transfer::decide_slt(a, b)),
    }
}
