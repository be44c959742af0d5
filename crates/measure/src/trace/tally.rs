//! Packets of a trace, counted by path.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use slowpath_capture::Format;
use slowpath_replay::{PathId, Step};

use super::report::{TraceFault, TracePath, TraceReport};
use super::samples::{Kept, Samples};

/// Packets of a trace, counted by path.
#[derive(Debug, Default)]
pub struct Tally {
    packets: u64,
    truncated: u64,
    uncertain: u64,
    converted: TraceFault,
    refused: TraceFault,
    undecided: TraceFault,
    disagreements: TraceFault,
    paths: Vec<Counted>,
    numbers: HashMap<PathId, usize>,
    /// Number of the path with the most instructions.
    slowest: Option<usize>,
    samples: Samples,
    taken: Vec<Option<u32>>,
}

/// A path, and the number of times that the program returns each action on it.
#[derive(Debug)]
struct Counted {
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
    /// Counts a packet that was read, with its original link type if it was converted.
    pub fn read(&mut self, truncated: bool, converted: Option<&str>) {
        self.packets += 1;
        self.truncated += u64::from(truncated);
        self.taken.push(None);
        if let Some(link) = converted {
            self.converted.add(self.packets, link.to_owned(), None);
        }
    }

    /// Counts the last packet as refused by the kernel.
    pub fn refused(&mut self, why: String) {
        self.refused.add(self.packets, why, None);
    }

    /// Counts the last packet as undecided: kernel and interpreter may or may not agree.
    pub fn undecided(&mut self, why: String) {
        self.undecided.add(self.packets, why, None);
    }

    /// Counts the last packet as a disagreement between kernel and interpreter.
    pub fn disagreed(&mut self, what: String, report: String) {
        self.disagreements.add(self.packets, what, Some(report));
    }

    /// Returns true if the current packet shall be kept as the example of its path, with the
    /// present maps.
    pub fn is_worth_keeping(&self, path: PathId, instructions: u64) -> bool {
        let counted = self.numbers.get(&path).and_then(|&number| self.paths.get(number));
        let slowest = self.slowest.and_then(|slowest| self.paths.get(slowest));
        let slower = slowest.is_none_or(|slowest| slowest.instructions < instructions);
        let others = counted.map_or(0, |counted| counted.packets);
        slower || self.samples.wants(others, self.packets)
    }

    /// Counts the path of the last packet. `before` is the packet and its maps, if it shall be
    /// kept.
    pub fn ran(&mut self, step: &Step, before: Option<&Value>) {
        let number = *self.numbers.entry(step.path).or_insert(self.paths.len());
        if number == self.paths.len() {
            self.paths.push(Counted {
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
            let kept = Kept { packet: self.packets, witness: before.to_string() };
            let paths = &self.paths;
            let packets = |path: usize| paths.get(path).map_or(0, |counted| counted.packets);
            self.samples.keep(number, kept, self.slowest, packets);
        }
    }

    /// Returns the example packet of the path with this number, counted from 1.
    pub fn witness(&self, path: usize) -> Option<&str> {
        Some(self.samples.of(path.checked_sub(1)?)?.witness.as_str())
    }

    /// Returns the report on all packets.
    pub fn report(&self, format: Format) -> TraceReport {
        let path = |(number, counted): (usize, &Counted)| TracePath {
            path: counted.path,
            packets: counted.packets,
            instructions: counted.instructions,
            action: most(&counted.actions),
            first: counted.first,
            kept: self.samples.of(number).map(|kept| kept.packet),
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
            maps: Vec::new(),
            paths: self.paths.iter().enumerate().map(path).collect(),
            taken: self.taken.clone(),
        }
    }
}

/// Returns the most frequent value, the least of several.
fn most(counts: &BTreeMap<u32, u64>) -> u32 {
    let best = counts.iter().rev().max_by_key(|&(_, &count)| count);
    best.map_or(0, |(&value, _)| value)
}
