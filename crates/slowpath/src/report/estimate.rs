//! Estimates the times of paths on a machine. Estimates are not guarantees, and reports name them
//! as estimates.

use super::lines;
use crate::frontend::Lifted;
use crate::result::{Amount, PathEstimate, Profile};
use slowpath_estimate::{Call, Code, Flow, Growth, Path};
use slowpath_exec::ArcId;
use slowpath_search::Unrolled;
use slowpath_target::Timing;
use std::collections::{BTreeMap, BTreeSet};

/// Column name of the estimated time in tables of costs.
const NS: &str = "ns";

pub(crate) struct Estimator<'a> {
    pub timing: &'a Timing,
    pub code: &'a Code,
    /// Number of entries that estimated times assume in each map that has room for them. With 0, a
    /// map has only the entries that a path needs.
    pub entries: u64,
}

/// A path of a program, with its estimated time.
pub(crate) struct Estimated {
    /// The estimated time, with values that are computed from it, as reports show it.
    pub estimate: PathEstimate,
    /// Estimated time in picoseconds, for comparisons.
    pub picoseconds: u64,
    flow: Flow,
    insns: Vec<u32>,
    /// Names of helper calls on the path whose time was not measured.
    unknown: BTreeSet<String>,
    /// Names of helper calls on the path whose time may grow with the number of map entries,
    /// although no model describes the growth.
    unmodelled_growth: BTreeSet<String>,
    /// Names of helper calls on maps with more or fewer entries than were measured. Each has the
    /// smallest and largest number of entries in the measurements.
    outside_measured_range: BTreeSet<(String, (u64, u64))>,
}

impl Estimated {
    pub fn new(
        lifted: &Lifted,
        unrolled: &Unrolled,
        estimator: &Estimator<'_>,
        path: &[ArcId],
    ) -> Estimated {
        let &Estimator { timing, code, entries } = estimator;
        let classes = &lifted.program.cost_classes;
        let class = |id: usize| classes.get(id).map_or("", String::as_str);
        let events = || lines::events(unrolled, path);
        let path = Path::new(code, events().map(|e| (e.insn.0, class(e.class.index()))));
        let flow = path.time(timing, entries);
        // At least 1 ps, so that the rate is finite even if the target description makes everything
        // free.
        let picoseconds = timing.picoseconds(flow.iteration).max(1);
        let part = |thousandths: u64| ns(picoseconds) * thousandths as f64 / 1000.0;
        let (low_ns, high_ns) = (part(timing.error.low), part(timing.error.high));
        let unknown: BTreeSet<String> =
            flow.unknown.iter().map(|&call| of_helper(&path.calls()[call])).collect();
        let mut flat = BTreeSet::new();
        let mut outside = BTreeSet::new();
        for call in path.calls() {
            match call.growth(timing, entries) {
                Growth::Unknown => {
                    flat.insert(of_helper(call));
                }
                Growth::Known { outside: Some(measured), .. } => {
                    outside.insert((of_helper(call), measured));
                }
                Growth::None | Growth::Known { .. } => {}
            }
        }
        Estimated {
            estimate: PathEstimate {
                ns: ns(picoseconds),
                low_ns,
                high_ns,
                program_ns: ns(timing.picoseconds(flow.iteration - flow.empty)),
                packetrate_pps: 1e12 / picoseconds as f64,
            },
            picoseconds,
            flow,
            insns: events().map(|event| event.insn.0).collect(),
            unknown,
            unmodelled_growth: flat,
            outside_measured_range: outside,
        }
    }

    /// Returns the assumptions on which the estimate depends, one sentence each.
    pub fn assumptions(&self, estimator: &Estimator<'_>) -> Vec<String> {
        let timing = estimator.timing;
        let about = ns(timing.picoseconds(timing.unknown_call));
        let unknown = self.unknown.iter().map(|call| {
            format!("estimates: nobody has measured {call}; a call is taken to need {about:.0} ns")
        });
        let flat = self.unmodelled_growth.iter().map(|call| {
            format!("estimates: no model says what entries do to {call}; nothing is added")
        });
        let outside = self.outside_measured_range.iter().map(|(call, (fewest, most))| {
            format!("estimates: {call} was measured with {fewest} to {most} entries only")
        });
        unknown.chain(flat).chain(outside).collect()
    }

    /// Adds estimated times to the profile of the path: for its instructions, source lines, and
    /// programs of a chain.
    pub fn add_to(&self, profile: &mut Profile, lifted: &Lifted, timing: &Timing) {
        let mut parts: BTreeMap<u32, u64> = BTreeMap::new();
        for (&insn, &part) in self.insns.iter().zip(&self.flow.parts) {
            *parts.entry(insn).or_default() += part;
        }
        // Rounds the start and end of each part, so that the parts add up.
        let mut until = self.flow.empty;
        let mut amount = |cycles: u64| {
            let began = timing.picoseconds(until);
            until += cycles;
            timing.picoseconds(until) - began
        };
        let fraction = |picoseconds| Amount::Fraction(ns(picoseconds));
        let mut by_line = vec![0; profile.lines.len()];
        let mut by_program: BTreeMap<&str, u64> = BTreeMap::new();
        for insn in &mut profile.instructions {
            let part = amount(parts.get(&insn.instruction).copied().unwrap_or(0));
            insn.cost.insert(NS.to_owned(), fraction(part));
            if let Some(program) = lifted.member(insn.instruction) {
                *by_program.entry(program).or_default() += part;
            }
            if let Some(line) = insn.line.and_then(|line| by_line.get_mut(line)) {
                *line += part;
            }
        }
        for (line, part) in profile.lines.iter_mut().zip(by_line) {
            line.cost.insert(NS.to_owned(), fraction(part));
        }
        for program in &mut profile.programs {
            let part = by_program.get(program.program.as_str()).copied().unwrap_or(0);
            program.cost.insert(NS.to_owned(), fraction(part));
        }
        let empty = timing.picoseconds(self.flow.empty);
        profile.overhead.insert(NS.to_owned(), fraction(empty));
        profile.cost.insert(NS.to_owned(), fraction(self.picoseconds));
    }
}

/// Formats a helper call for messages, with the type of the map if the time depends on it.
fn of_helper(call: &Call) -> String {
    let mut name = format!("bpf_{}", call.helper());
    if let Some(map) = call.map_type() {
        name += &format!(" on maps of type {map}");
    }
    if let Some(case) = call.case() {
        name += &format!(" ({case})");
    }
    name
}

fn ns(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1000.0
}
