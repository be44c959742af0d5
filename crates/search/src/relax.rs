//! Computes bounds on the longest path without nogoods by Lagrangian relaxation. Unlike branch and
//! bound, this does not split sets of paths.
//!
//! A path without the nogood `N` takes at most all but one of its arcs. The relaxation with the
//! multiplier `p` subtracts `p` from the cost of each arc of `N`. It also adds a credit of `p *
//! (|N| - 1)` to every path. No allowed path becomes cheaper. So the longest path at reduced cost
//! bounds the cost of all allowed paths (Fisher, "The Lagrangian relaxation method for solving
//! integer programming problems", Management Science 1981). If many unrelated nogoods overlap, this
//! bound is close to the cost of the longest allowed path; splitting would try all combinations.
//!
//! Multipliers are raised by dual coordinate ascent: one nogood at a time, as far as this lowers
//! the bound. Multipliers are whole ticks, so there are no rounding errors.

use crate::costs::{CostGraph, EXIT};
use crate::nogood::Nogoods;
use slowpath_exec::ArcId;
use slowpath_stop::Stop;

/// Maximum number of arcs of a nogood for it to get a Lagrange multiplier.
const MAX_ARCS: usize = 6;
/// Maximum number of times that one call raises a Lagrange multiplier.
const MAX_RAISES: usize = 512;

/// Cost that marks a state from which no exit can be reached.
const UNREACHABLE: i64 = i64::MIN;

/// The effect of all Lagrange multipliers for one component and one minimum packet length. The cost
/// of each arc is reduced by the multipliers of its nogoods.
#[derive(Clone, Debug)]
pub(crate) struct Relaxation {
    component: usize,
    /// For each arc, the sum of the multipliers by which its cost is reduced, in ticks.
    discount: Vec<i64>,
    /// Credit that is added to the reduced cost of every path, in ticks.
    credit: i64,
}

/// The Lagrangian relaxation for one minimum packet length, with a schedule that decides when to
/// raise its multipliers.
#[derive(Clone, Debug)]
pub(crate) struct Ascent {
    pub relaxation: Relaxation,
    /// Number of times that the search has split a set of paths since the last attempt to raise
    /// multipliers.
    splits: u32,
    /// Number of splits of sets of paths that must pass before the next attempt to raise
    /// multipliers.
    patience: u32,
}

/// Maximum value of [`Ascent::patience`], the number of splits between two attempts to raise
/// multipliers.
const MAX_PATIENCE: u32 = 1 << 16;

impl Ascent {
    /// Creates a relaxation in which all multipliers are zero, with its schedule.
    pub fn new(component: usize, arcs: usize) -> Self {
        Ascent { relaxation: Relaxation::new(component, arcs), splits: 0, patience: 1 }
    }

    /// Counts the split of a set of paths. Returns true if the search should first try to raise
    /// multipliers.
    pub fn is_due(&mut self) -> bool {
        self.splits += 1;
        self.splits > self.patience
    }

    /// Records whether an attempt to raise multipliers succeeded. After each failure, the next
    /// attempt comes later.
    pub fn tried(&mut self, raised: bool) {
        self.splits = 0;
        self.patience = if raised { 1 } else { (4 * self.patience).min(MAX_PATIENCE) };
    }
}

/// Buffers for computing longest paths at reduced cost, reused between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct RelaxationScratch {
    best: Vec<i64>,
    choice: Vec<u32>,
}

impl Relaxation {
    /// Creates a relaxation in which all multipliers are zero, for a graph with `arcs` arcs.
    pub fn new(component: usize, arcs: usize) -> Self {
        Relaxation { component, discount: vec![0; arcs], credit: 0 }
    }

    /// Returns an upper bound in ticks for the cost of paths that use only allowed arcs and contain
    /// no nogood. The bound includes the fixed cost per packet. Returns `None` if the allowed arcs
    /// form no path.
    pub fn bound(
        &self,
        graph: &CostGraph,
        allowed: &[bool],
        scratch: &mut RelaxationScratch,
    ) -> Option<u64> {
        let rest = self.longest(graph, allowed, scratch)?;
        Some(graph.overhead(self.component).saturating_add_signed(rest))
    }

    /// Raises multipliers as long as this lowers the bound on paths over allowed arcs, for packets
    /// of `length` bytes. Ends early when `stop` holds. Returns true if any multiplier was raised.
    pub fn tighten(
        &mut self,
        graph: &CostGraph,
        allowed: &[bool],
        (nogoods, length): (&mut Nogoods, u32),
        scratch: &mut RelaxationScratch,
        stop: &Stop,
    ) -> bool {
        let mut raised = false;
        for _ in 0..MAX_RAISES {
            if stop.reason().is_some() {
                break;
            }
            let Some(longest) = self.longest(graph, allowed, scratch) else { break };
            let path = path(graph, &scratch.choice);
            let violated = nogoods.unfolded_in(&path, length, MAX_ARCS);
            let raise = violated.into_iter().find_map(|index| {
                let arcs = nogoods.arcs(index);
                let by = self.raise(graph, allowed, arcs, longest, scratch);
                (by > 0).then_some((index, by))
            });
            let Some((index, by)) = raise else { break };
            let arcs = nogoods.arcs(index);
            arcs.iter().for_each(|&arc| self.discount[arc.index()] += by);
            self.credit += by * (arcs.len() as i64 - 1);
            raised = true;
        }
        raised
    }

    /// Returns the highest cost of a path, with each arc's cost reduced by the multipliers of its
    /// nogoods, plus the credit. The fixed cost per packet is left out. Returns `None` if the
    /// allowed arcs form no path.
    fn longest(
        &self,
        graph: &CostGraph,
        allowed: &[bool],
        scratch: &mut RelaxationScratch,
    ) -> Option<i64> {
        let RelaxationScratch { best, choice } = scratch;
        best.clear();
        best.resize(graph.states(), UNREACHABLE);
        choice.clear();
        choice.resize(graph.states(), 0);
        for state in (0..graph.states()).rev() {
            for index in graph.transitions(state) {
                let transition = graph.transition(index);
                if !allowed[transition.arc.index()] {
                    continue;
                }
                let rest = if transition.next == EXIT { 0 } else { best[transition.next as usize] };
                if rest == UNREACHABLE {
                    continue;
                }
                let total = rest.saturating_add(self.reduced_cost(graph, index, transition.arc));
                if best[state] == UNREACHABLE || total > best[state] {
                    (best[state], choice[state]) = (total, index as u32);
                }
            }
        }
        let &longest = best.first().filter(|&&longest| longest != UNREACHABLE)?;
        Some(longest + self.credit)
    }

    /// Returns the cost of a transition minus the multipliers of all nogoods that contain its arc.
    fn reduced_cost(&self, graph: &CostGraph, transition: usize, arc: ArcId) -> i64 {
        let cost = i64::try_from(graph.cost(self.component, transition)).unwrap_or(i64::MAX / 4);
        cost.min(i64::MAX / 4) - self.discount[arc.index()]
    }

    /// Returns the increase of a nogood's multiplier that lowers the bound most; the bound is
    /// `longest` so far. Beyond this increase, another path is the longest, and its cost may rise
    /// with the multiplier.
    fn raise(
        &self,
        graph: &CostGraph,
        allowed: &[bool],
        nogood: &[ArcId],
        longest: i64,
        scratch: &mut RelaxationScratch,
    ) -> i64 {
        // Cost of the longest path from each state, for each number of arcs of the nogood that the
        // path takes.
        let counts = nogood.len() + 1;
        let best = &mut scratch.best;
        best.clear();
        best.resize(graph.states() * counts, UNREACHABLE);
        for state in (0..graph.states()).rev() {
            for index in graph.transitions(state) {
                let transition = graph.transition(index);
                if !allowed[transition.arc.index()] {
                    continue;
                }
                let cost = self.reduced_cost(graph, index, transition.arc);
                let taken = usize::from(nogood.contains(&transition.arc));
                for count in taken..counts {
                    let before = count - taken;
                    let rest = match transition.next {
                        EXIT if before == 0 => 0,
                        EXIT => UNREACHABLE,
                        next => best[next as usize * counts + before],
                    };
                    let slot = &mut best[state * counts + count];
                    if rest != UNREACHABLE {
                        *slot = (*slot).max(rest.saturating_add(cost));
                    }
                }
            }
        }
        let limits = (0..nogood.len()).filter_map(|count| {
            let other = *best.get(count).filter(|&&other| other != UNREACHABLE)? + self.credit;
            Some((longest - other) / (nogood.len() - count) as i64)
        });
        // If no other path exists, the set of paths is empty, which splitting detects.
        limits.min().unwrap_or(0)
    }
}

/// Returns the arcs of the path that starts in the first state and follows, from each state, the
/// transition that `choice` contains for it.
fn path(graph: &CostGraph, choice: &[u32]) -> Vec<ArcId> {
    let mut path = Vec::new();
    let mut state = 0;
    while state != EXIT {
        let transition = graph.transition(choice[state as usize] as usize);
        path.push(transition.arc);
        state = transition.next;
    }
    path
}
