//! A set-associative cache with least-recently-used replacement.

/// A cache line that was evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Victim {
    pub line: u32,
    /// True if the line was modified.
    pub dirty: bool,
}

/// A cache of numbered lines. Consecutive lines are in consecutive sets. Each block of as many
/// lines as there are sets begins in another set than the previous block, so that lines at equal
/// distances do not collide.
#[derive(Debug, Clone)]
pub struct Cache {
    sets: u32,
    ways: usize,
    /// Lines of each set, most recently used first. The lowest bit is the dirty bit, the other bits
    /// are the number of the line.
    lines: Vec<u64>,
}

const NONE: u64 = u64::MAX;
const TURN: u32 = 61;

impl Cache {
    /// Creates an empty cache with at least one set and one way.
    pub fn new(sets: u32, ways: usize) -> Self {
        let (sets, ways) = (sets.max(1), ways.max(1));
        Cache { sets, ways, lines: vec![NONE; sets as usize * ways] }
    }

    pub fn set_of(&self, line: u32) -> u32 {
        let (row, column) = (line / self.sets, line % self.sets);
        (column + (row % self.sets) * (TURN % self.sets) % self.sets) % self.sets
    }

    fn ways_of(&mut self, line: u32) -> &mut [u64] {
        let first = self.set_of(line) as usize * self.ways;
        &mut self.lines[first..first + self.ways]
    }

    /// Looks up a line. On a hit, marks the line as most recently used and, if `written`, as dirty,
    /// and returns true.
    pub fn touch(&mut self, line: u32, written: bool) -> bool {
        let ways = self.ways_of(line);
        let wanted = u64::from(line) << 1;
        let Some(at) = ways.iter().position(|way| way & !1 == wanted) else {
            return false;
        };
        let found = ways[at] | u64::from(written);
        ways.copy_within(..at, 1);
        ways[0] = found;
        true
    }

    /// Inserts a missing line as the most recently used line. Returns the evicted line, if any.
    pub fn insert(&mut self, line: u32, dirty: bool) -> Option<Victim> {
        let ways = self.ways_of(line);
        let last = ways.len() - 1;
        let gone = ways[last];
        ways.copy_within(..last, 1);
        ways[0] = u64::from(line) << 1 | u64::from(dirty);
        (gone != NONE).then_some(Victim { line: (gone >> 1) as u32, dirty: gone & 1 == 1 })
    }

    /// Removes a line from the cache without writing it back.
    pub fn invalidate(&mut self, line: u32) {
        let ways = self.ways_of(line);
        let wanted = u64::from(line) << 1;
        if let Some(at) = ways.iter().position(|way| way & !1 == wanted) {
            ways.copy_within(at + 1.., at);
            let last = ways.len() - 1;
            ways[last] = NONE;
        }
    }

    /// Returns the numbers of all cached lines.
    pub fn occupants(&self) -> impl Iterator<Item = u32> {
        self.lines.iter().filter(|way| **way != NONE).map(|way| (way >> 1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::{Cache, Victim};

    /// A simple implementation of least-recently-used replacement: a list for each set.
    struct Reference {
        ways: usize,
        sets: Vec<VecDeque<(u32, bool)>>,
    }

    impl Reference {
        fn access(&mut self, set: u32, line: u32, written: bool) -> (bool, Option<Victim>) {
            let list = &mut self.sets[set as usize];
            if let Some(at) = list.iter().position(|one| one.0 == line) {
                let (_, dirty) = list.remove(at).expect("it was found");
                list.push_front((line, dirty || written));
                return (true, None);
            }
            list.push_front((line, written));
            let gone = if list.len() > self.ways { list.pop_back() } else { None };
            (false, gone.map(|(line, dirty)| Victim { line, dirty }))
        }
    }

    proptest! {
        #[test]
        fn the_least_recently_used_line_goes(
            (sets, ways) in (1_u32..20, 1_usize..9),
            accesses in prop::collection::vec((0_u32..200, any::<bool>(), 0_u8..10), 1..400),
        ) {
            let mut cache = Cache::new(sets, ways);
            let empty = vec![VecDeque::new(); sets as usize];
            let mut reference = Reference { ways, sets: empty };
            for (line, written, kind) in accesses {
                let set = cache.set_of(line);
                if kind == 0 {
                    cache.invalidate(line);
                    reference.sets[set as usize].retain(|one| one.0 != line);
                    continue;
                }
                let hit = cache.touch(line, written);
                let gone = if hit { None } else { cache.insert(line, written) };
                prop_assert_eq!((hit, gone), reference.access(set, line, written));
            }
            let mut kept: Vec<_> = cache.occupants().collect();
            let mut wanted: Vec<_> = reference.sets.iter().flatten().map(|one| one.0).collect();
            kept.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(kept, wanted);
        }

        #[test]
        fn rows_of_lines_fill_all_sets(sets in 1_u32..5000, row in 0_u32..1000) {
            let cache = Cache::new(sets, 1);
            let mut met = vec![false; sets as usize];
            for line in row * sets..(row + 1) * sets {
                let set = cache.set_of(line) as usize;
                prop_assert!(!std::mem::replace(&mut met[set], true));
            }
        }
    }
}
