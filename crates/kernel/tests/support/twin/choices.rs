//! What is open in a run, and the search for a choice that does what the kernel did: the most promising
//! choices come first.

use std::collections::{BTreeSet, BinaryHeap, HashSet};

use slowpath_bpf::MapKind;
use slowpath_exec::concrete::Run;
use slowpath_ir::Op;

use super::outcome::{Outcome, differing_outcome};
use super::{FEW, Twin, hex, other};

/// Choices among open values that are tried for one packet.
const MAX_CHOICES: usize = 3000;

/// The same where the program says which path it takes.
const MAX_CHOICES_FOR_PATH: usize = 20_000;

/// Greatest number of a place that an element of a map gets; elements have small numbers at the start.
const PLACES: u64 = (1 << 33) - 1;

/// Open values with no more possibilities than this beside the least stand for a choice: all are
/// tried.
const NAMED: u64 = 16;

impl Twin {
    /// Runs a packet through both.
    ///
    /// # Errors
    /// How they differ, for the choice of open values that comes first.
    pub fn compare(&mut self, packet: &[u8]) -> Result<Run, String> {
        self.set_packet(packet);
        self.prepare()?;
        let theirs = self.loaded.run(packet, 1).map_err(|e| e.to_string())?;
        let theirs = Outcome {
            action: theirs.return_value,
            packet: theirs.packet,
            metadata: theirs.metadata,
        };
        let (mut first, mut seen) = (None, HashSet::new());
        // The most promising choice comes first; among those the last or, with a path, the first.
        let mut pending = BinaryHeap::from([(0, 0, Vec::new(), None)]);
        let most = if self.path_bytes > 0 { MAX_CHOICES_FOR_PATH } else { MAX_CHOICES };
        self.undecided = false;
        for _ in 0..most {
            let Some((_, _, choice, changed)) = pending.pop() else { break };
            let (ours, run) = self.interpret(&choice, false)?;
            let drawn = self.drawn(&run);
            let mut chosen: Vec<u64> = drawn.iter().map(|&(min, _)| min).collect();
            let fits = |(&(min, max), value): (&(u64, u64), &u64)| (min..=max).contains(value);
            if !drawn.iter().zip(&choice).all(fits) {
                // Chosen for another path.
                continue;
            }
            let common = choice.len().min(chosen.len());
            chosen[..common].copy_from_slice(&choice[..common]);
            let keys = self.drawn_keys(&run);
            let wide = |at: usize| drawn[at].1 - drawn[at].0 > FEW && !keys[at];
            let many = (0..drawn.len()).any(wide) || !self.others.is_empty();
            let other = if many && !run.impossible {
                let most = (0..drawn.len()).map(|at| match wide(at) {
                    true => other(drawn[at].0, drawn[at].1),
                    false => chosen[at],
                });
                let most: Vec<u64> = most.collect();
                Some(self.interpret(&most, true)?)
            } else {
                None
            };
            let impossible = run.impossible.then(|| "no run of the kernel".to_owned());
            let differs = impossible
                .or_else(|| differing_outcome(&theirs, &ours, other.as_ref().map(|(o, _)| o)))
                .or_else(|| self.differing_elements(&run, other.as_ref().map(|(_, run)| run)))
                .or_else(|| self.differing_path(&run));
            let Some(differs) = differs else {
                self.commit(&run, other.as_ref().map(|(_, run)| run));
                return Ok(run);
            };
            first.get_or_insert(differs);
            let promise = if run.impossible { drawn.len() } else { self.common_results(&run) };
            // Those of few possibilities come first, and behind them those of many; of either kind,
            // what comes later depends on what comes before.
            let many = |&at: &usize| wide(at);
            let later = |at: &usize| match changed {
                None => true,
                Some(last) => *at > last || (many(at) && last < drawn.len() && !many(&last)),
            };
            let (many, few): (Vec<usize>, Vec<usize>) =
                (0..drawn.len()).filter(later).partition(many);
            let mut order: Vec<usize> = few.iter().chain(&many).copied().collect();
            if self.path_bytes == 0 {
                order.reverse();
            }
            for at in order {
                let alternatives = match keys[at] {
                    true => self.numbers(),
                    false => self.alternatives(drawn[at].0, drawn[at].1),
                };
                for value in alternatives {
                    let mut next = chosen.clone();
                    next[at] = value;
                    if few.contains(&at) {
                        next.truncate(at + 1);
                    }
                    if pending.len() >= most {
                        self.undecided = true;
                    } else if seen.insert(next.clone()) {
                        let tried = seen.len();
                        let order = if self.path_bytes > 0 { usize::MAX - tried } else { tried };
                        pending.push((promise, order, next, Some(at)));
                    }
                }
            }
        }
        self.undecided |= !pending.is_empty();
        Err(first.unwrap_or_else(|| "no choice was tried".to_owned()))
    }

    /// The least and greatest of the open values that a run met, in order.
    fn drawn(&self, run: &Run) -> Vec<(u64, u64)> {
        if run.unknowns == 0 {
            return Vec::new();
        }
        let blocks = run.path.iter().map(|taken| self.lifted.program.block(taken.block));
        let ops = self.lifted.program.prologue.iter().chain(blocks.flat_map(|block| &block.ops));
        let range = |op: Op| match op {
            Op::Unknown { min, max, .. } => Some((min, max)),
            _ => None,
        };
        ops.filter_map(|origin| range(origin.op)).collect()
    }

    /// Which of them are keys of elements that the kernel goes through.
    fn drawn_keys(&self, run: &Run) -> Vec<bool> {
        let program = &self.lifted.program;
        let blocks = run.path.iter().map(|taken| program.block(taken.block));
        let ops = program.prologue.iter().chain(blocks.flat_map(|block| &block.ops));
        let key = |op: Op| match op {
            Op::Unknown { draw, .. } => {
                Some(program.draws[draw.index()].result == "the element's key")
            }
            _ => None,
        };
        ops.filter_map(|origin| key(origin.op)).collect()
    }

    /// The keys in the kernel's maps that are numbers.
    fn numbers(&self) -> Vec<u64> {
        let maps = self.lifted.layout.maps.iter().filter_map(|map| self.loaded.map(&map.name));
        let tables = maps.filter(|map| map.definition().kind == MapKind::HASH);
        let keys = tables.flat_map(|map| map.keys().unwrap_or_default());
        let number =
            |key: Vec<u8>| key.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        keys.filter(|key| key.len() <= 8).map(number).collect()
    }

    /// Values other than the least that are worth trying for an open value.
    fn alternatives(&self, min: u64, max: u64) -> Vec<u64> {
        let many = max - min > FEW;
        if many && self.path_bytes == 0 {
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
            for word in self.output().as_chunks::<8>().0 {
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

    /// What the program kept, in the kernel.
    fn output(&self) -> Vec<u8> {
        let out = self.loaded.map("out").and_then(|out| out.lookup(&[0; 4]).ok().flatten());
        out.unwrap_or_default()
    }

    /// Whether a run took another path than the kernel's.
    fn differing_path(&self, run: &Run) -> Option<String> {
        let out = self.lifted.layout.maps.iter().find(|map| map.name == "out")?;
        let ours: Vec<u8> =
            (0..self.path_bytes).map(|at| self.byte(run, (out.values, at))).collect();
        let theirs = self.output();
        let theirs = theirs.get(..ours.len()).filter(|theirs| *theirs != ours)?;
        Some(format!("path {} in the kernel, {} here", hex(theirs), hex(&ours)))
    }

    /// How far a run went as the kernel's did, where the program says which way it goes: bits of its
    /// path and bytes of the results behind it.
    fn common_results(&self, run: &Run) -> usize {
        let out = self.lifted.layout.maps.iter().find(|map| map.name == "out");
        let Some(out) = out.filter(|_| self.path_bytes > 0) else { return 0 };
        let theirs = self.output();
        let behind = (0..).zip(&theirs).skip(self.path_bytes as usize);
        let results = behind.take_while(|&(at, byte)| self.byte(run, (out.values, at)) == *byte);
        let path = (0..).zip(&theirs).take(self.path_bytes as usize);
        let mut path = path.map(|(at, byte)| self.byte(run, (out.values, at)) ^ byte);
        let first = path.find(|differing| *differing != 0);
        results.count() + first.map_or(8, |differing| differing.trailing_zeros()) as usize
    }
}
