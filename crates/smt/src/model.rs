//! A model: concrete values for unknowns and for bytes of arrays. Knows no solver.

use std::collections::BTreeMap;

use crate::term::{ArrayId, VarId};

/// Values of unknowns and of bytes of arrays; what has none counts as zero when evaluating.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    vars: BTreeMap<VarId, u64>,
    bytes: BTreeMap<(ArrayId, u64), u8>,
}

impl Model {
    /// A model that assigns nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of an unknown.
    pub fn var(&self, var: VarId) -> Option<u64> {
        self.vars.get(&var).copied()
    }

    /// The byte of an array at a concrete index.
    pub fn byte(&self, array: ArrayId, index: u64) -> Option<u8> {
        self.bytes.get(&(array, index)).copied()
    }

    /// Assigns an unknown.
    pub fn set_var(&mut self, var: VarId, value: u64) {
        self.vars.insert(var, value);
    }

    /// Assigns a byte of an array.
    pub fn set_byte(&mut self, array: ArrayId, index: u64, value: u8) {
        self.bytes.insert((array, index), value);
    }

    /// All assigned unknowns, in order of their ids.
    pub fn vars(&self) -> impl Iterator<Item = (VarId, u64)> + '_ {
        self.vars.iter().map(|(&var, &value)| (var, value))
    }

    /// All assigned bytes, by array and index.
    pub fn bytes(&self) -> impl Iterator<Item = (ArrayId, u64, u8)> + '_ {
        self.bytes.iter().map(|(&(array, index), &value)| (array, index, value))
    }
}
