//! Watches of clauses.

use super::arena::ClauseId;
use super::literal::Lit;

/// A watched clause, visited when one of its watched literals becomes false.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) clause: ClauseId,
    /// Another literal of the clause. While it is true, the clause need not be visited. In a binary
    /// clause it is the only other literal.
    pub(super) blocker: Lit,
    pub(super) binary: bool,
}

impl Watch {
    pub(super) fn clause(self) -> ClauseId {
        self.clause
    }

    /// Updates the clause's position in the arena.
    pub(super) fn relocate(&mut self, clause: ClauseId) {
        self.clause = clause;
    }
}
