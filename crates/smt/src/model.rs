//! Models: concrete values for unknowns and bytes of arrays, and concrete numbers that identify
//! pairs of values ([`TermPool::intern`](crate::TermPool::intern)).

use std::collections::BTreeMap;

use crate::term::{ArrayId, VarId};

/// An assignment of values to unknowns and to bytes of unconstrained arrays, and of numbers to
/// interned pairs of values ([`TermPool::intern`](crate::TermPool::intern)). Unassigned unknowns
/// and bytes are evaluated as zero. An unassigned pair has a default number: a hash of the pair
/// that differs from all assigned numbers. Two unassigned pairs have the same number only if their
/// 32-bit hashes collide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    vars: BTreeMap<VarId, u64>,
    bytes: BTreeMap<(ArrayId, u64), u8>,
    interned: BTreeMap<(u64, u64), u32>,
}

impl Model {
    /// Creates a model that assigns nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of assigned values.
    pub(crate) fn size(&self) -> usize {
        self.vars.len() + self.bytes.len() + self.interned.len()
    }

    /// Returns the value of an unknown, or `None` if it is not assigned.
    pub fn var(&self, var: VarId) -> Option<u64> {
        self.vars.get(&var).copied()
    }

    /// Returns the byte of an array at a concrete index, or `None` if it is not assigned.
    pub fn byte(&self, array: ArrayId, index: u64) -> Option<u8> {
        self.bytes.get(&(array, index)).copied()
    }

    /// Assigns a value to an unknown.
    pub fn set_var(&mut self, var: VarId, value: u64) {
        self.vars.insert(var, value);
    }

    /// Assigns a value to a byte of an array.
    pub fn set_byte(&mut self, array: ArrayId, index: u64, value: u8) {
        self.bytes.insert((array, index), value);
    }

    /// Returns the number of a pair of values (see [`TermPool::intern`](crate::TermPool::intern)),
    /// or `None` if no number is assigned.
    pub fn interned(&self, pair: (u64, u64)) -> Option<u32> {
        self.interned.get(&pair).copied()
    }

    /// Assigns a number to a pair of values (see [`TermPool::intern`](crate::TermPool::intern)).
    pub fn set_interned(&mut self, pair: (u64, u64), number: u32) {
        self.interned.insert(pair, number);
    }

    /// Returns all interned pairs of values with their assigned numbers.
    pub fn interned_pairs(&self) -> impl Iterator<Item = ((u64, u64), u32)> + '_ {
        self.interned.iter().map(|(&pair, &number)| (pair, number))
    }

    /// Returns the assigned number of an interned pair, or a hash of the pair if no number is
    /// assigned.
    pub(crate) fn number_of(&self, (a, b): (u64, u64)) -> u32 {
        if let Some(number) = self.interned((a, b)) {
            return number;
        }
        let assigned = |number| self.interned.values().any(|&other| other == number);
        let mut number = (mix(mix(a) ^ b) >> 32) as u32;
        while assigned(number) {
            number = number.wrapping_add(1);
        }
        number
    }

    /// Copies all assignments of `other` into this model.
    pub(crate) fn extend(&mut self, other: &Model) {
        self.vars.extend(&other.vars);
        self.bytes.extend(&other.bytes);
        self.interned.extend(&other.interned);
    }

    /// Returns all assigned unknowns in order of their ids.
    pub fn vars(&self) -> impl Iterator<Item = (VarId, u64)> + '_ {
        self.vars.iter().map(|(&var, &value)| (var, value))
    }

    /// Returns all assigned bytes, ordered by array and index.
    pub fn bytes(&self) -> impl Iterator<Item = (ArrayId, u64, u8)> + '_ {
        self.bytes.iter().map(|(&(array, index), &value)| (array, index, value))
    }
}

/// Mixes all bits of a value, as the last step of MurmurHash3 does. Different values give different
/// results.
pub(crate) fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    value = (value ^ (value >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}
