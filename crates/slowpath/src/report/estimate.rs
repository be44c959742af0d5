//! Estimates the times of paths on a machine. Estimates are not guarantees, and reports name them
//! as estimates.

use super::lines;
use crate::frontend::Lifted;
use crate::result::{Amount, EstimatePart, PathEstimate, Profile, Time};
use slowpath_estimate::{Call, Code, Flow, Growth, Occupancy, Path, picoseconds};
use slowpath_exec::ArcId;
use slowpath_search::Unrolled;
use slowpath_target::{ErrorTiming, Interpreter, LONGEST_KEY, Timing};
use std::collections::{BTreeMap, BTreeSet};

/// Column name of the estimated time in warm caches, in tables of costs.
const WARM_NS: &str = "warm_ns";
/// Column name of the estimated time in cold caches, in tables of costs.
const COLD_NS: &str = "cold_ns";

/// Name, in messages, of accesses to map values at an offset that the program computes.
const IN_TABLES: &str = "access inside map values";

/// Estimates times of paths with a model of the machine, under given assumptions.
pub(crate) struct Estimator<'a> {
    pub model: TimeModel<'a>,
    /// Number of entries in each map for which times in cold caches are estimated.
    pub cold: Occupancy,
    /// CPU for which times are estimated, if it is of another family than the target's machine.
    pub foreign_cpu: Option<&'a str>,
}

/// Measurements from which the times of a program are estimated.
#[derive(Clone, Copy)]
pub(crate) enum TimeModel<'a> {
    /// A CPU core that runs BPF instructions.
    Core { timing: &'a Timing, code: &'a Code },
    /// DPDK's interpreter of pipelines. Its ticks are picoseconds.
    Interpreter { prices: &'a Interpreter, layout: &'a slowpath_swx::Layout },
}

/// A path of a program, with its estimated times.
pub(crate) struct Estimated {
    /// The estimated times, with values that are computed from them, as reports show them.
    pub estimate: PathEstimate,
    /// Estimated time in cold caches, in picoseconds, for comparisons.
    pub cold_picoseconds: u64,
    /// Time, in picoseconds, of an iteration of the kernel's test-run loop with an empty program.
    pub loop_picoseconds: u64,
    warm: Flow,
    cold: Flow,
    insns: Vec<u32>,
    /// Assumptions on which the estimate depends, one sentence each.
    pub assumptions: BTreeSet<String>,
}

impl Estimated {
    /// Estimates a path of a BPF program.
    fn on_core(
        lifted: &Lifted,
        unrolled: &Unrolled,
        estimator: &Estimator<'_>,
        (timing, code): (&Timing, &Code),
        path: &[ArcId],
    ) -> Estimated {
        let occupancy = estimator.cold;
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
        let calls = path.calls().iter();
        let calls = calls.map(|call| (of_helper(call), call.growth(timing, occupancy, footprint)));
        let tables = path.table_growth(timing, occupancy, footprint);
        let tables = tables.map(|growth| (IN_TABLES.to_owned(), growth));
        let about = timing.picoseconds(timing.unknown_call);
        let mut assumptions: BTreeSet<String> =
            unknown.iter().map(|call| unmeasured(call, "each call", about)).collect();
        assumptions.extend(calls.chain(tables).filter_map(|(name, growth)| match growth {
            Growth::Unknown => Some(unmodelled(&name, "map")),
            Growth::Known { outside: Some(range), .. } => {
                Some(outside(&name, range, " of this size"))
            }
            Growth::None | Growth::Known { .. } => None,
        }));
        let insns = events().map(|event| event.insn.0).collect();
        let grows = !code.has_no_rooms();
        Estimated::of_flows(estimator, (warm, cold, grows), insns, assumptions)
    }

    /// Estimates a path of a pipeline as the sum of its instructions and lookups.
    fn in_interpreter(
        unrolled: &Unrolled,
        estimator: &Estimator<'_>,
        (prices, layout): (&Interpreter, &slowpath_swx::Layout),
        path: &[ArcId],
    ) -> Estimated {
        let events = || lines::events(unrolled, path);
        let work = events().filter_map(|event| layout.work.get(event.class.index()));
        let work: Vec<&slowpath_swx::Work> = work.collect();
        let tables: BTreeSet<usize> = work.iter().filter_map(|work| work.lookup).collect();
        let all = entries_of(layout, tables, estimator.cold);
        let part = |&work| PartOfPipeline::new(prices, layout, work, (estimator.cold, all));
        let mut parts: Vec<PartOfPipeline> = work.iter().map(part).collect();
        // The first and last instruction receive and send or drop, as in the empty pipeline.
        let mut left = prices.empty;
        for at in [0, parts.len().saturating_sub(1)] {
            let Some(part) = parts.get_mut(at) else { continue };
            let included = part.few.min(left);
            (part.few, left) = (part.few - included, left - included);
        }
        let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
        for (work, part) in work.iter().zip(&parts) {
            let kind = kinds.entry(&work.price).or_default();
            kind.runs += 1;
            kind.key_bytes += u64::from(part.key_bytes);
            (kind.few, kind.many) = (kind.few + part.few, kind.many + part.many());
        }
        let mut kinds: Vec<(&str, Kind)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.many));
        let flow = |parts: Vec<u64>| {
            let sum = parts.iter().fold(prices.empty, |sum, part| sum.saturating_add(*part));
            Flow { iteration: sum, empty: prices.empty, parts, unknown: Vec::new() }
        };
        let warm = flow(parts.iter().map(|part| part.few).collect());
        let cold = flow(parts.iter().map(PartOfPipeline::many).collect());
        let grows = layout.work.iter().any(|work| work.lookup.is_some());
        let assumptions = parts.into_iter().flat_map(|part| part.assumptions).collect();
        let insns = events().map(|event| event.insn.0).collect();
        let mut own = Estimated::of_flows(estimator, (warm, cold, grows), insns, assumptions);
        let shown = kinds.into_iter().map(|(part, kind)| EstimatePart {
            part: part.to_owned(),
            runs: kind.runs,
            key_bytes: kind.key_bytes,
            warm_ns: ns(kind.few),
            cold_ns: ns(kind.many),
        });
        own.estimate.parts = shown.collect();
        own
    }

    /// Creates the estimate of a path from its times in warm and cold caches. `grows` is false if
    /// the program has no maps; the time in warm caches then also serves as the time in cold
    /// caches.
    fn of_flows(
        estimator: &Estimator<'_>,
        (warm, cold, grows): (Flow, Flow, bool),
        insns: Vec<u32>,
        assumptions: BTreeSet<String>,
    ) -> Estimated {
        let warm_time = estimator.time(&warm);
        let cold_time =
            if grows { estimator.cold_time(&cold, &warm_time) } else { warm_time.clone() };
        Estimated {
            estimate: PathEstimate { warm: warm_time, cold: cold_time, parts: Vec::new() },
            cold_picoseconds: estimator.picoseconds(cold.iteration),
            loop_picoseconds: estimator.picoseconds(warm.empty),
            warm,
            cold,
            insns,
            assumptions,
        }
    }

    /// Adds estimated times to the profile of the path: for its instructions, source lines, and
    /// programs of a chain.
    pub fn add_to(&self, profile: &mut Profile, lifted: &Lifted, estimator: &Estimator<'_>) {
        for (column, flow) in [(WARM_NS, &self.warm), (COLD_NS, &self.cold)] {
            self.add_column(profile, lifted, estimator, (column, flow));
        }
    }

    fn add_column(
        &self,
        profile: &mut Profile,
        lifted: &Lifted,
        estimator: &Estimator<'_>,
        (column, flow): (&str, &Flow),
    ) {
        let mut parts: BTreeMap<u32, u64> = BTreeMap::new();
        for (&insn, &part) in self.insns.iter().zip(&flow.parts) {
            *parts.entry(insn).or_default() += part;
        }
        // Rounds the start and end of each part, so that the parts add up.
        let mut until = 0;
        let mut amount = |ticks: u64| {
            let began = estimator.picoseconds(until);
            until += ticks;
            estimator.picoseconds(until) - began
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
    /// Estimates the time of a path.
    pub fn estimated(&self, lifted: &Lifted, unrolled: &Unrolled, path: &[ArcId]) -> Estimated {
        match self.model {
            TimeModel::Core { timing, code } => {
                Estimated::on_core(lifted, unrolled, self, (timing, code), path)
            }
            TimeModel::Interpreter { prices, layout } => {
                Estimated::in_interpreter(unrolled, self, (prices, layout), path)
            }
        }
    }

    /// Returns the approximate time of each cost class, in picoseconds, with which a search finds
    /// the paths with the largest sums.
    pub fn prices(&self, lifted: &Lifted, occupancy: Occupancy) -> Vec<u64> {
        match self.model {
            TimeModel::Core { timing, code } => {
                let classes = lifted.program.cost_classes.iter();
                classes.map(|class| picoseconds(class, timing, code, occupancy)).collect()
            }
            TimeModel::Interpreter { prices, layout } => {
                let all = entries_of(layout, 0..layout.lookups.len(), occupancy);
                let part = |work| PartOfPipeline::new(prices, layout, work, (occupancy, all));
                layout.work.iter().map(|work| part(work).many()).collect()
            }
        }
    }

    /// Returns the name of the machine whose measurements the model uses, and the date of the
    /// measurements.
    pub fn machine(&self) -> (String, String) {
        match self.model {
            TimeModel::Core { timing, .. } => (timing.machine.clone(), timing.date.clone()),
            TimeModel::Interpreter { prices, .. } => {
                (format!("{}, {}", prices.machine, prices.software), prices.date.clone())
            }
        }
    }

    /// Returns the timing of a CPU core; `None` for an interpreter.
    pub fn timing(&self) -> Option<&Timing> {
        match self.model {
            TimeModel::Core { timing, .. } => Some(timing),
            TimeModel::Interpreter { .. } => None,
        }
    }

    fn error(&self) -> ErrorTiming {
        match self.model {
            TimeModel::Core { timing, .. } => timing.error,
            TimeModel::Interpreter { prices, .. } => prices.error,
        }
    }

    /// Converts ticks of the model to picoseconds.
    fn picoseconds(&self, ticks: u64) -> u64 {
        self.timing().map_or(ticks, |timing| timing.picoseconds(ticks))
    }

    /// Returns the time of the program itself, without the loop around it, in cold caches. `warm`
    /// is its time in warm caches. Both ends of the result's interval are at least as large as
    /// those of `warm`.
    fn cold_time(&self, flow: &Flow, warm: &Time) -> Time {
        let error = self.error();
        let program = self.picoseconds(flow.iteration.saturating_sub(flow.empty)).max(1);
        let part = |thousandths: u64| ns(program) * thousandths as f64 / 1000.0;
        let foreign = self.foreign_cpu.is_some();
        let low = if foreign { error.cold_low.min(error.foreign_low) } else { error.cold_low };
        let high = if foreign { error.cold_high.max(error.foreign_high) } else { error.cold_high };
        let offset = ns(self.picoseconds(error.cold_offset));
        Time {
            ns: ns(program),
            low_ns: part(low).max(warm.low_ns),
            high_ns: (part(high) + offset).max(warm.high_ns),
        }
    }

    /// Returns the time of the program itself, without the loop around it, in warm caches. Its
    /// interval is that of a whole iteration, minus the time of the empty loop.
    fn time(&self, flow: &Flow) -> Time {
        let ErrorTiming { low, high, foreign_low, foreign_high, .. } = self.error();
        let (run, empty) = (self.picoseconds(flow.iteration), self.picoseconds(flow.empty));
        // At least 1 ps, so that the rate is finite even if the target description makes everything
        // free.
        let program = run.saturating_sub(empty).max(1);
        let part = |time: u64, thousandths: u64| ns(time) * thousandths as f64 / 1000.0;
        let beyond_loop = |end: f64| (end - ns(empty)).max(0.0);
        let (mut low_ns, mut high_ns) = (beyond_loop(part(run, low)), beyond_loop(part(run, high)));
        if self.foreign_cpu.is_some() {
            low_ns = low_ns.min(part(program, foreign_low));
            high_ns = high_ns.max(part(program, foreign_high));
        }
        Time { ns: ns(program), low_ns, high_ns }
    }
}

/// An instruction or lookup of a pipeline with its time in picoseconds.
struct PartOfPipeline {
    /// Time in picoseconds with few entries in the tables.
    few: u64,
    /// Time in picoseconds that the assumed number of entries adds.
    growth: u64,
    /// Number of bytes of the key that affect the time, at most `LONGEST_KEY`.
    key_bytes: u32,
    assumptions: Vec<String>,
}

impl PartOfPipeline {
    /// Returns the time with the assumed number of entries.
    fn many(&self) -> u64 {
        self.few.saturating_add(self.growth)
    }

    fn new(
        prices: &Interpreter,
        layout: &slowpath_swx::Layout,
        work: &slowpath_swx::Work,
        (occupancy, all_entries): (Occupancy, u64),
    ) -> PartOfPipeline {
        let mut assumptions = Vec::new();
        let table = work.lookup.and_then(|number| layout.lookups.get(number));
        let key_bytes = table.map_or(0, |table| table.key_bytes).min(LONGEST_KEY);
        let few = prices.picoseconds(&work.price, key_bytes);
        if few.is_none() {
            assumptions.push(unmeasured(&work.price, "each", prices.unknown));
        }
        let few = few.unwrap_or(prices.unknown);
        let entries = entries_of(layout, work.lookup, occupancy);
        let searched = entries > 1;
        // Tables share the caches, so the entries of all of them slow each lookup.
        let entries = entries.max(all_entries);
        let growth = searched.then(|| prices.growth(&work.price, entries));
        if let Some(None) = growth {
            assumptions.push(unmodelled(&work.price, "table"));
        }
        let range = prices.by_entries(&work.price).map(|model| model.range());
        if let Some((fewest, most)) = range
            && searched
            && entries as f64 > most
        {
            assumptions.push(outside(&work.price, (fewest as u64, most as u64), ""));
        }
        PartOfPipeline { few, growth: growth.flatten().unwrap_or(0), key_bytes, assumptions }
    }
}

/// Sums over all instructions or lookups of one kind on a path of a pipeline. Times are in
/// picoseconds.
#[derive(Default)]
struct Kind {
    runs: u64,
    key_bytes: u64,
    few: u64,
    many: u64,
}

/// Returns the total number of entries in some tables of a pipeline. Returns 0 if the estimate
/// assumes that tables have few entries.
fn entries_of(
    layout: &slowpath_swx::Layout,
    tables: impl IntoIterator<Item = usize>,
    occupancy: Occupancy,
) -> u64 {
    let tables = tables.into_iter().filter_map(|number| layout.lookups.get(number));
    // A table without a key has no entries.
    let searched = tables.filter(|table| table.kind != "none");
    let entries = searched.map(|table| match occupancy {
        Occupancy::Few => 0,
        Occupancy::Entries(entries) => entries.min(table.size.into()),
        Occupancy::Full => u64::from(table.size),
    });
    entries.fold(0, u64::saturating_add)
}

/// Formats the assumption about instructions, lookups or calls whose time was not measured.
fn unmeasured(name: &str, each: &str, picoseconds: u64) -> String {
    format!("estimates: {name} was not measured, so {each} counts as {:.0} ns", ns(picoseconds))
}

/// Formats the assumption that the time of a part of the path does not grow with the number of
/// entries, because no measurement shows its growth.
fn unmodelled(name: &str, of: &str) -> String {
    format!("estimates: the unknown effect of {of} entries on {name} is not included")
}

/// Formats the assumption about a map or table with more or fewer entries than were measured.
fn outside(name: &str, (fewest, most): (u64, u64), size: &str) -> String {
    format!("estimates: {name} was measured only with {fewest} to {most} entries{size}")
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
