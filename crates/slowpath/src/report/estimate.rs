//! Estimates the times of paths on a machine. Estimates are not guarantees, and reports name them
//! as estimates.

use super::lines;
use crate::frontend::Lifted;
use crate::result::{Amount, PathEstimate, Profile, Time};
use slowpath_estimate::{Call, Code, Flow, Growth, Occupancy, Path};
use slowpath_exec::ArcId;
use slowpath_search::Unrolled;
use slowpath_target::Timing;
use std::collections::{BTreeMap, BTreeSet};

/// Column name of the estimated time in warm caches, in tables of costs.
const WARM_NS: &str = "warm_ns";
/// Column name of the estimated time in cold caches, in tables of costs.
const COLD_NS: &str = "cold_ns";

/// Description of accesses whose offset in a map's value the program computes, for messages.
const IN_TABLES: &str = "access inside map values";

pub(crate) struct Estimator<'a> {
    pub timing: &'a Timing,
    pub code: &'a Code,
    /// Number of entries in maps that times in cold caches assume.
    pub cold: Occupancy,
    /// CPU for which times are estimated, if it is of another family than the target's machine.
    pub foreign_cpu: Option<&'a str>,
}

/// A path of a program, with its estimated times.
pub(crate) struct Estimated {
    /// The estimated times, with values that are computed from them, as reports show them.
    pub estimate: PathEstimate,
    /// Estimated time in cold caches, in picoseconds, for comparisons.
    pub cold_picoseconds: u64,
    /// Time of an iteration of the test-run loop without a program, in picoseconds.
    pub loop_picoseconds: u64,
    warm: Flow,
    cold: Flow,
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
        let &Estimator { timing, code, cold: occupancy, .. } = estimator;
        let classes = &lifted.program.cost_classes;
        let class = |id: usize| classes.get(id).map_or("", String::as_str);
        let events = || lines::events(unrolled, path);
        let path = Path::new(code, events().map(|e| (e.insn.0, class(e.class.index()))));
        let (warm, mut cold) = path.warm_and_cold(timing, occupancy);
        // Independent work can hide in the shadow of slower calls, but never shortens a path.
        if cold.iteration < warm.iteration {
            cold = warm.clone();
        }
        let unknown: BTreeSet<String> =
            warm.unknown.iter().map(|&call| of_helper(&path.calls()[call])).collect();
        let footprint = path.footprint(occupancy);
        let mut flat = BTreeSet::new();
        let mut outside = BTreeSet::new();
        let calls = path.calls().iter();
        let calls = calls.map(|call| (of_helper(call), call.growth(timing, occupancy, footprint)));
        let tables = path.table_growth(timing, occupancy, footprint);
        let tables = tables.map(|growth| (IN_TABLES.to_owned(), growth));
        for (name, growth) in calls.chain(tables) {
            match growth {
                Growth::Unknown => {
                    flat.insert(name);
                }
                Growth::Known { outside: Some(measured), .. } => {
                    outside.insert((name, measured));
                }
                Growth::None | Growth::Known { .. } => {}
            }
        }
        let error = timing.error;
        let warm_time = estimator.time(&warm, (error.low, error.high));
        let cold_time = if code.has_no_rooms() {
            warm_time.clone()
        } else {
            estimator.cold_time(&cold, &warm_time)
        };
        Estimated {
            estimate: PathEstimate { warm: warm_time, cold: cold_time },
            cold_picoseconds: timing.picoseconds(cold.iteration),
            loop_picoseconds: timing.picoseconds(warm.empty),
            warm,
            cold,
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
            format!("estimates: {call} was not measured, so each call counts as {about:.0} ns")
        });
        let flat = self.unmodelled_growth.iter().map(|call| {
            format!("estimates: the unknown effect of map entries on {call} is not included")
        });
        let outside = self.outside_measured_range.iter().map(|(call, (fewest, most))| {
            format!(
                "estimates: {call} was measured only with {fewest} to {most} entries of this \
                 size"
            )
        });
        unknown.chain(flat).chain(outside).collect()
    }

    /// Adds estimated times to the profile of the path: for its instructions, source lines, and
    /// programs of a chain.
    pub fn add_to(&self, profile: &mut Profile, lifted: &Lifted, timing: &Timing) {
        for (column, flow) in [(WARM_NS, &self.warm), (COLD_NS, &self.cold)] {
            self.add_column(profile, lifted, timing, (column, flow));
        }
    }

    fn add_column(
        &self,
        profile: &mut Profile,
        lifted: &Lifted,
        timing: &Timing,
        (column, flow): (&str, &Flow),
    ) {
        let mut parts: BTreeMap<u32, u64> = BTreeMap::new();
        for (&insn, &part) in self.insns.iter().zip(&flow.parts) {
            *parts.entry(insn).or_default() += part;
        }
        // Rounds the start and end of each part, so that the parts add up.
        let mut until = 0;
        let mut amount = |cycles: u64| {
            let began = timing.picoseconds(until);
            until += cycles;
            timing.picoseconds(until) - began
        };
        let fraction = |picoseconds| Amount::Fraction(ns(picoseconds));
        let mut by_line = vec![0; profile.lines.len()];
        let mut by_program: BTreeMap<&str, u64> = BTreeMap::new();
        let mut whole = 0;
        for insn in &mut profile.instructions {
            let part = amount(parts.get(&insn.instruction).copied().unwrap_or(0));
            whole += part;
            insn.cost.insert(column.to_owned(), fraction(part));
            if let Some(program) = lifted.member(insn.instruction) {
                *by_program.entry(program).or_default() += part;
            }
            if let Some(line) = insn.line.and_then(|line| by_line.get_mut(line)) {
                *line += part;
            }
        }
        for (line, part) in profile.lines.iter_mut().zip(by_line) {
            line.cost.insert(column.to_owned(), fraction(part));
        }
        for program in &mut profile.programs {
            let part = by_program.get(program.program.as_str()).copied().unwrap_or(0);
            program.cost.insert(column.to_owned(), fraction(part));
        }
        profile.overhead.insert(column.to_owned(), fraction(0));
        profile.cost.insert(column.to_owned(), fraction(whole));
    }
}

impl Estimator<'_> {
    /// Returns the time of the program itself in cold caches. `warm` is its time in warm caches,
    /// whose interval is at most as high as this one.
    fn cold_time(&self, flow: &Flow, warm: &Time) -> Time {
        let (timing, error) = (self.timing, self.timing.error);
        let program = timing.picoseconds(flow.iteration.saturating_sub(flow.empty)).max(1);
        let part = |thousandths: u64| ns(program) * thousandths as f64 / 1000.0;
        let foreign = self.foreign_cpu.is_some();
        let low = if foreign { error.cold_low.min(error.foreign_low) } else { error.cold_low };
        let high = if foreign { error.cold_high.max(error.foreign_high) } else { error.cold_high };
        let offset = ns(timing.picoseconds(error.cold_offset));
        Time {
            ns: ns(program),
            low_ns: part(low).max(warm.low_ns),
            high_ns: (part(high) + offset).max(warm.high_ns),
        }
    }

    /// Returns the time of the program itself. `low` and `high` are the ends of the interval of a
    /// test run, in thousandths of its time.
    fn time(&self, flow: &Flow, (low, high): (u64, u64)) -> Time {
        let timing = self.timing;
        let (run, empty) = (timing.picoseconds(flow.iteration), timing.picoseconds(flow.empty));
        // At least 1 ps, so that the rate is finite even if the target description makes everything
        // free.
        let program = run.saturating_sub(empty).max(1);
        let part = |time: u64, thousandths: u64| ns(time) * thousandths as f64 / 1000.0;
        let beyond_loop = |end: f64| (end - ns(empty)).max(0.0);
        let (mut low_ns, mut high_ns) = (beyond_loop(part(run, low)), beyond_loop(part(run, high)));
        if self.foreign_cpu.is_some() {
            low_ns = low_ns.min(part(program, timing.error.foreign_low));
            high_ns = high_ns.max(part(program, timing.error.foreign_high));
        }
        Time { ns: ns(program), low_ns, high_ns }
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
