//! Record of the changes that depend on facts.

use crate::analysis::FactSet;
use std::collections::BTreeMap;

/// Change of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The branch is always taken.
    AlwaysTaken,
    /// The branch is never taken.
    NeverTaken,
    /// The way into the block decides the branch, so a jump bypasses it.
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

/// Changes of all passes, and the facts that the changes depend on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Facts for each change, by slot of the original program. The same change to several copies of
    /// an instruction is one change.
    pub changes: BTreeMap<(usize, Change), FactSet>,
    /// Minimum and maximum number of iterations of each loop, each time control enters it. The key
    /// is the first slot of the loop in the original program.
    pub iterations: BTreeMap<usize, (usize, usize)>,
}

impl Log {
    /// Records a change.
    pub fn note(&mut self, origin: usize, change: Change, reason: FactSet) {
        let known = self.changes.entry((origin, change)).or_default();
        *known = *known | reason;
    }

    /// Records the number of iterations of one copy of a loop.
    pub fn note_iterations(&mut self, origin: usize, iterations: usize) {
        let (least, most) = self.iterations.entry(origin).or_insert((iterations, iterations));
        *least = iterations.min(*least);
        *most = iterations.max(*most);
    }

    /// Returns the facts that any of the changes depends on.
    pub fn reason(&self) -> FactSet {
        self.changes.values().fold(FactSet::NONE, |all, &reason| all | reason)
    }
}
