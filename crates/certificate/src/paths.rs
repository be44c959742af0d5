//! Shows that all paths above a cost contain a nogood, a set of arcs that no packet takes together.
//!
//! The paths are followed from the entry, node by node. Paths that reach a node with the same
//! context (the part of the past on which costs depend) and the same partly taken nogoods have the
//! same continuations, so only the most expensive of them is followed. A path ends where it has
//! taken all arcs of a nogood, or where even its most expensive continuation stays within the cost.

use crate::graph::{Graph, Priced, Reach};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Number of states beyond which the check is given up.
const MAX_STATES: usize = 500_000;

/// Arcs that complete a nogood of which earlier arcs are taken, as the number of a [`Suffixes`]
/// entry. Nogoods with the same remaining arcs have the same number.
type Suffix = u32;

/// Remaining arcs of the nogoods that are partly taken, in ascending order of their numbers.
type Taken = Vec<Suffix>;

/// All ends of the nogoods. An end has a first arc, and the number of the end after it.
struct Suffixes {
    entries: Vec<(u32, Suffix)>,
    /// For each arc, the nogoods that begin with it, each with its number as a whole.
    starting: HashMap<u32, Vec<(usize, Suffix)>>,
}

/// Number of the suffix without arcs.
const NOTHING: Suffix = 0;

impl Suffixes {
    fn new(nogoods: &[&[u32]]) -> Self {
        let mut entries = vec![(u32::MAX, NOTHING)];
        let mut numbers: HashMap<(u32, Suffix), Suffix> = HashMap::new();
        let mut starting: HashMap<u32, Vec<(usize, Suffix)>> = HashMap::new();
        for (index, arcs) in nogoods.iter().enumerate() {
            let mut suffix = NOTHING;
            for &arc in arcs.iter().rev() {
                let next = entries.len() as Suffix;
                suffix = *numbers.entry((arc, suffix)).or_insert_with_key(|&entry| {
                    entries.push(entry);
                    next
                });
            }
            if let Some(&first) = arcs.first() {
                starting.entry(first).or_default().push((index, suffix));
            }
        }
        Suffixes { entries, starting }
    }

    /// Returns the suffixes that remain after an arc, each with the nogoods that it belongs to. The
    /// error has the nogoods that the arc completes.
    fn take(
        &self,
        taken: &[Suffix],
        because: &[Vec<usize>],
        arc: u32,
    ) -> Result<BTreeMap<Suffix, Vec<usize>>, Vec<usize>> {
        let mut after: BTreeMap<Suffix, Vec<usize>> = BTreeMap::new();
        let mut add = |suffix, nogoods: &[usize]| {
            join(after.entry(suffix).or_default(), nogoods);
        };
        for (&suffix, nogoods) in taken.iter().zip(because) {
            let (next, rest) = self.entries[suffix as usize];
            add(if next == arc { rest } else { suffix }, nogoods);
        }
        for &(nogood, suffix) in self.starting.get(&arc).map_or(&[][..], Vec::as_slice) {
            add(self.entries[suffix as usize].1, &[nogood]);
        }
        match after.remove(&NOTHING) {
            Some(completed) => Err(completed),
            None => Ok(after),
        }
    }
}

/// Result of the check of all paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paths {
    /// Every path above the cost contains one of these nogoods, given by their indices.
    Excluded(Vec<usize>),
    /// This path is above the cost and contains no nogood.
    Open {
        /// Arcs of the path.
        path: Vec<u32>,
        /// Length in bytes of the longest packet for which the path is above the cost.
        length: u32,
    },
    /// There are too many states to follow.
    TooMany,
}

/// The most expensive path to a state.
struct Reached {
    /// Cost of the path.
    spent: u64,
    /// State before, by its index in the trace, and the arc that led from there.
    from: Option<(usize, u32)>,
    /// For each suffix of the state, the nogoods that some path to the state has partly taken.
    because: Vec<Vec<usize>>,
}

impl Reached {
    /// Adds another path to the same state.
    fn merge(&mut self, other: Reached) {
        for (known, more) in self.because.iter_mut().zip(other.because) {
            join(known, &more);
        }
        if other.spent > self.spent {
            (self.spent, self.from) = (other.spent, other.from);
        }
    }
}

/// Follows all paths that cost more than `limit` ticks on `component`, including `overhead`.
///
/// `nogoods` are sets of arcs in ascending order, which is their order on all paths. They hold for
/// packets of up to `length` bytes.
pub(crate) fn follow(
    graph: &Graph,
    priced: &Priced,
    nogoods: &[&[u32]],
    (component, overhead, limit): (usize, u64, u64),
    length: u32,
) -> Paths {
    let rest = longest(priced, component);
    let later = nogoods.iter().flat_map(|arcs| arcs.iter().skip(1).copied());
    let reach = Reach::new(graph, later);
    let suffixes = Suffixes::new(nogoods);
    let mut used = vec![false; nogoods.len()];
    // States that were followed, for naming the path to an open exit.
    let mut trace: Vec<Reached> = Vec::new();
    let mut waiting: Vec<HashMap<Taken, Reached>> = Vec::new();
    waiting.resize_with(priced.node.len(), HashMap::new);
    if rest.first().copied().flatten().is_some_and(|rest| overhead.saturating_add(rest) > limit) {
        waiting[0]
            .insert(Taken::new(), Reached { spent: overhead, from: None, because: Vec::new() });
    }
    for state in 0..priced.node.len() {
        let mut reached: Vec<(Taken, Reached)> =
            std::mem::take(&mut waiting[state]).into_iter().collect();
        reached.sort_unstable_by(|a, b| b.1.spent.cmp(&a.1.spent).then_with(|| a.0.cmp(&b.0)));
        for (taken, reached) in without_covered(reached) {
            let spent = reached.spent;
            let at = trace.len();
            if at >= MAX_STATES {
                return Paths::TooMany;
            }
            for transition in &priced.transitions[state] {
                let spent = spent.saturating_add(transition.cost[component]);
                let rest = match transition.next {
                    None => Some(0),
                    Some(next) => rest[next as usize],
                };
                if rest.is_none_or(|rest| spent.saturating_add(rest) <= limit) {
                    continue;
                }
                let arc = transition.arc;
                let mut after = match suffixes.take(&taken, &reached.because, arc) {
                    Ok(after) => after,
                    Err(completed) => {
                        completed.into_iter().for_each(|nogood| used[nogood] = true);
                        continue;
                    }
                };
                let Some(next) = transition.next else {
                    trace.push(reached);
                    return Paths::Open { path: path_to(&trace, at, arc), length };
                };
                let node = priced.node[next as usize];
                after.retain(|&suffix, _| reach.leads(node, suffixes.entries[suffix as usize].0));
                let (after, because): (Taken, Vec<Vec<usize>>) = after.into_iter().unzip();
                let reached = Reached { spent, from: Some((at, arc)), because };
                match waiting[next as usize].entry(after) {
                    Entry::Vacant(entry) => {
                        entry.insert(reached);
                    }
                    Entry::Occupied(mut entry) => entry.get_mut().merge(reached),
                }
            }
            trace.push(Reached { because: Vec::new(), ..reached });
        }
    }
    Paths::Excluded((0..nogoods.len()).filter(|&index| used[index]).collect())
}

/// Returns the highest cost from each state to an exit; `None` if no exit can be reached.
fn longest(priced: &Priced, component: usize) -> Vec<Option<u64>> {
    let mut rest: Vec<Option<u64>> = vec![None; priced.node.len()];
    for state in (0..priced.node.len()).rev() {
        let onward = priced.transitions[state].iter().filter_map(|transition| {
            let rest = transition.next.map_or(Some(0), |next| rest[next as usize])?;
            Some(transition.cost[component].saturating_add(rest))
        });
        rest[state] = onward.max();
    }
    rest
}

/// Number of more expensive paths with which a path is compared.
const COMPARED: usize = 48;

/// Removes paths that another path covers: it costs at least as much, and the arcs that complete
/// its nogoods also complete those of the other. The path that stays gets the nogoods of the other,
/// because the same arcs must exclude both. `reached` is in descending order of costs.
fn without_covered(reached: Vec<(Taken, Reached)>) -> Vec<(Taken, Reached)> {
    let mut kept: Vec<(Taken, Reached)> = Vec::with_capacity(reached.len());
    for (taken, reached) in reached {
        let covers = |other: &&mut (Taken, Reached)| {
            let mut own = taken.iter();
            other.0.iter().all(|suffix| own.by_ref().any(|another| another == suffix))
        };
        match kept.iter_mut().take(COMPARED).find(covers) {
            None => kept.push((taken, reached)),
            Some((other, covering)) => {
                for (suffix, known) in other.iter().zip(&mut covering.because) {
                    if let Ok(at) = taken.binary_search(suffix) {
                        join(known, &reached.because[at]);
                    }
                }
            }
        }
    }
    kept
}

/// Adds numbers to a list in ascending order.
fn join(known: &mut Vec<usize>, more: &[usize]) {
    if known != more {
        known.extend(more);
        known.sort_unstable();
        known.dedup();
    }
}

fn path_to(trace: &[Reached], mut at: usize, last: u32) -> Vec<u32> {
    let mut path = vec![last];
    while let Some((before, arc)) = trace[at].from {
        path.push(arc);
        at = before;
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests;
