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
    /// The path into the block decides the branch.
    Threaded,
    /// The result is always this number.
    Constant(u64),
    /// The right operand is always this number.
    Operand(u64),
    /// The instruction has no effect.
    NoEffect,
    /// The look-up is replaced by this number of key comparisons.
    Inlined(u32),
}

/// Changes of all passes, and the facts that they depend on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Changes by slot of the original program. The same change in several copies of an instruction
    /// counts once.
    pub changes: BTreeMap<(usize, Change), FactSet>,
    /// Minimum and maximum number of iterations of a loop each time that control reaches it, by the
    /// original slot at which the loop begins.
    pub iterations: BTreeMap<usize, (usize, usize)>,
}

impl Log {
    /// Records a change.
    pub fn note(&mut self, origin: usize, change: Change, reason: FactSet) {
        let known = self.changes.entry((origin, change)).or_default();
        *known = *known | reason;
    }

    /// Records the iteration count of one copy of a loop.
    pub fn note_iterations(&mut self, origin: usize, iterations: usize) {
        let (least, most) = self.iterations.entry(origin).or_insert((iterations, iterations));
        *least = iterations.min(*least);
        *most = iterations.max(*most);
    }

    /// Returns all facts that a change depends on.
    pub fn reason(&self) -> FactSet {
        self.changes.values().fold(FactSet::NONE, |all, &reason| all | reason)
    }
}
