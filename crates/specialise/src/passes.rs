//! Rewritings, one file each. A pass takes the program and what is known of it, and says whether it
//! changed anything; what it did for a fact's sake goes to the [`Log`].

mod bounds;
mod branches;
mod dead;
mod jumps;
mod liveness;
mod operands;
mod threading;
mod unroll;
mod values;

pub(crate) use bounds::merge_bounds_checks;
pub(crate) use branches::fold_branches;
pub(crate) use dead::remove_dead_code;
pub(crate) use jumps::simplify_jumps;
pub(crate) use operands::simplify_operands;
pub(crate) use threading::thread_jumps;
pub(crate) use unroll::collapse_loops;
pub(crate) use values::simplify_values;

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
}

/// What passes did, and the facts that it rests on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// By the slot of the original program. What happens to several copies of an instruction is one
    /// change, if it is the same.
    pub changes: BTreeMap<(usize, Change), Reason>,
}

impl Log {
    /// Notes a change.
    pub fn note(&mut self, origin: usize, change: Change, reason: Reason) {
        let known = self.changes.entry((origin, change)).or_default();
        *known = *known | reason;
    }

    /// All facts that something rests on.
    pub fn reason(&self) -> Reason {
        self.changes.values().fold(Reason::NONE, |all, &reason| all | reason)
    }
}
