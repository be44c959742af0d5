//! Literals: Boolean variables and their negations.

use std::ops::Not;

/// A variable or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Lit(u32);

impl Lit {
    pub(super) fn new(variable: usize, negative: bool) -> Self {
        Lit((variable as u32) << 1 | u32::from(negative))
    }

    pub(crate) fn variable(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(crate) fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns the index of the literal, for tables with an entry for each literal. Indices are
    /// consecutive from zero.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) fn code(self) -> u32 {
        self.0
    }

    pub(super) fn from_code(code: u32) -> Self {
        Lit(code)
    }
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}
