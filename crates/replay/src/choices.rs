//! Searches for open values with which the interpreter reproduces the kernel's run. An open value
//! is a value that the interpreter cannot compute, such as the time. The search tries the most
//! promising combinations of values first.

use std::collections::{BTreeSet, BinaryHeap, HashSet};

use slowpath_bpf::MapKind;
use slowpath_exec::concrete::{ConcreteError, Run};

use crate::draws::{Choice, Drawn};
use crate::elements::Touched;
use crate::outcome::{Outcome, differing_outcome};
use crate::pair::{Pair, VALUE_SETS, hex, unusual_value};

/// Maximum number of combinations of open values (values that the interpreter cannot compute) that
/// are tried for one packet.
const MAX_CHOICES: usize = 3000;

/// Like [`MAX_CHOICES`], but for instrumented programs, which record their path.
const MAX_CHOICES_FOR_PATH: usize = 20_000;

/// Largest possible position of a map element in memory. An open value with this maximum stands for
/// a position. The search tries only the positions of initial elements for it.
const LAST_PLACE: u64 = (1 << 33) - 1;

/// Maximum size of an open value's range for which all values are tried: the difference between the
/// largest and the smallest value. An open value is a value that the interpreter cannot compute,
/// such as the time.
const SMALL_RANGE: u64 = 16;

/// A run of the interpreter that agrees with the kernel's run, and the open values that lead to it.
#[derive(Debug)]
pub struct Agreed {
    pub run: Run,
    pub choices: Vec<Choice>,
    pub touched: Vec<Touched>,
    /// True if some bytes depend on values that the interpreter cannot compute. These bytes are
    /// then valid only in the kernel's run.
    pub open_bytes: bool,
    /// True if clocks or random numbers affect the path: with other values of them, the interpreter
    /// took another path.
    pub open_path: bool,
}

/// Result of searching for a run of the interpreter that agrees with the kernel's run.
#[derive(Debug)]
pub enum Search {
    /// The run of the interpreter that agrees with the kernel's run.
    Agreed(Box<Agreed>),
    /// All tried runs differ from the kernel's run.
    Differs {
        /// Difference between the kernel's run and the first tried run.
        difference: String,
        /// Return value and packet of the first tried run; `None` if no run was tried.
        interpreter: Option<Outcome>,
        /// Reason why a run that was not tried might agree with the kernel's run. `None` if all
        /// possible runs were tried.
        undecided: Option<&'static str>,
    },
}

/// A combination of open values (values that the interpreter cannot compute) that remains to be
/// tried. The fields are: how promising it is, its rank among equally promising combinations, the
/// values, and the index of the value that was changed last.
type Pending = (usize, usize, Vec<u64>, Option<usize>);

impl Pair {
    /// Searches for a run of the interpreter that agrees with the kernel's run. Some bytes depend
    /// on open values, which the interpreter cannot compute. To find these bytes, compares each run
    /// with a second run on other open values. Bytes may be equal in both runs by chance, so the
    /// search is repeated with other sets of values.
    ///
    /// # Errors
    /// If the interpreter cannot complete a run.
    pub fn search(&mut self, kernel: &Outcome) -> Result<Search, ConcreteError> {
        let mut first = None;
        for set in 0..VALUE_SETS {
            let (found, open_bytes) = self.search_against(kernel, set)?;
            match found {
                Search::Differs { .. } if open_bytes => first.get_or_insert(found),
                _ => return Ok(found),
            };
        }
        first.map_or_else(|| self.search_against(kernel, 0).map(|(found, _)| found), Ok)
    }

    /// Searches for a run of the interpreter that agrees with the kernel's run. To find bytes that
    /// depend on open values, which the interpreter cannot compute, runs the program again with the
    /// values of set number `set`. The returned flag is true if there was any such second run.
    fn search_against(
        &mut self,
        kernel: &Outcome,
        set: usize,
    ) -> Result<(Search, bool), ConcreteError> {
        let mut any_open = false;
        let (mut first, mut seen) = (None, HashSet::new());
        let mut any_possible = false;
        // The most promising choice comes first. Among equally promising choices, the latest comes
        // first, or the earliest if the program records its path.
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
                // The choice belongs to another path.
                continue;
            }
            let common = choice.len().min(chosen.len());
            chosen[..common].copy_from_slice(&choice[..common]);
            if !self.unconfirmed_elements(&run.read).is_empty() {
                undecided = Some("an element may have been evicted");
            }
            let other = self.run_with_other_values(set, &run, &drawn, &chosen)?;
            let open_bytes = other.is_some();
            any_open |= open_bytes;
            let open_path = other.as_ref().is_some_and(|other| other.path != run.path);
            if open_path {
                undecided = Some("the path depends on a clock, a random number or the like");
            }
            let interpreter = self.outcome(&run);
            let alternative = other.as_ref().map(|other| self.outcome(other));
            let touched = self.touched(&run, other.as_ref());
            any_possible |= !run.impossible;
            let impossible = run.impossible.then(|| "no run of the kernel".to_owned());
            let differs = impossible
                .or_else(|| differing_outcome(kernel, &interpreter, alternative.as_ref()))
                .or_else(|| self.differing_elements(&touched, other.as_ref()))
                .or_else(|| self.differing_path(&run));
            let Some(difference) = differs else {
                let choices = self.choices(&drawn, &chosen);
                let agreed = Agreed { run, choices, touched, open_bytes, open_path };
                return Ok((Search::Agreed(Box::new(agreed)), any_open));
            };
            first.get_or_insert((difference, interpreter));
            let promise = if run.impossible { drawn.len() } else { self.common_results(&run) };
            for (at, value) in self.changes(&drawn, changed) {
                let mut next = chosen.clone();
                next[at] = value;
                if !drawn[at].is_wide() {
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
        if !any_possible {
            undecided = Some("none of the choices among open values gave a run that is possible");
        }
        let (difference, interpreter) = match first {
            Some((difference, interpreter)) => (difference, Some(interpreter)),
            None => ("no choice was tried".to_owned(), None),
        };
        Ok((Search::Differs { difference, interpreter, undecided }, any_open))
    }

    /// Runs the program again, with other values for those open values that have a large range.
    /// `set` is the number of the set of these values. Open values are values that the interpreter
    /// cannot compute. Returns `None` if the run uses no open values with a large range.
    fn run_with_other_values(
        &mut self,
        set: usize,
        run: &Run,
        drawn: &[Drawn],
        chosen: &[u64],
    ) -> Result<Option<Run>, ConcreteError> {
        let many = drawn.iter().any(Drawn::is_wide) || !self.open_inputs.is_empty();
        if !many || run.impossible {
            return Ok(None);
        }
        let changed = |(d, &value): (&Drawn, &u64)| match d.is_wide() {
            true => unusual_value(set, d.min, d.max),
            false => value,
        };
        let most: Vec<u64> = drawn.iter().zip(chosen).map(changed).collect();
        self.interpret(&most, Some(set)).map(Some)
    }

    /// Returns the changes to try next: each is the index of an open value and its new number.
    /// Values with small ranges and values with large ranges form two groups. In each group,
    /// changes only values after the index `changed`, because later values depend on earlier ones.
    fn changes(&self, drawn: &[Drawn], changed: Option<usize>) -> Vec<(usize, u64)> {
        let many = |&at: &usize| drawn[at].is_wide();
        let later = |at: &usize| match changed {
            None => true,
            Some(last) => *at > last || (many(at) && last < drawn.len() && !many(&last)),
        };
        let (wide, few): (Vec<usize>, Vec<usize>) = (0..drawn.len()).filter(later).partition(many);
        let mut order: Vec<usize> = few.into_iter().chain(wide).collect();
        if self.path_bytes() == 0 {
            order.reverse();
        }
        let values = |at: usize| match drawn[at].is_key {
            true => self.numbers_of_keys(),
            false => self.alternatives(&drawn[at]),
        };
        order.into_iter().flat_map(|at| values(at).into_iter().map(move |v| (at, v))).collect()
    }

    /// Returns the keys in the kernel's hash maps, as numbers. Keys of more than 8 bytes are left
    /// out.
    fn numbers_of_keys(&self) -> Vec<u64> {
        let maps = self.lifted.layout.maps.iter().filter_map(|map| self.loaded.map(&map.name));
        let tables = maps.filter(|map| map.definition().kind == MapKind::HASH);
        let keys = tables.flat_map(|map| map.keys().unwrap_or_default());
        let number =
            |key: Vec<u8>| key.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        keys.filter(|key| key.len() <= 8).map(number).collect()
    }

    /// Returns the numbers to try for an open value, which the interpreter cannot compute, such as
    /// a time. The smallest possible number is tried anyway and left out.
    fn alternatives(&self, drawn: &Drawn) -> Vec<u64> {
        let &Drawn { min, max, .. } = drawn;
        let many = drawn.has_large_range();
        if many && self.path_bytes() == 0 {
            return Vec::new();
        }
        if max - min <= SMALL_RANGE {
            return (min + 1..=max).rev().collect();
        }
        if max == LAST_PLACE {
            // Places of the initial elements, which come first.
            return (0..16).map(|number| (1 << 32) + number).collect();
        }
        let mut values: BTreeSet<u64> = BTreeSet::from([min + 1, max]);
        if max - min > 1 {
            // Results that the program recorded: numbers, or negated errors.
            for word in self.recorded().as_chunks::<8>().0 {
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

    /// Returns a function that reads a byte of the path record, given the byte's index. The record
    /// is that which `run` left in the interpreter's memory. Returns `None` if the program does not
    /// record its path.
    fn recorded_by(&self, run: &Run) -> Option<impl Fn(u64) -> u8> {
        let path_record = self.path_record.as_ref()?;
        let map = self.lifted.layout.maps.iter().find(|map| map.name == path_record.map)?;
        Some(move |at| self.byte(Some(run), (map.values, at)))
    }

    /// Describes how the path that the kernel recorded differs from the path of the interpreter's
    /// run. Returns `None` if they are equal or the program does not record its path.
    fn differing_path(&self, run: &Run) -> Option<String> {
        let interpreter: Vec<u8> = (0..self.path_bytes()).map(self.recorded_by(run)?).collect();
        let kernel = self.recorded();
        let kernel = kernel.get(..interpreter.len()).filter(|kernel| *kernel != interpreter)?;
        Some(format!("path {} in the kernel, {} here", hex(kernel), hex(&interpreter)))
    }

    /// Returns a measure of the agreement between two path records, that of the interpreter's run
    /// and that of the kernel. It is the number of equal bits at the start of the path, plus the
    /// number of equal bytes of results. Returns 0 for programs that do not record their path.
    fn common_results(&self, run: &Run) -> usize {
        let Some(interpreter) = self.recorded_by(run).filter(|_| self.path_bytes() > 0) else {
            return 0;
        };
        let kernel = self.recorded();
        let after_path = (0..).zip(&kernel).skip(self.path_bytes() as usize);
        let results = after_path.take_while(|&(at, byte)| interpreter(at) == *byte);
        let path = (0..).zip(&kernel).take(self.path_bytes() as usize);
        let mut path = path.map(|(at, byte)| interpreter(at) ^ byte);
        let first = path.find(|differing| *differing != 0);
        results.count() + first.map_or(8, |differing| differing.trailing_zeros()) as usize
    }
}
