//! Search for open values that reproduce the kernel's run, most promising choices first.

use std::collections::{BTreeSet, BinaryHeap, HashSet};

use slowpath_bpf::MapKind;
use slowpath_exec::concrete::{ConcreteError, Run};

use crate::draws::{Choice, Drawn};
use crate::elements::Touched;
use crate::outcome::{Outcome, differing_outcome};
use crate::pair::{OTHERS, Pair, hex, other};

/// Most choices of open values that are tried for one packet.
const MAX_CHOICES: usize = 3000;

/// The same limit for programs that record their path.
const MAX_CHOICES_FOR_PATH: usize = 20_000;

/// Largest number of a place that an element of a map may get; initial elements have small numbers.
const PLACES: u64 = (1 << 33) - 1;

/// Largest range of open values that are all tried.
const NAMED: u64 = 16;

/// A run of the interpreter that agrees with the kernel's.
#[derive(Debug)]
pub struct Agreed {
    pub run: Run,
    pub choices: Vec<Choice>,
    pub touched: Vec<Touched>,
    /// True if some bytes depend on open values, so that the kernel's bytes are taken.
    pub open_bytes: bool,
    /// True if other open values would have led to another path.
    pub open_path: bool,
}

/// Result of the search.
#[derive(Debug)]
pub enum Search {
    /// A run agrees with the kernel's.
    Agreed(Box<Agreed>),
    /// No tried run agrees.
    Differs {
        /// Difference of the first tried run.
        difference: String,
        /// Outcome of the first tried run.
        ours: Option<Outcome>,
        /// Reason why an untried run might agree, if any.
        undecided: Option<&'static str>,
    },
}

/// A choice to be tried: its promise, its rank among equally promising ones, its values, and the
/// index of the value that was changed last.
type Pending = (usize, usize, Vec<u64>, Option<usize>);

impl Pair {
    /// Looks for a run that agrees with the kernel's. To find bytes that depend on open values,
    /// each run is compared with the same run under other open values. A byte may be equal in both
    /// by chance; then further values are tried.
    ///
    /// # Errors
    /// If the interpreter cannot complete a run.
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

    /// Searches with one set of other open values. Also returns whether there were open bytes.
    fn search_against(
        &mut self,
        theirs: &Outcome,
        which: usize,
    ) -> Result<(Search, bool), ConcreteError> {
        let mut any_open = false;
        let (mut first, mut seen) = (None, HashSet::new());
        // Order: promise first; among equal ones the latest, or the earliest if the program records
        // its path.
        let mut pending: BinaryHeap<Pending> = BinaryHeap::from([(0, 0, Vec::new(), None)]);
        let path_record = self.path_bytes() > 0;
        let most = if path_record { MAX_CHOICES_FOR_PATH } else { MAX_CHOICES };
        let mut undecided = None;
        for _ in 0..most {
            let Some((_, _, choice, changed)) = pending.pop() else { break };
            let run = self.interpret(&choice, None)?;
            let drawn = self.drawn(&run);
            let mut chosen: Vec<u64> = drawn.iter().map(|drawn| drawn.min).collect();
            let fits = |(d, value): (&Drawn, &u64)| (d.min..=d.max).contains(value);
            if !drawn.iter().zip(&choice).all(fits) {
                // The choice was made for another path.
                continue;
            }
            let common = choice.len().min(chosen.len());
            chosen[..common].copy_from_slice(&choice[..common]);
            if !self.unconfirmed_elements(&run.read).is_empty() {
                undecided = Some("an element may have been evicted");
            }
            let other = self.run_with_other_values(which, &run, &drawn, &chosen)?;
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
                    let order = if path_record { usize::MAX - tried } else { tried };
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

    /// Runs the same choice with other values of large ranges; `None` if there are no such values.
    fn run_with_other_values(
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

    /// Returns the next changes to try, as index and value. Values with few possibilities come
    /// before those with many. Within each kind, only values after the last changed one are
    /// changed, because later values depend on earlier ones.
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

    /// Returns the keys in the kernel's hash maps that are at most 8 bytes long, as numbers.
    fn numbers_of_keys(&self) -> Vec<u64> {
        let maps = self.lifted.layout.maps.iter().filter_map(|map| self.loaded.map(&map.name));
        let tables = maps.filter(|map| map.definition().kind == MapKind::HASH);
        let keys = tables.flat_map(|map| map.keys().unwrap_or_default());
        let number =
            |key: Vec<u8>| key.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        keys.filter(|key| key.len() <= 8).map(number).collect()
    }

    /// Returns the values to try for an open value, besides the smallest.
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
            // Places of the initial elements, which have small numbers.
            return (0..16).map(|number| (1 << 32) + number).collect();
        }
        let mut values: BTreeSet<u64> = BTreeSet::from([min + 1, max]);
        if max - min > 1 {
            // Results that the program recorded: numbers, or negated errors.
            for word in self.told().as_chunks::<8>().0 {
                let word = u64::from_le_bytes(*word);
                values.extend([word, word.wrapping_neg()]);
                if many {
                    // The program may have recorded only a part of the value.
                    values.extend([8, 16, 32, 40, 48, 56].map(|bits| word << bits));
                }
            }
        }
        values.into_iter().filter(|value| (min + 1..=max).contains(value)).collect()
    }

    /// Returns access to the path record that a run of the interpreter left.
    fn told_here(&self, run: &Run) -> Option<impl Fn(u64) -> u8> {
        let path_record = self.path_record.as_ref()?;
        let map = self.lifted.layout.maps.iter().find(|map| map.name == path_record.map)?;
        Some(move |at| self.byte(Some(run), (map.values, at)))
    }

    /// Describes the difference if a run took another path than the kernel's.
    fn differing_path(&self, run: &Run) -> Option<String> {
        let ours: Vec<u8> = (0..self.path_bytes()).map(self.told_here(run)?).collect();
        let theirs = self.told();
        let theirs = theirs.get(..ours.len()).filter(|theirs| *theirs != ours)?;
        Some(format!("path {} in the kernel, {} here", hex(theirs), hex(&ours)))
    }

    /// Returns how far the path record of a run agrees with the kernel's: in bits of the path and
    /// bytes of the results after it. 0 for programs without a record.
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
