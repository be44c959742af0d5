//! Tracks numbers that can have only a few values. Facts about packets list the possible values of
//! some fields. Other numbers have a different constant value on each of several merged paths.
//!
//! A set belongs to a value number. Values that are computed from the number have no sets: to
//! decide a comparison, both operands are computed for each value in the set.

use super::arithmetic::{arithmetic, compared, in_width, swapped};
use super::fact_set::FactSet;
use super::numbers::{Def, Number, Numbers};
use crate::fault::{self, Fault};
use crate::graph::Test;
use slowpath_bpf::insn::{Condition, SwapKind, Width};
use slowpath_domain::{Domain, mask, transfer};
use std::collections::BTreeMap;

/// Maximum number of possible values that are kept for a number.
const MOST: usize = 8;
/// Maximum number of value sets that are kept at a program point.
const FOLLOWED: usize = 64;
/// Maximum number of operations that are evaluated to compute one value from another.
const STEPS: u32 = 64;

/// The possible values of a number.
#[derive(Clone, Debug, PartialEq)]
struct ValueSet {
    /// The possible values, in ascending order.
    values: Vec<u64>,
    /// Facts on which the set of values depends.
    reason: FactSet,
}

/// The possible values of numbers, by value number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ValueSets(BTreeMap<Number, ValueSet>);

/// A comparison with the value numbers of its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared<'a> {
    pub test: &'a Test,
    pub sides: [Number; 2],
    pub numbers: &'a Numbers,
}

impl ValueSets {
    /// Records the possible values of a number. Does nothing if the list is empty or too long.
    pub fn insert(
        &mut self,
        number: Number,
        values: impl IntoIterator<Item = u64>,
        reason: FactSet,
    ) {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        values.dedup();
        let room = self.0.len() < FOLLOWED || self.0.contains_key(&number);
        if room && (1..=MOST).contains(&values.len()) {
            self.0.insert(number, ValueSet { values, reason });
        }
    }

    /// Removes the possible values of a number, because its value number now stands for another
    /// value.
    pub fn forget(&mut self, number: Number) {
        self.0.remove(&number);
    }

    /// Returns the possible values of a number, with the facts on which they depend.
    pub fn get(&self, number: Number) -> Option<(&[u64], FactSet)> {
        self.0.get(&number).map(|known| (&known.values[..], known.reason))
    }

    /// Returns the sets of possible values after two paths have merged: a number keeps a set only
    /// if it has one on both paths.
    pub fn join(&self, other: &ValueSets) -> ValueSets {
        let mut joined = ValueSets::default();
        for (&number, known) in &self.0 {
            let Some(more) = other.0.get(&number) else { continue };
            let values = known.values.iter().chain(&more.values).copied();
            let reason = known.reason | more.reason;
            if fault::has(Fault::ValuesOfOneWay) {
                joined.insert(number, known.values.iter().copied(), reason);
            } else {
                joined.insert(number, values, reason);
            }
        }
        joined
    }

    /// Returns the outcome of a comparison if it is the same for all possible values, with the
    /// facts on which it depends.
    pub fn decide(&self, compared: Compared<'_>) -> Option<(bool, FactSet)> {
        self.bases(compared).into_iter().find_map(|base| {
            let known = &self.0[&base];
            let mut ends = known.values.iter().map(|&value| compared.holds(base, value));
            let first = ends.next()??;
            ends.all(|end| end == Some(first)).then_some((first, known.reason))
        })
    }

    /// Removes possible values for which the comparison cannot have the outcome `holds`. Returns
    /// the value numbers whose sets became smaller.
    pub fn refine(&mut self, compared: Compared<'_>, holds: bool, reason: FactSet) -> Vec<Number> {
        let holds = holds != fault::has(Fault::OtherValuesLeft);
        let mut bases = self.bases(compared);
        bases.retain(|base| {
            let Some(known) = self.0.get_mut(base) else { return false };
            let left = known.values.iter().copied();
            let left: Vec<u64> =
                left.filter(|&value| compared.holds(*base, value) != Some(!holds)).collect();
            let fewer = left.len() < known.values.len() && !left.is_empty();
            if fewer {
                *known = ValueSet { values: left, reason: known.reason | reason };
            }
            fewer
        });
        bases
    }

    /// Records that a number has a constant value. If it is a byte-swapped number, also records the
    /// value of the number before the swap.
    pub fn learn(&mut self, numbers: &Numbers, number: Number, value: u64, reason: FactSet) {
        let of = numbers.def(number);
        if matches!(of, Def::Constant(_)) {
            return;
        }
        self.insert(number, [value], reason);
        if let Def::Swap(SwapKind::Be, size, of) = of
            && numbers.bits(of) <= size.bits()
        {
            let back = swapped(Domain::constant(64, value), SwapKind::Be, size);
            let back = back.as_constant().filter(|_| !fault::has(Fault::SwapForgotten));
            self.learn(numbers, of, back.unwrap_or(value), reason);
        }
    }

    /// Returns the numbers with few possible values from which the operands of a comparison are
    /// computed.
    fn bases(&self, Compared { sides, numbers, .. }: Compared<'_>) -> Vec<Number> {
        let mut found = Vec::new();
        if self.0.is_empty() {
            return found;
        }
        let (mut open, mut left) = (sides.to_vec(), STEPS);
        while let Some(number) = open.pop() {
            if left == 0 {
                break;
            }
            left -= 1;
            if self.0.contains_key(&number) && !found.contains(&number) {
                found.push(number);
            }
            match numbers.def(number) {
                Def::Alu(_, _, a, b) => open.extend([a, b]),
                Def::Neg(_, of) | Def::Swap(_, _, of) | Def::Signed(_, _, of) | Def::Low(_, of) => {
                    open.push(of);
                }
                _ => {}
            }
        }
        found
    }
}

impl Compared<'_> {
    /// Returns the outcome of the comparison if the value number `base` has the value `value`.
    /// Returns `None` if this does not determine the outcome.
    fn holds(self, base: Number, value: u64) -> Option<bool> {
        let [a, b] = self.sides.map(|side| {
            let mut evaluation =
                Evaluation { numbers: self.numbers, given: (base, value), left: STEPS };
            evaluation.of(side)
        });
        compared(self.test.width, self.test.cond, a?, b?)
    }

    /// Returns true if both operands are equal whenever the comparison has the outcome `holds`.
    pub fn is_equality(self, holds: bool) -> bool {
        let cond = self.test.cond;
        matches!((cond, holds), (Condition::Eq, true) | (Condition::Ne, false))
    }
}

/// An evaluation of values that are computed from one number, for a known value of this number.
struct Evaluation<'a> {
    numbers: &'a Numbers,
    given: (Number, u64),
    /// Number of operations that may still be evaluated.
    left: u32,
}

impl Evaluation<'_> {
    /// Returns the value of a number as a constant. Returns `None` if it does not follow from the
    /// known number.
    fn of(&mut self, number: Number) -> Option<Domain> {
        if number == self.given.0 {
            return Some(Domain::constant(64, self.given.1));
        }
        self.left = self.left.checked_sub(1)?;
        let value = match self.numbers.def(number) {
            Def::Constant(value) => Domain::constant(64, value),
            Def::Alu(width, op, a, b) => {
                let (a, b) = (self.of(a)?, self.of(b)?);
                arithmetic(width, op, a, b)
            }
            Def::Neg(width, of) => in_width(self.of(of)?, width, transfer::neg),
            Def::Swap(kind, size, of) => swapped(self.of(of)?, kind, size),
            Def::Signed(width, from, of) => {
                let low = transfer::extract(self.of(of)?, 0, from.bits());
                transfer::zext(transfer::sext(low, width.bits()), 64)
            }
            Def::Low(bits, of) => transfer::and(self.of(of)?, Domain::constant(64, mask(bits))),
            Def::Result(..)
            | Def::Start(_)
            | Def::Merge(..)
            | Def::Stack(_)
            | Def::Data(..)
            | Def::Context(..) => return None,
        };
        value.as_constant().map(|value| Domain::constant(64, value))
    }
}

/// Returns the smallest domain that contains all `values`.
pub(super) fn hull(values: &[u64]) -> Domain {
    let constants = values.iter().map(|&value| Domain::constant(64, value));
    constants.reduce(|all, more| all.join(&more)).unwrap_or_else(|| Domain::full(64))
}

/// Returns true if a comparison of this width considers all bits that can be set in a number:
/// 32-bit comparisons ignore the upper half.
pub(super) fn sees(width: Width, number: Domain) -> bool {
    width == Width::W64 || number.hi() <= mask(32)
}

#[cfg(test)]
mod tests;
