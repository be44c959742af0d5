//! Lagrangian bounds: what nogoods take from the longest path, without splitting its set of paths.
//!
//! A path that contains no nogood takes at most all arcs but one of each. Relaxing this constraint
//! of a nogood `N` with the multiplier `p`, which takes `p` off the cost of each of its arcs at a
//! credit of `p * (|N| - 1)`, makes no allowed path cheaper: the longest path at reduced cost
//! bounds them all (Fisher, "The Lagrangian relaxation method for solving integer programming
//! problems", Management Science 1981). Where many nogoods overlap that have little to do with each
//! other, this bound is near the best allowed path, while splitting tries all combinations.
//!
//! Multipliers are raised by dual coordinate ascent, one nogood at a time, exactly as far as that
//! lowers the bound. They are whole ticks, so nothing is rounded.

use crate::costs::{CostGraph, EXIT};
use crate::nogood::Nogoods;
use slowpath_exec::ArcId;
use slowpath_stop::Stop;

/// Most arcs of a nogood that gets a multiplier.
const MAX_ARCS: usize = 6;
/// Multipliers raised in one go, at most.
const MAX_RAISES: usize = 512;

/// No way to the end.
const NEVER: i64 = i64::MIN;

/// Lagrange multipliers of nogoods, summed up by arc, for one component and size class.
#[derive(Clone, Debug)]
pub(crate) struct Relaxation {
    component: usize,
    /// What the multipliers take off the cost of each arc, in ticks.
    discount: Vec<i64>,
    /// What the multipliers add to every path, in ticks.
    credit: i64,
}

/// The relaxation of one size class, and when to work on it.
#[derive(Clone, Debug)]
pub(crate) struct Ascent {
    pub relaxation: Relaxation,
    /// Splits since multipliers were last raised, or that was tried.
    splits: u32,
    /// Splits to wait for before it is tried again.
    patience: u32,
}

/// Most splits to wait for.
const MAX_PATIENCE: u32 = 1 << 16;

impl Ascent {
    /// No multipliers yet.
    pub fn new(component: usize, arcs: usize) -> Self {
        Ascent { relaxation: Relaxation::new(component, arcs), splits: 0, patience: 1 }
    }

    /// Counts a split. Returns whether to look for better multipliers instead.
    pub fn is_due(&mut self) -> bool {
        self.splits += 1;
        self.splits > self.patience
    }

    /// Notes whether better multipliers were found.
    pub fn tried(&mut self, raised: bool) {
        self.splits = 0;
        self.patience = if raised { 1 } else { (4 * self.patience).min(MAX_PATIENCE) };
    }
}

/// Scratch space of the dynamic programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct RelaxationScratch {
    best: Vec<i64>,
    choice: Vec<u32>,
}

impl Relaxation {
    /// No multipliers yet, for a graph with so many arcs.
    pub fn new(component: usize, arcs: usize) -> Self {
        Relaxation { component, discount: vec![0; arcs], credit: 0 }
    }

    /// A bound in ticks on the cost of all paths over allowed arcs that contain no nogood, overhead
    /// included.
    pub fn bound(
        &self,
        graph: &CostGraph,
        allowed: &[bool],
        scratch: &mut RelaxationScratch,
    ) -> Option<u64> {
        let rest = self.longest(graph, allowed, scratch)?;
        Some(graph.overhead(self.component).saturating_add_signed(rest))
    }

    /// Raises multipliers as far as that lowers the bound on the paths over allowed arcs, for
    /// packets of `length` bytes, until it is time to stop. Returns whether it did.
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

    /// The cost of the longest path at reduced cost, overhead excluded.
    fn longest(
        &self,
        graph: &CostGraph,
        allowed: &[bool],
        scratch: &mut RelaxationScratch,
    ) -> Option<i64> {
        let RelaxationScratch { best, choice } = scratch;
        best.clear();
        best.resize(graph.states(), NEVER);
        choice.clear();
        choice.resize(graph.states(), 0);
        for state in (0..graph.states()).rev() {
            for index in graph.transitions(state) {
                let transition = graph.transition(index);
                if !allowed[transition.arc.index()] {
                    continue;
                }
                let rest = if transition.next == EXIT { 0 } else { best[transition.next as usize] };
                if rest == NEVER {
                    continue;
                }
                let total = rest.saturating_add(self.reduced_cost(graph, index, transition.arc));
                if best[state] == NEVER || total > best[state] {
                    (best[state], choice[state]) = (total, index as u32);
                }
            }
        }
        let &longest = best.first().filter(|&&longest| longest != NEVER)?;
        Some(longest + self.credit)
    }

    /// The cost of a transition without what the multipliers of its arc take off.
    fn reduced_cost(&self, graph: &CostGraph, transition: usize, arc: ArcId) -> i64 {
        let cost = i64::try_from(graph.cost(self.component, transition)).unwrap_or(i64::MAX / 4);
        cost.min(i64::MAX / 4) - self.discount[arc.index()]
    }

    /// By how much a higher multiplier of a nogood lowers the bound, which is `longest`: until
    /// another path is as long, whose cost may rise with the multiplier.
    fn raise(
        &self,
        graph: &CostGraph,
        allowed: &[bool],
        nogood: &[ArcId],
        longest: i64,
        scratch: &mut RelaxationScratch,
    ) -> i64 {
        // The longest paths from each state by how many arcs of the nogood they take.
        let counts = nogood.len() + 1;
        let best = &mut scratch.best;
        best.clear();
        best.resize(graph.states() * counts, NEVER);
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
                        EXIT => NEVER,
                        next => best[next as usize * counts + before],
                    };
                    let slot = &mut best[state * counts + count];
                    if rest != NEVER {
                        *slot = (*slot).max(rest.saturating_add(cost));
                    }
                }
            }
        }
        let limits = (0..nogood.len()).filter_map(|count| {
            let other = *best.get(count).filter(|&&other| other != NEVER)? + self.credit;
            Some((longest - other) / (nogood.len() - count) as i64)
        });
        // Nothing else is left: the set is empty, which splitting finds out.
        limits.min().unwrap_or(0)
    }
}

/// The path from the first state on that the choices make.
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
