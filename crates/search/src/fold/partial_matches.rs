//! Partial matches: which nogoods a path contains the first arcs of, and how many of them. Small
//! sets, each stored once.

use crate::dag::Dag;
use rustc_hash::FxHashMap;
use slowpath_exec::{ArcId, NodeId};
use std::rc::Rc;

/// Nogoods that are partly matched, ascending by number, with how many of their arcs have been
/// taken.
pub(super) type PartialMatches = [(u32, u32)];

/// The number of a set.
pub(super) type MatchesId = u32;

/// The set without any nogood.
pub(super) const NO_MATCHES: MatchesId = 0;

/// The sets that some state has.
#[derive(Debug)]
pub(super) struct MatchSets {
    /// Each with the number of states that have it.
    all: Vec<(Rc<PartialMatches>, u32)>,
    numbers: FxHashMap<Rc<PartialMatches>, MatchesId>,
    /// Numbers that no state has any more.
    free: Vec<MatchesId>,
}

impl MatchSets {
    /// The empty one.
    pub fn new() -> Self {
        let mut sets =
            MatchSets { all: Vec::new(), numbers: FxHashMap::default(), free: Vec::new() };
        let nothing = sets.number(&[]);
        sets.acquire(nothing);
        sets
    }

    /// A set by its number.
    pub fn get(&self, set: MatchesId) -> Rc<PartialMatches> {
        Rc::clone(&self.all[set as usize].0)
    }

    /// The number of a set; good for as long as some state has it.
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

    /// A state more has a set.
    pub fn acquire(&mut self, set: MatchesId) {
        self.all[set as usize].1 += 1;
    }

    /// A state less has a set.
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

/// The nogoods, as patterns that paths are matched against.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    /// The arcs of each, in the order in which paths take them.
    arcs: Vec<Vec<ArcId>>,
    /// Nogoods by their first arc.
    starting: FxHashMap<ArcId, Vec<u32>>,
}

impl Patterns {
    /// Adds a nogood of at least one arc.
    pub fn push(&mut self, arcs: Vec<ArcId>) {
        self.starting.entry(arcs[0]).or_default().push(self.arcs.len() as u32);
        self.arcs.push(arcs);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.arcs.len()
    }

    /// Takes all nogoods but the first so many away again.
    pub fn truncate(&mut self, len: usize) {
        for arcs in self.arcs.drain(len..).rev() {
            if let Some(starting) = self.starting.get_mut(&arcs[0]) {
                starting.pop();
            }
        }
    }

    /// Puts into `next` what is partly matched behind an arc that leads to the node `after`.
    /// Returns false if the arc completes a nogood.
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
            // A path that has passed by an arc will not take it.
            if dag[wanted].tail >= after {
                next.push((number, taken));
            }
        }
        next.sort_unstable();
        true
    }
}
