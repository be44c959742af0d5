//! Records the changes that rewriting passes make because of facts about packets and maps.

use crate::analysis::FactSet;
use std::collections::BTreeMap;

/// A change that rewriting makes to an instruction because of facts about packets and maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The branch becomes a jump, because it is always taken.
    AlwaysTaken,
    /// The branch is removed, because it is never taken.
    NeverTaken,
    /// Jump threading bypasses the branch, because the path into its block decides its outcome.
    Threaded,
    /// The instruction becomes a load of this number, because its result is always the same.
    Constant(u64),
    /// The right operand becomes this number, because its value is always the same.
    Operand(u64),
    /// The instruction is removed, because it has no effect.
    NoEffect,
    /// Comparisons of the key with this number of map entries replace the look-up.
    Inlined(u32),
}

/// All changes that rewriting passes have made because of facts, with the facts that each change
/// relies on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Facts on which each change relies. The key contains the slot in the original program. The
    /// same change to several copies of an instruction is one change.
    pub changes: BTreeMap<(usize, Change), FactSet>,
    /// Minimum and maximum number of iterations of each loop, each time the loop is entered, by the
    /// loop's first slot in the original program.
    pub iterations: BTreeMap<usize, (usize, usize)>,
}

impl Log {
    /// Records a change of the instruction that has slot `origin` in the original program, with the
    /// facts on which the change relies.
    pub fn note(&mut self, origin: usize, change: Change, reason: FactSet) {
        let known = self.changes.entry((origin, change)).or_default();
        *known = *known | reason;
    }

    /// Records the number of iterations of one copy of a loop, whose first slot in the original
    /// program is `origin`.
    pub fn note_iterations(&mut self, origin: usize, iterations: usize) {
        let (least, most) = self.iterations.entry(origin).or_insert((iterations, iterations));
        *least = iterations.min(*least);
        *most = iterations.max(*most);
    }

    /// Returns all facts on which at least one change relies.
    pub fn reason(&self) -> FactSet {
        self.changes.values().fold(FactSet::NONE, |all, &reason| all | reason)
    }
}
