//! Finds the outcomes of comparisons, and the facts that hold after each outcome.

use super::arithmetic::compared;
use super::fact_set::FactSet;
use super::numbers::{Def, Number, Numbers};
use super::sets::{Compared, hull, sees};
use super::state::State;
use super::value::{Kind, Value};
use crate::fault::{self, Fault};
use crate::graph::Test;
use slowpath_bpf::insn::{AluOp, Condition, Width};
use slowpath_domain::{Domain, mask};

/// The outcome of a comparison, with the facts on which it depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decision {
    pub holds: bool,
    pub reason: FactSet,
}

/// A comparison of a packet address with the packet's end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BoundsCheck {
    /// Offset of the compared address from the packet's first byte.
    pub offset: i64,
    /// Condition, with the compared address on the left and the packet's end on the right.
    pub cond: Condition,
}

/// Returns the bounds check of the packet that a comparison makes, or `None` if it makes none.
/// `dst` and `src` are the abstract values of its left and right operand.
pub(crate) fn bounds_check(test: &Test, dst: &Value, src: &Value) -> Option<BoundsCheck> {
    if test.width != Width::W64 {
        return None;
    }
    let (offset, cond) = match (dst.kind, src.kind) {
        (Kind::Packet { offset, .. }, Kind::PacketEnd) => (offset, test.cond),
        (Kind::PacketEnd, Kind::Packet { offset, .. }) => (offset, mirrored(test.cond)?),
        _ => return None,
    };
    let known = matches!(cond, Condition::Gt | Condition::Ge | Condition::Lt | Condition::Le);
    known.then_some(BoundsCheck { offset, cond })
}

/// Returns the condition that is equivalent after both operands are swapped. Returns `None` for
/// signed conditions and bit tests.
fn mirrored(cond: Condition) -> Option<Condition> {
    Some(match cond {
        Condition::Gt => Condition::Lt,
        Condition::Ge => Condition::Le,
        Condition::Lt => Condition::Gt,
        Condition::Le => Condition::Ge,
        Condition::Eq | Condition::Ne => cond,
        _ => return None,
    })
}

impl BoundsCheck {
    /// Returns the minimum and maximum length in bytes of the packets for which the condition of
    /// the check is true (`holds`) or false.
    fn lengths(self, holds: bool) -> (i64, i64) {
        let offset = self.offset;
        match (self.cond, holds) {
            (Condition::Gt, true) | (Condition::Le, false) => (i64::MIN, offset - 1),
            (Condition::Ge, true) | (Condition::Lt, false) => (i64::MIN, offset),
            (Condition::Lt, true) | (Condition::Ge, false) => (offset + 1, i64::MAX),
            _ => (offset, i64::MAX),
        }
    }

    /// Returns true if the outcome `holds` proves that the packet contains all bytes before the
    /// compared address.
    pub fn passes(self, holds: bool) -> bool {
        self.lengths(holds).1 == i64::MAX
    }
}

/// Returns the outcome of a comparison if it is the same for all packets, otherwise `None`. `src`
/// is the value of the right operand.
pub(crate) fn decide(
    state: &State,
    numbers: &Numbers,
    test: &Test,
    src: &Value,
) -> Option<Decision> {
    let dst = state.reg(test.dst);
    if let Some(check) = bounds_check(test, dst, src) {
        return [true, false].into_iter().find_map(|holds| {
            let (least, greatest) = check.lengths(!holds);
            let (min, max) = state.length_reasons;
            let greatest = greatest.saturating_sub(fault::has(Fault::LengthTooLong).into());
            if greatest < state.length.0 {
                return Some(Decision { holds, reason: min });
            }
            (least > state.length.1).then_some(Decision { holds, reason: max })
        });
    }
    let reason = dst.reason | src.reason;
    // Equal value numbers do not decide a test for common bits: it depends on the bits themselves.
    let equal = dst.number == src.number && test.cond != Condition::Set;
    if test.width == Width::W64 && equal {
        use Condition::{Eq, Ge, Le, Sge, Sle};
        let holds = matches!(test.cond, Eq | Ge | Le | Sge | Sle);
        // Two constants are equal because of facts. Other values with the same number are equal
        // without any facts.
        let same = if dst.constant().is_some() { reason } else { FactSet::NONE };
        return Some(Decision { holds, reason: same });
    }
    if let (true, Some(0)) = (test.width == Width::W64, src.constant())
        && is_address(dst.kind)
    {
        return match test.cond {
            Condition::Eq => Some(Decision { holds: false, reason }),
            Condition::Ne => Some(Decision { holds: true, reason }),
            _ => None,
        };
    }
    let (Kind::Number(a), Kind::Number(b)) = (dst.kind, src.kind) else { return None };
    if let Some(holds) = compared(test.width, test.cond, a, b) {
        return Some(Decision { holds, reason });
    }
    let sides = [dst.number, src.number];
    let (holds, why) = state.sets.decide(Compared { test, sides, numbers })?;
    Some(Decision { holds, reason: reason | why })
}

/// Returns true if a value is certainly an address within or after a map value, so that it is not
/// null.
fn is_address(kind: Kind) -> bool {
    match kind {
        Kind::MapValue { offset, null, .. } => !null && offset >= 0,
        Kind::GlobalData { offset, .. } => offset >= 0,
        _ => false,
    }
}

/// Returns the state after a test with the outcome `holds`. Returns `None` if the outcome is
/// impossible.
pub(crate) fn assume(
    state: &State,
    numbers: &Numbers,
    test: &Test,
    src: &Value,
    holds: bool,
) -> Option<State> {
    if decide(state, numbers, test, src).is_some_and(|decision| decision.holds != holds) {
        return None;
    }
    let mut state = state.clone();
    let dst = *state.reg(test.dst);
    if let Some(check) = bounds_check(test, &dst, src) {
        let (least, greatest) = check.lengths(holds);
        if least > state.length.0 {
            state.length.0 = least;
            state.length_reasons.0 = FactSet::NONE;
        }
        if greatest < state.length.1 {
            state.length.1 = greatest;
            state.length_reasons.1 = FactSet::NONE;
        }
        if check.passes(holds) {
            let end = check.offset + i64::from(fault::has(Fault::CheckedTooMuch));
            for value in state.values_mut() {
                if let Kind::Packet { checked, .. } = &mut value.kind {
                    *checked = (*checked).max(end);
                }
            }
        }
        return Some(state);
    }
    if let Kind::MapValue { offset: 0, null: true, .. } = dst.kind
        && test.width == Width::W64
        && src.constant() == Some(0)
    {
        let equal = match test.cond {
            Condition::Eq => holds,
            Condition::Ne => !holds,
            _ => return Some(state),
        };
        for value in state.values_mut().filter(|value| value.number == dst.number) {
            if let Kind::MapValue { null, .. } = &mut value.kind {
                *null = false;
            }
            if equal {
                value.kind = Kind::Number(Domain::constant(64, 0));
            }
        }
        return Some(state);
    }
    let (Kind::Number(a), Kind::Number(b)) = (dst.kind, src.kind) else { return Some(state) };
    let reason = dst.reason | src.reason;
    let sides = [dst.number, src.number];
    one_of(&mut state, Compared { test, sides, numbers }, [a, b], holds, reason);
    let Some((a, b)) = refined(test, holds, a, b) else { return Some(state) };
    narrow(&mut state, numbers, (dst.number, a), reason);
    narrow(&mut state, numbers, (src.number, b), reason);
    Some(state)
}

/// Shrinks the sets of possible values of numbers: removes values for which the comparison does not
/// have the outcome `holds`. Numbers without a set stay unchanged. `sides` contains the domains of
/// both operands.
fn one_of(
    state: &mut State,
    compared: Compared<'_>,
    sides: [Domain; 2],
    holds: bool,
    reason: FactSet,
) {
    for number in state.sets.refine(compared, holds, reason) {
        let Some((values, why)) = state.sets.get(number) else { continue };
        let hull = hull(values);
        narrow(state, compared.numbers, (number, hull), why);
    }
    let seen = sides.iter().all(|&side| sees(compared.test.width, side));
    if compared.is_equality(holds) && seen {
        let [a, b] = compared.sides;
        for (number, other) in [(a, sides[1]), (b, sides[0])] {
            if let Some(value) = other.as_constant() {
                state.sets.learn(compared.numbers, number, value, reason);
            }
        }
    }
}

/// Restricts all values with the given value number to a domain, and also the values from which
/// they are computed. `reason` contains the facts on which the restriction depends.
fn narrow(
    state: &mut State,
    numbers: &Numbers,
    (number, domain): (Number, Domain),
    reason: FactSet,
) {
    for value in state.values_mut() {
        if let Kind::Number(known) = value.kind
            && value.number == number
            && let Some(less) = known.meet(&domain)
            && less != known
        {
            value.kind = Kind::Number(less);
            value.reason = value.reason | reason;
        }
    }
    match numbers.def(number) {
        Def::Alu(Width::W64, AluOp::And, a, b) | Def::Alu(Width::W64, AluOp::And, b, a)
            if let Def::Constant(bits) = numbers.def(b) =>
        {
            let known = Domain::from_bits(64, domain.zeros() & bits, domain.ones() & bits);
            narrow(state, numbers, (a, known), reason);
        }
        Def::Low(width, of) => {
            // The bits above the width stay unrestricted.
            let bits = mask(width);
            let known = Domain::from_bits(64, domain.zeros() & bits, domain.ones() & bits);
            narrow(state, numbers, (of, known), reason);
        }
        _ => {}
    }
}

/// Returns the domains of both operands after a test with the outcome `holds`. Returns `None` if
/// the test restricts neither of them.
fn refined(test: &Test, holds: bool, a: Domain, b: Domain) -> Option<(Domain, Domain)> {
    // A 32-bit comparison only restricts numbers that fit in 32 bits.
    if test.width == Width::W32 && (a.hi() > mask(31) || b.hi() > mask(31)) {
        let equality = matches!(test.cond, Condition::Eq | Condition::Ne | Condition::Set);
        let unsigned =
            matches!(test.cond, Condition::Gt | Condition::Ge | Condition::Lt | Condition::Le);
        if !(equality || unsigned) || a.hi() > mask(32) || b.hi() > mask(32) {
            return None;
        }
    }
    let less = |a: Domain, b: Domain, strict: u64| {
        let below = a.meet(&Domain::range(64, 0, b.hi().saturating_sub(strict)))?;
        let above = b.meet(&Domain::range(64, a.lo().saturating_add(strict), u64::MAX))?;
        Some((below, above))
    };
    let signed_less = |a: Domain, b: Domain, strict: i64| {
        let (least, greatest) = (a.signed_range().0, b.signed_range().1);
        let below = a.meet(&Domain::signed(64, i64::MIN, greatest.saturating_sub(strict)))?;
        let above = b.meet(&Domain::signed(64, least.saturating_add(strict), i64::MAX))?;
        Some((below, above))
    };
    let swap = |pair: Option<(Domain, Domain)>| pair.map(|(b, a)| (a, b));
    match (test.cond, holds) {
        (Condition::Eq, true) | (Condition::Ne, false) => {
            let both = a.meet(&b)?;
            Some((both, both))
        }
        (Condition::Eq, false) | (Condition::Ne, true) => match b.as_constant() {
            Some(value) => Some((a.without(value)?, b)),
            None => Some((a, b.without(a.as_constant()?)?)),
        },
        (Condition::Set, false) => {
            let bits = b.as_constant()?;
            Some((a.meet(&Domain::from_bits(64, bits & mask(test.width.bits()), 0))?, b))
        }
        (Condition::Set, true) => {
            let bits = b.as_constant().filter(|bits| bits.is_power_of_two())?;
            Some((a.meet(&Domain::from_bits(64, 0, bits))?, b))
        }
        (Condition::Lt, true) | (Condition::Ge, false) => less(a, b, 1),
        (Condition::Le, true) | (Condition::Gt, false) => less(a, b, 0),
        (Condition::Gt, true) | (Condition::Le, false) => swap(less(b, a, 1)),
        (Condition::Ge, true) | (Condition::Lt, false) => swap(less(b, a, 0)),
        (Condition::Slt, true) | (Condition::Sge, false) => signed_less(a, b, 1),
        (Condition::Sle, true) | (Condition::Sgt, false) => signed_less(a, b, 0),
        (Condition::Sgt, true) | (Condition::Sle, false) => swap(signed_less(b, a, 1)),
        (Condition::Sge, true) | (Condition::Slt, false) => swap(signed_less(b, a, 0)),
    }
}
