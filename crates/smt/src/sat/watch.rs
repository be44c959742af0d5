//! What is kept of a clause at a literal that it is watched by.

use super::arena::ClauseId;
use super::literal::Lit;

/// A clause to look at when one of its watched literals becomes false.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) clause: ClauseId,
    /// Another literal: the clause need not be looked at while it is true. In a binary clause
    /// it is the only other one.
    pub(super) blocker: Lit,
    pub(super) binary: bool,
}

impl Watch {
    pub(super) fn clause(self) -> ClauseId {
        self.clause
    }

    /// The clause has another place now.
    pub(super) fn relocate(&mut self, clause: ClauseId) {
        self.clause = clause;
    }
}
