//! Assigns unique numbers to pairs of values (interning) during one concrete run.

use super::environment::Environment;
use std::collections::{HashMap, HashSet};

/// The numbers of interned pairs of values: those of pairs in the environment, and new ones.
pub(super) struct Numbers<'a> {
    given: &'a HashMap<(u64, u64), u32>,
    /// Numbers that pairs in the environment have, so that no new pair may get them. Empty if all
    /// numbers in the environment are below `next`.
    taken: HashSet<u32>,
    /// All pairs interned so far.
    pub(super) of: HashMap<(u64, u64), u32>,
    next: u32,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(environment: &'a Environment) -> Self {
        let given = &environment.interned;
        let (taken, next) = match environment.unnumbered {
            Some(next) => (HashSet::new(), next),
            None => (given.values().copied().collect(), 0),
        };
        Numbers { given, taken, of: HashMap::new(), next }
    }

    /// Returns the number of a pair of values. Assigns an unused number to a new pair.
    pub(super) fn number(&mut self, pair: (u64, u64)) -> u32 {
        if let Some(&number) = self.of.get(&pair).or_else(|| self.given.get(&pair)) {
            self.of.insert(pair, number);
            return number;
        }
        while !self.taken.insert(self.next) {
            self.next = self.next.wrapping_add(1);
        }
        self.of.insert(pair, self.next);
        self.next
    }
}
