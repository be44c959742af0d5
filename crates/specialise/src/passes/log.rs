//! What passes did for a fact's sake.

use crate::analysis::Reason;
use std::collections::BTreeMap;

/// What became of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A branch that is always taken.
    AlwaysTaken,
    /// A branch that is never taken.
    NeverTaken,
    /// A branch that is taken or not by the way that control came.
    Threaded,
    /// It always computes the same number.
    Constant(u64),
    /// Its right operand is always the same number.
    Operand(u64),
    /// It does not change anything.
    NoEffect,
    /// A look-up that became so many comparisons of its key.
    Inlined(u32),
}

/// What passes did, and the facts that it rests on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// By the slot of the original program. What happens to several copies of an instruction is one
    /// change, if it is the same.
    pub changes: BTreeMap<(usize, Change), Reason>,
    /// By the slot at which a loop of the original program begins, how many rounds it has at least and
    /// at most, whenever control gets there.
    pub rounds: BTreeMap<usize, (usize, usize)>,
}

impl Log {
    /// Notes a change.
    pub fn note(&mut self, origin: usize, change: Change, reason: Reason) {
        let known = self.changes.entry((origin, change)).or_default();
        *known = *known | reason;
    }

    /// Notes that a loop has so many rounds.
    pub fn note_rounds(&mut self, origin: usize, rounds: usize) {
        let (least, most) = self.rounds.entry(origin).or_insert((rounds, rounds));
        *least = rounds.min(*least);
        *most = rounds.max(*most);
    }

    /// All facts that something rests on.
    pub fn reason(&self) -> Reason {
        self.changes.values().fold(Reason::NONE, |all, &reason| all | reason)
    }
}
