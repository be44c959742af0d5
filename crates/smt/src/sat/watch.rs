//! Watches: entries which state that a clause must be visited when one of its literals becomes
//! false.

use super::arena::ClauseId;
use super::literal::Lit;

/// A watch on one literal of a clause. The clause is visited when this literal becomes false.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) clause: ClauseId,
    /// Another literal of the clause. While this literal is true, the clause need not be visited.
    /// In a clause of two literals, it is the only other literal.
    pub(super) blocker: Lit,
    pub(super) binary: bool,
}

impl Watch {
    pub(super) fn clause(self) -> ClauseId {
        self.clause
    }

    /// Records the new position of the clause after the arena was compacted.
    pub(super) fn relocate(&mut self, clause: ClauseId) {
        self.clause = clause;
    }
}
