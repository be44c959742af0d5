//! Counts the packets of a trace by their paths.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use slowpath_capture::Format;
use slowpath_replay::{Disagreement, PathId, Step};

use super::report::{TraceFault, TracePath, TraceReport};
use super::samples::{Example, Samples};

/// Counts of the packets that were read from a capture file, by their paths.
#[derive(Debug, Default)]
pub struct Tally {
    packets: u64,
    truncated: u64,
    uncertain: u64,
    converted: TraceFault,
    refused: TraceFault,
    undecided: TraceFault,
    disagreements: TraceFault,
    paths: Vec<PathCount>,
    numbers: HashMap<PathId, usize>,
    /// Index of the path with the most instructions.
    slowest: Option<usize>,
    samples: Samples,
    taken: Vec<Option<u32>>,
}

/// A path with the number of packets that took it, both in total and for each return value.
#[derive(Debug)]
struct PathCount {
    path: PathId,
    packets: u64,
    instructions: u64,
    first: u64,
    actions: BTreeMap<u32, u64>,
}

impl TraceFault {
    fn add(&mut self, packet: u64, what: String, report: Option<String>) {
        self.packets += 1;
        if self.first.is_none() {
            *self = TraceFault { first: Some(packet), what: Some(what), report, ..self.clone() };
        }
    }
}

impl Tally {
    /// Counts a packet that was read from the file. `truncated` is true if it was captured only in
    /// part. `converted` is its original link type if it was converted to an Ethernet frame.
    pub fn count_packet(&mut self, truncated: bool, converted: Option<&str>) {
        self.packets += 1;
        self.truncated += u64::from(truncated);
        self.taken.push(None);
        if let Some(link) = converted {
            self.converted.add(self.packets, link.to_owned(), None);
        }
    }

    /// Counts the most recent packet as refused: the kernel cannot run the program on it.
    pub fn count_refused(&mut self, reason: String) {
        self.refused.add(self.packets, reason, None);
    }

    /// Counts the most recent packet as undecided: it is unknown if kernel and interpreter agree.
    pub fn count_undecided(&mut self, reason: String) {
        self.undecided.add(self.packets, reason, None);
    }

    /// Counts the most recent packet as a disagreement: kernel and interpreter give different
    /// results.
    pub fn count_disagreement(&mut self, disagreement: &Disagreement) {
        let report = Some(disagreement.report());
        self.disagreements.add(self.packets, disagreement.to_string(), report);
    }

    /// Returns true if the most recent packet should be kept as the example of its path.
    pub fn needs_example(&self, path: PathId, instructions: u64) -> bool {
        let counted = self.numbers.get(&path).and_then(|&number| self.paths.get(number));
        let slowest = self.slowest.and_then(|slowest| self.paths.get(slowest));
        let slower = slowest.is_none_or(|slowest| slowest.instructions < instructions);
        let earlier = counted.map_or(0, |counted| counted.packets);
        slower || self.samples.needs_example(earlier, self.packets)
    }

    /// Counts the path of the most recent packet. If the packet becomes the example of its path,
    /// `before` is a witness with the packet and the map content before it.
    pub fn count_path(&mut self, step: &Step, before: Option<&Value>) {
        let number = *self.numbers.entry(step.path).or_insert(self.paths.len());
        if number == self.paths.len() {
            self.paths.push(PathCount {
                path: step.path,
                packets: 0,
                instructions: step.instructions,
                first: self.packets,
                actions: BTreeMap::new(),
            });
        }
        let slowest = self.slowest.and_then(|slowest| self.paths.get(slowest));
        if slowest.is_none_or(|slowest| slowest.instructions < step.instructions) {
            self.slowest = Some(number);
        }
        let Some(counted) = self.paths.get_mut(number) else { return };
        counted.packets += 1;
        *counted.actions.entry(step.outcome.action).or_default() += 1;
        self.uncertain += u64::from(step.open_path);
        if let Some(taken) = self.taken.last_mut() {
            *taken = u32::try_from(number.saturating_add(1)).ok();
        }
        if let Some(before) = before {
            let kept = Example { packet: self.packets, witness: before.to_string() };
            let paths = &self.paths;
            let packets = |path: usize| paths.get(path).map_or(0, |counted| counted.packets);
            self.samples.keep(number, kept, self.slowest, packets);
        }
    }

    /// Returns the example packet of path number `path` (from 1), as the JSON text of a witness.
    pub fn witness(&self, path: usize) -> Option<&str> {
        Some(self.samples.example(path.checked_sub(1)?)?.witness.as_str())
    }

    pub fn report(&self, format: Format) -> TraceReport {
        let path = |(number, counted): (usize, &PathCount)| TracePath {
            path: counted.path,
            packets: counted.packets,
            instructions: counted.instructions,
            action: most_frequent(&counted.actions),
            first: counted.first,
            kept: self.samples.example(number).map(|kept| kept.packet),
        };
        TraceReport {
            format: format.to_string(),
            packets: self.packets,
            truncated: self.truncated,
            uncertain: self.uncertain,
            converted: self.converted.clone(),
            refused: self.refused.clone(),
            undecided: self.undecided.clone(),
            disagreements: self.disagreements.clone(),
            complete: false,
            ended: None,
            code: None,
            maps: Vec::new(),
            paths: self.paths.iter().enumerate().map(path).collect(),
            taken: self.taken.clone(),
        }
    }
}

/// Returns the key with the greatest count, or the smallest of several such keys.
fn most_frequent(counts: &BTreeMap<u32, u64>) -> u32 {
    let best = counts.iter().rev().max_by_key(|&(_, &count)| count);
    best.map_or(0, |(&value, _)| value)
}
