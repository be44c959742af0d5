//! Subproblems of the branch and bound: what is decided about arcs, and the longest path that is
//! left.

use slowpath_exec::ArcId;
use slowpath_target::{CostVector, Slowness};
use std::cmp::Ordering;
use std::rc::Rc;

/// What is decided about an arc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArcStatus {
    /// Nothing.
    Free,
    /// Every path must take it.
    Required,
    /// No path may take it.
    Forbidden,
}

/// A decision, after the decisions before it.
#[derive(Debug)]
pub struct Decision {
    /// The arc.
    pub arc: ArcId,
    /// Taken or not.
    pub required: bool,
    /// The decision before.
    pub before: Decisions,
}

/// A list of decisions that shares its tail with other lists.
pub type Decisions = Option<Rc<Decision>>;

/// `before` and one decision more.
pub fn decide(before: &Decisions, arc: ArcId, required: bool) -> Decisions {
    Some(Rc::new(Decision { arc, required, before: before.clone() }))
}

/// The decisions, latest first.
pub fn decisions(list: &Decisions) -> impl Iterator<Item = &Decision> {
    std::iter::successors(list.as_deref(), |decision| decision.before.as_deref())
}

impl Drop for Decision {
    /// Iterative, so that long lists do not exhaust the stack.
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

/// A set of paths that may contain the slowest, bounded by its slowest path.
#[derive(Clone, Debug)]
pub struct Subproblem {
    /// No path in the set is slower, on `component` and for packets of `length` bytes or more.
    pub slowness: Slowness,
    /// Least packet length of the size class, in bytes.
    pub length: u32,
    /// The component that costs are counted on.
    pub component: usize,
    /// What sets this set of paths apart.
    pub decisions: Decisions,
    /// Its slowest path, nogoods that are not folded in left aside; none, if it has not been looked
    /// for yet.
    pub path: Vec<ArcId>,
    /// What that path costs.
    pub cost: CostVector,
    /// What all paths without a nogood cost at most on the component, in ticks.
    pub ticks: u64,
    /// For ties: later ones first, which goes deep before it goes wide.
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
