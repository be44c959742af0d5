//! Partial matches: the nogoods that a path has begun, each with the number of arcs taken so far.
//! Each set of partial matches is stored only once.

use crate::dag::Dag;
use rustc_hash::FxHashMap;
use slowpath_exec::{ArcId, NodeId};
use std::rc::Rc;

/// The nogoods that a path has begun, in ascending order. Each pair contains the nogood's number
/// and the number of its arcs that the path has taken.
pub(super) type PartialMatches = [(u32, u32)];

/// Identifier of a set of partial matches.
pub(super) type MatchesId = u32;

/// Identifier of the empty set.
pub(super) const NO_MATCHES: MatchesId = 0;

/// All sets of partial matches in use.
#[derive(Debug)]
pub(super) struct MatchSets {
    /// Each set, with the number of states that use it.
    all: Vec<(Rc<PartialMatches>, u32)>,
    numbers: FxHashMap<Rc<PartialMatches>, MatchesId>,
    /// Numbers that can be reused.
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

    /// Returns a set by its number.
    pub fn get(&self, set: MatchesId) -> Rc<PartialMatches> {
        Rc::clone(&self.all[set as usize].0)
    }

    /// Returns the number of a set, which is valid while some state uses the set.
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

    /// Counts one more use of a set.
    pub fn acquire(&mut self, set: MatchesId) {
        self.all[set as usize].1 += 1;
    }

    /// Removes one use of a set, and frees the set if no use is left.
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

/// The nogoods, in a form suited to matching paths against them.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    /// Arcs of each nogood, in the order in which paths take them.
    arcs: Vec<Vec<ArcId>>,
    /// For each arc, the nogoods that begin with it.
    starting: FxHashMap<ArcId, Vec<u32>>,
}

impl Patterns {
    /// Adds a nogood with at least one arc.
    pub fn push(&mut self, arcs: Vec<ArcId>) {
        self.starting.entry(arcs[0]).or_default().push(self.arcs.len() as u32);
        self.arcs.push(arcs);
    }

    /// Returns the number of nogoods.
    pub fn len(&self) -> usize {
        self.arcs.len()
    }

    /// Removes all but the first `len` nogoods.
    pub fn truncate(&mut self, len: usize) {
        for arcs in self.arcs.drain(len..).rev() {
            if let Some(starting) = self.starting.get_mut(&arcs[0]) {
                starting.pop();
            }
        }
    }

    /// Computes the partial matches after a path takes an arc to the node `after`, and writes them
    /// to `next`. Returns false if the arc completes a nogood.
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
