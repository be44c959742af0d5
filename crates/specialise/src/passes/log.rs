//! Records the changes that passes make because of facts.

use crate::analysis::FactSet;
use std::collections::BTreeMap;

/// A change of an instruction because of facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The branch is always taken.
    AlwaysTaken,
    /// The branch is never taken.
    NeverTaken,
    /// Jump threading bypasses the branch, because the way into its block decides it.
    Threaded,
    /// The result is always this number.
    Constant(u64),
    /// The right operand is always this number.
    Operand(u64),
    /// The instruction has no effect.
    NoEffect,
    /// This number of key comparisons replaces the look-up.
    Inlined(u32),
}

/// All changes that passes have made because of facts, with these facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// For each change, the facts on which it depends. The key contains the slot in the original
    /// program. The same change to several copies of an instruction is one change.
    pub changes: BTreeMap<(usize, Change), FactSet>,
    /// Minimum and maximum number of iterations of each loop, each time the loop is entered. The
    /// key is the loop's first slot in the original program.
    pub iterations: BTreeMap<usize, (usize, usize)>,
}

impl Log {
    /// Records a change of an instruction.
    pub fn note(&mut self, origin: usize, change: Change, reason: FactSet) {
        let known = self.changes.entry((origin, change)).or_default();
        *known = *known | reason;
    }

    /// Records how many iterations one copy of a loop has.
    pub fn note_iterations(&mut self, origin: usize, iterations: usize) {
        let (least, most) = self.iterations.entry(origin).or_insert((iterations, iterations));
        *least = iterations.min(*least);
        *most = iterations.max(*most);
    }

    /// Returns all facts on which at least one change depends.
    pub fn reason(&self) -> FactSet {
        self.changes.values().fold(FactSet::NONE, |all, &reason| all | reason)
    }
}
