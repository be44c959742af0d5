//! The search for a choice among open values that does what the kernel did: the most promising
//! choices come first.

use std::collections::{BTreeSet, BinaryHeap, HashSet};

use slowpath_bpf::MapKind;
use slowpath_exec::concrete::{ConcreteError, Run};

use crate::draws::{Choice, Drawn};
use crate::elements::Touched;
use crate::outcome::{Outcome, differing_outcome};
use crate::pair::{OTHERS, Pair, hex, other};

/// Choices among open values that are tried for one packet.
const MAX_CHOICES: usize = 3000;

/// The same where the program says which path it takes.
const MAX_CHOICES_FOR_PATH: usize = 20_000;

/// Greatest number of a place that an element of a map gets; elements have small numbers at the start.
const PLACES: u64 = (1 << 33) - 1;

/// Open values with no more possibilities than this beside the least stand for a choice: all are
/// tried.
const NAMED: u64 = 16;

/// A run that does what the kernel did.
#[derive(Debug)]
pub struct Agreed {
    pub run: Run,
    pub choices: Vec<Choice>,
    pub touched: Vec<Touched>,
    /// Whether bytes were left open, so that the kernel's count.
    pub open_bytes: bool,
    /// Whether the run would have gone another way with other open values.
    pub open_path: bool,
}

/// What became of the search.
#[derive(Debug)]
pub enum Search {
    /// There is such a run.
    Agreed(Box<Agreed>),
    /// There is none.
    Differs {
        /// How the first that was tried differs.
        difference: String,
        /// What that did.
        ours: Option<Outcome>,
        /// Why there may be one nevertheless.
        undecided: Option<&'static str>,
    },
}

/// A choice that waits: how promising it is, what comes first among those, the values, and which of
/// them was changed last.
type Pending = (usize, usize, Vec<u64>, Option<usize>);

impl Pair {
    /// Looks for a run that does what the kernel did. Bytes that depend on what is open differ from
    /// those of the same run with other open values: by chance one may not, and then further values
    /// are tried.
    ///
    /// # Errors
    /// Why the interpreter cannot complete a run.
    pub fn search(&mut self, theirs: &Outcome) -> Result<Search, ConcreteError> {
        let mut first = None;
        for which in 0..OTHERS {
            let (found, open_bytes) = self.search_against(theirs, which)?;
            match found {
                Search::Differs { .. } if open_bytes => first.get_or_insert(found),
                _ => return Ok(found),
            };
        }
        first.map_or_else(|| self.search_against(theirs, 0).map(|(found, _)| found), Ok)
    }

    /// The same for one kind of other open values; whether there were any.
    fn search_against(
        &mut self,
        theirs: &Outcome,
        which: usize,
    ) -> Result<(Search, bool), ConcreteError> {
        let mut any_open = false;
        let (mut first, mut seen) = (None, HashSet::new());
        // The most promising choice comes first; among those the last or, with a path, the first.
        let mut pending: BinaryHeap<Pending> = BinaryHeap::from([(0, 0, Vec::new(), None)]);
        let telling = self.path_bytes() > 0;
        let most = if telling { MAX_CHOICES_FOR_PATH } else { MAX_CHOICES };
        let mut undecided = None;
        for _ in 0..most {
            let Some((_, _, choice, changed)) = pending.pop() else { break };
            let run = self.interpret(&choice, None)?;
            let drawn = self.drawn(&run);
            let mut chosen: Vec<u64> = drawn.iter().map(|drawn| drawn.min).collect();
            let fits = |(d, value): (&Drawn, &u64)| (d.min..=d.max).contains(value);
            if !drawn.iter().zip(&choice).all(fits) {
                // Chosen for another path.
                continue;
            }
            let common = choice.len().min(chosen.len());
            chosen[..common].copy_from_slice(&choice[..common]);
            if !self.believed(&run.read).is_empty() {
                undecided = Some("an element may have been evicted");
            }
            let other = self.otherwise(which, &run, &drawn, &chosen)?;
            let open_bytes = other.is_some();
            any_open |= open_bytes;
            let open_path = other.as_ref().is_some_and(|other| other.path != run.path);
            if open_path {
                undecided = Some("the path depends on a clock, a random number or the like");
            }
            let ours = self.outcome(&run);
            let or = other.as_ref().map(|other| self.outcome(other));
            let touched = self.touched(&run, other.as_ref());
            let impossible = run.impossible.then(|| "no run of the kernel".to_owned());
            let differs = impossible
                .or_else(|| differing_outcome(theirs, &ours, or.as_ref()))
                .or_else(|| self.differing_elements(&touched, other.as_ref()))
                .or_else(|| self.differing_path(&run));
            let Some(difference) = differs else {
                let choices = self.choices(&drawn, &chosen);
                let agreed = Agreed { run, choices, touched, open_bytes, open_path };
                return Ok((Search::Agreed(Box::new(agreed)), any_open));
            };
            first.get_or_insert((difference, ours));
            let promise = if run.impossible { drawn.len() } else { self.common_results(&run) };
            for (at, value) in self.changes(&drawn, changed) {
                let mut next = chosen.clone();
                next[at] = value;
                if !drawn[at].wide() {
                    next.truncate(at + 1);
                }
                if pending.len() >= most {
                    undecided = Some("not all choices among open values were tried");
                } else if seen.insert(next.clone()) {
                    let tried = seen.len();
                    let order = if telling { usize::MAX - tried } else { tried };
                    pending.push((promise, order, next, Some(at)));
                }
            }
        }
        if !pending.is_empty() {
            undecided = Some("not all choices among open values were tried");
        }
        let (difference, ours) = match first {
            Some((difference, ours)) => (difference, Some(ours)),
            None => ("no choice was tried".to_owned(), None),
        };
        Ok((Search::Differs { difference, ours, undecided }, any_open))
    }

    /// The same run with other values where there are many possibilities, if there are such.
    fn otherwise(
        &mut self,
        which: usize,
        run: &Run,
        drawn: &[Drawn],
        chosen: &[u64],
    ) -> Result<Option<Run>, ConcreteError> {
        let many = drawn.iter().any(Drawn::wide) || !self.others.is_empty();
        if !many || run.impossible {
            return Ok(None);
        }
        let changed = |(d, &value): (&Drawn, &u64)| match d.wide() {
            true => other(which, d.min, d.max),
            false => value,
        };
        let most: Vec<u64> = drawn.iter().zip(chosen).map(changed).collect();
        self.interpret(&most, Some(which)).map(Some)
    }

    /// What to try next: which value, and what for. Those of few possibilities come first, and behind
    /// them those of many; of either kind, what comes later depends on what comes before.
    fn changes(&self, drawn: &[Drawn], changed: Option<usize>) -> Vec<(usize, u64)> {
        let many = |&at: &usize| drawn[at].wide();
        let later = |at: &usize| match changed {
            None => true,
            Some(last) => *at > last || (many(at) && last < drawn.len() && !many(&last)),
        };
        let (wide, few): (Vec<usize>, Vec<usize>) = (0..drawn.len()).filter(later).partition(many);
        let mut order: Vec<usize> = few.into_iter().chain(wide).collect();
        if self.path_bytes() == 0 {
            order.reverse();
        }
        let values = |at: usize| match drawn[at].key {
            true => self.numbers_of_keys(),
            false => self.alternatives(&drawn[at]),
        };
        order.into_iter().flat_map(|at| values(at).into_iter().map(move |v| (at, v))).collect()
    }

    /// The keys in the kernel's maps that are numbers.
    fn numbers_of_keys(&self) -> Vec<u64> {
        let maps = self.lifted.layout.maps.iter().filter_map(|map| self.loaded.map(&map.name));
        let tables = maps.filter(|map| map.definition().kind == MapKind::HASH);
        let keys = tables.flat_map(|map| map.keys().unwrap_or_default());
        let number =
            |key: Vec<u8>| key.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        keys.filter(|key| key.len() <= 8).map(number).collect()
    }

    /// Values other than the least that are worth trying for an open value.
    fn alternatives(&self, drawn: &Drawn) -> Vec<u64> {
        let &Drawn { min, max, .. } = drawn;
        let many = drawn.many();
        if many && self.path_bytes() == 0 {
            return Vec::new();
        }
        if max - min <= NAMED {
            return (min + 1..=max).rev().collect();
        }
        if max == PLACES {
            // Those of elements that had small numbers at the start.
            return (0..16).map(|number| (1 << 32) + number).collect();
        }
        let mut values: BTreeSet<u64> = BTreeSet::from([min + 1, max]);
        if max - min > 1 {
            // Results that the program kept: numbers, or errors.
            for word in self.told().as_chunks::<8>().0 {
                let word = u64::from_le_bytes(*word);
                values.extend([word, word.wrapping_neg()]);
                if many {
                    // It may have kept a part.
                    values.extend([8, 16, 32, 40, 48, 56].map(|bits| word << bits));
                }
            }
        }
        values.into_iter().filter(|value| (min + 1..=max).contains(value)).collect()
    }

    /// What the program kept of its way in a run.
    fn told_here(&self, run: &Run) -> Option<impl Fn(u64) -> u8> {
        let telling = self.telling.as_ref()?;
        let map = self.lifted.layout.maps.iter().find(|map| map.name == telling.map)?;
        Some(move |at| self.byte(Some(run), (map.values, at)))
    }

    /// Whether a run took another path than the kernel's.
    fn differing_path(&self, run: &Run) -> Option<String> {
        let ours: Vec<u8> = (0..self.path_bytes()).map(self.told_here(run)?).collect();
        let theirs = self.told();
        let theirs = theirs.get(..ours.len()).filter(|theirs| *theirs != ours)?;
        Some(format!("path {} in the kernel, {} here", hex(theirs), hex(&ours)))
    }

    /// How far a run went as the kernel's did, where the program says which way it goes: bits of its
    /// path and bytes of the results behind it.
    fn common_results(&self, run: &Run) -> usize {
        let Some(ours) = self.told_here(run).filter(|_| self.path_bytes() > 0) else { return 0 };
        let theirs = self.told();
        let behind = (0..).zip(&theirs).skip(self.path_bytes() as usize);
        let results = behind.take_while(|&(at, byte)| ours(at) == *byte);
        let path = (0..).zip(&theirs).take(self.path_bytes() as usize);
        let mut path = path.map(|(at, byte)| ours(at) ^ byte);
        let first = path.find(|differing| *differing != 0);
        results.count() + first.map_or(8, |differing| differing.trailing_zeros()) as usize
    }
}
