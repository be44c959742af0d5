//! Partial matches: the nogoods of which a path has taken some arcs, each with the number of arcs
//! taken so far. Each set of partial matches is stored only once.

use crate::dag::Dag;
use rustc_hash::FxHashMap;
use slowpath_exec::{ArcId, NodeId};
use std::rc::Rc;

/// The nogoods of which a path has taken some arcs, in ascending order. Each pair contains the
/// index of the nogood and the number of its arcs taken so far.
pub(super) type PartialMatches = [(u32, u32)];

/// Identifier of a set of partial matches.
pub(super) type MatchesId = u32;

/// Identifier of the empty set of partial matches.
pub(super) const NO_MATCHES: MatchesId = 0;

/// Table of all sets of partial matches (nogoods of which a path has taken some arcs) that states
/// use.
#[derive(Debug)]
pub(super) struct MatchSets {
    /// Each set, with the number of states that use it; the index is the identifier.
    all: Vec<(Rc<PartialMatches>, u32)>,
    numbers: FxHashMap<Rc<PartialMatches>, MatchesId>,
    /// Identifiers of unused sets, which can be assigned again.
    free: Vec<MatchesId>,
}

impl MatchSets {
    /// Creates a table that contains only the empty set.
    pub fn new() -> Self {
        let mut sets =
            MatchSets { all: Vec::new(), numbers: FxHashMap::default(), free: Vec::new() };
        let nothing = sets.number(&[]);
        sets.acquire(nothing);
        sets
    }

    /// Returns the set of partial matches with this identifier.
    pub fn get(&self, set: MatchesId) -> Rc<PartialMatches> {
        Rc::clone(&self.all[set as usize].0)
    }

    /// Returns the identifier of a set of partial matches; adds the set to the table if it is new.
    /// The identifier is valid while some state uses the set.
    pub fn number(&mut self, set: &PartialMatches) -> MatchesId {
        if let Some(&known) = self.numbers.get(set) {
            return known;
        }
        let set: Rc<PartialMatches> = Rc::from(set);
        let number = match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = (Rc::clone(&set), 0);
                number
            }
            None => {
                self.all.push((Rc::clone(&set), 0));
                self.all.len() as MatchesId - 1
            }
        };
        self.numbers.insert(set, number);
        number
    }

    pub fn acquire(&mut self, set: MatchesId) {
        self.all[set as usize].1 += 1;
    }

    /// Removes one use of a set of partial matches, and frees the set if no state uses it any more.
    pub fn release(&mut self, set: MatchesId) {
        let (matches, uses) = &mut self.all[set as usize];
        *uses -= 1;
        if *uses == 0 {
            self.numbers.remove(matches);
            *matches = Rc::new([]);
            self.free.push(set);
        }
    }
}

/// The arcs of all nogoods, indexed for matching them with the arcs of a path.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    /// Arcs of each nogood (arcs that no packet takes together), in the order in which paths take
    /// them.
    arcs: Vec<Vec<ArcId>>,
    /// For each arc, the indices of the nogoods whose first arc it is.
    starting: FxHashMap<ArcId, Vec<u32>>,
}

impl Patterns {
    /// Adds a nogood (arcs that no packet takes together) with at least one arc.
    pub fn push(&mut self, arcs: Vec<ArcId>) {
        self.starting.entry(arcs[0]).or_default().push(self.arcs.len() as u32);
        self.arcs.push(arcs);
    }

    pub fn len(&self) -> usize {
        self.arcs.len()
    }

    pub fn truncate(&mut self, len: usize) {
        for arcs in self.arcs.drain(len..).rev() {
            if let Some(starting) = self.starting.get_mut(&arcs[0]) {
                starting.pop();
            }
        }
    }

    /// Computes the partial matches of a path after it has taken one more arc, which leads to the
    /// node `after`, and writes them to `next`. Returns false if the arc completes a nogood.
    pub fn advance(
        &self,
        dag: &Dag,
        matches: &PartialMatches,
        (arc, after): (ArcId, NodeId),
        next: &mut Vec<(u32, u32)>,
    ) -> bool {
        next.clear();
        let new = self.starting.get(&arc).into_iter().flatten().map(|&number| (number, 0));
        for (number, taken) in matches.iter().copied().chain(new) {
            let arcs = &self.arcs[number as usize];
            let taken = if arcs[taken as usize] == arc { taken + 1 } else { taken };
            let Some(&wanted) = arcs.get(taken as usize) else { return false };
            // A path that has passed the tail of the next arc can no longer take this arc.
            if dag[wanted].tail >= after {
                next.push((number, taken));
            }
        }
        next.sort_unstable();
        true
    }
}
