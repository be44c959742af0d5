//! Sets of paths in the branch and bound. Decisions about arcs describe a set: its paths must take
//! some arcs, and must not take others.

use slowpath_exec::ArcId;
use slowpath_target::{CostVector, Slowness};
use std::cmp::Ordering;
use std::rc::Rc;

/// Status of an arc in a set of paths (a subproblem).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArcStatus {
    /// Paths may take the arc or not.
    Free,
    /// Every path must take the arc.
    Required,
    /// No path may take the arc.
    Forbidden,
}

/// A decision whether paths must take an arc, with a link to the earlier decisions.
#[derive(Debug)]
pub struct Decision {
    /// Arc that the decision is about.
    pub arc: ArcId,
    /// True if paths must take the arc, false if they must not take it.
    pub required: bool,
    /// Earlier decisions about the same set of paths.
    pub before: Decisions,
}

/// A list of decisions, latest first. Lists can share their earlier decisions.
pub type Decisions = Option<Rc<Decision>>;

/// Returns the list `before` with one more decision.
pub fn decide(before: &Decisions, arc: ArcId, required: bool) -> Decisions {
    Some(Rc::new(Decision { arc, required, before: before.clone() }))
}

/// Returns an iterator over the decisions in a list, latest first.
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
    /// Upper bound for the slowness of the paths on `component`, for packets of at least `length`
    /// bytes.
    pub slowness: Slowness,
    /// Minimum length in bytes of the packets for which the bound was computed.
    pub length: u32,
    /// Index of the component whose cost is bounded.
    pub component: usize,
    /// Decisions about arcs that define the set.
    pub decisions: Decisions,
    /// Longest path of the set; empty if it has not been computed. The path may contain nogoods
    /// that are not folded into the graph.
    pub path: Vec<ArcId>,
    /// Cost of `path` for each component of the device.
    pub cost: CostVector,
    /// Upper bound in ticks for the cost on `component` of those paths of the set that contain no
    /// nogood (arcs that no packet takes together).
    pub ticks: u64,
    /// Serial number that decides between equally slow subproblems: the newest comes first, which
    /// makes the search depth-first.
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
