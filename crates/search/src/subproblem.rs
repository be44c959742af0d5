//! Subproblems of the branch and bound: decisions about arcs, and the longest remaining path.

use slowpath_exec::ArcId;
use slowpath_target::{CostVector, Slowness};
use std::cmp::Ordering;
use std::rc::Rc;

/// Status of an arc in a subproblem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArcStatus {
    /// Undecided.
    Free,
    /// Every path must take the arc.
    Required,
    /// No path may take the arc.
    Forbidden,
}

/// A decision about an arc, linked to the preceding decisions.
#[derive(Debug)]
pub struct Decision {
    /// Arc that the decision is about.
    pub arc: ArcId,
    /// True if paths must take the arc, false if they must not take it.
    pub required: bool,
    /// Earlier decisions.
    pub before: Decisions,
}

/// A list of decisions, latest first, that can share its tail with other lists.
pub type Decisions = Option<Rc<Decision>>;

/// Returns `before` with one more decision.
pub fn decide(before: &Decisions, arc: ArcId, required: bool) -> Decisions {
    Some(Rc::new(Decision { arc, required, before: before.clone() }))
}

/// Returns the decisions, latest first.
pub fn decisions(list: &Decisions) -> impl Iterator<Item = &Decision> {
    std::iter::successors(list.as_deref(), |decision| decision.before.as_deref())
}

impl Drop for Decision {
    /// Drops iteratively, because recursion on a long list could exhaust the stack.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(decision) = next {
            match Rc::try_unwrap(decision) {
                Ok(mut decision) => next = decision.before.take(),
                Err(_) => break,
            }
        }
    }
}

/// A set of paths that may contain the slowest path, with a bound on their slowness.
#[derive(Clone, Debug)]
pub struct Subproblem {
    /// Upper bound on `component` for the slowness of the paths, for packets of at least `length`
    /// bytes.
    pub slowness: Slowness,
    /// Least packet length of the size class, in bytes.
    pub length: u32,
    /// Component whose cost counts.
    pub component: usize,
    /// Decisions that define the set.
    pub decisions: Decisions,
    /// Longest path of the set, which may contain unfolded nogoods; empty if it has not been
    /// computed.
    pub path: Vec<ArcId>,
    /// Cost of `path`.
    pub cost: CostVector,
    /// Upper bound for the cost on `component` of all paths in the set without a nogood, in ticks.
    pub ticks: u64,
    /// Order among equally slow subproblems: later ones come first, for a depth-first search.
    pub serial: u64,
}

impl Subproblem {
    fn key(&self) -> (Slowness, std::cmp::Reverse<u32>, std::cmp::Reverse<usize>, u64) {
        use std::cmp::Reverse;
        (self.slowness, Reverse(self.length), Reverse(self.component), self.serial)
    }
}

impl PartialEq for Subproblem {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Subproblem {}

impl PartialOrd for Subproblem {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Subproblem {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
