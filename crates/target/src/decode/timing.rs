//! Reads the table `[timing]` of a target that counts events. The table contains the measurements
//! for time estimates.

use super::models;
use super::prices::optional_string;
use super::problem::Problems;
use super::table::{Table, as_table, scaled};
use crate::timing::{
    Calibration, CallTiming, CoreTiming, DriverTiming, ErrorTiming, OverlapTiming, PipelineTiming,
    Timing, Unit, UnitTiming,
};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

const CLOCK_HZ: RangeInclusive<u64> = 1_000_000..=1_000_000_000_000;
const PROGRAMS: RangeInclusive<u64> = 0..=1_000_000;
const ENTRIES: RangeInclusive<u64> = 1..=4096;
/// Default interval of estimates in cold caches: lower and upper end, in thousandths of the
/// estimate.
const USUAL_COLD: (u64, u64) = (280, 1300);
/// Default time that is added to the upper end of the interval in cold caches, in thousandths of a
/// cycle.
const USUAL_COLD_OFFSET: u64 = 64_000;
/// Default interval of estimates for CPUs of other families: lower and upper end, in thousandths of
/// the estimate.
const USUAL_FOREIGN: (u64, u64) = (400, 2500);
/// Number of decimal places to which numbers of cycles are read.
const DIGITS: u32 = 3;
/// Maximum number of cycles that a description can state, in thousandths. No call takes longer, and
/// with this limit, sums fit into 64 bits.
const MAX_CYCLES: u64 = 1_000_000_000;

/// Reads the table `[timing]`. Returns `None` if it is absent or invalid.
pub(super) fn read(root: &mut Table<'_>, problems: &mut Problems<'_>) -> Option<Timing> {
    let mut table = root.optional_table("timing", problems)?;
    let machine = table.string("machine", problems).map(str::to_owned);
    let date = table.string("date", problems).map(str::to_owned);
    let clock_hz = table.integer("clock_hz", CLOCK_HZ, problems);
    let unknown_call = thousandths(&mut table, "unknown_call_cycles", problems);
    let core = table.table("core", problems).and_then(|core| read_core(core, problems));
    let pipeline = table.optional_table("pipeline", problems);
    let pipeline = pipeline.map(|pipeline| read_pipeline(pipeline, problems));
    let units = table.table("unit", problems).and_then(|units| read_units(units, problems));
    let calls = table.table("call", problems).map(|calls| read_calls(&calls, problems));
    let error = table
        .table("error", problems)
        .and_then(|error| read_error(error, "cold_offset_cycles", problems));
    let calibration = table
        .optional_table("calibration", problems)
        .and_then(|calibration| read_calibration(calibration, problems));
    let driver =
        table.optional_table("driver", problems).and_then(|driver| read_driver(driver, problems));
    let models = table.optional_table("model", problems).map(|table| models::read(table, problems));
    table.finish(problems);
    Some(Timing {
        machine: machine?,
        date: date?,
        clock_hz: clock_hz?,
        core: core?,
        pipeline: pipeline.map_or(Some(None), |read| read.map(Some))?,
        units: units?,
        calls: calls?,
        unknown_call: unknown_call?,
        error: error?,
        calibration,
        driver,
        models: models.unwrap_or_default(),
    })
}

/// Reads a required key whose value is a number of cycles, or of nanoseconds. Returns the number in
/// thousandths.
pub(super) fn thousandths(
    table: &mut Table<'_>,
    key: &str,
    problems: &mut Problems<'_>,
) -> Option<u64> {
    table.required(key, problems)?;
    optional_thousandths(table, key, problems)
}

pub(super) fn optional_thousandths(
    table: &mut Table<'_>,
    key: &str,
    problems: &mut Problems<'_>,
) -> Option<u64> {
    let value = table.optional(key)?;
    let path = table.key(key);
    let number = scaled(&path, value, DIGITS, problems)?;
    if number > MAX_CYCLES {
        let most = MAX_CYCLES / 10_u64.pow(DIGITS);
        problems.error(value.span(), format!("`{path}` must not be above {most}"));
        return None;
    }
    Some(number)
}

fn read_core(mut table: Table<'_>, problems: &mut Problems<'_>) -> Option<CoreTiming> {
    let mut read = |key| thousandths(&mut table, key, problems);
    let instruction_cycles = read("instruction_cycles");
    let move_cycles = read("move_cycles");
    let constant_cycles = read("constant_cycles");
    let branch_cycles = read("branch_cycles");
    let taken_cycles = read("taken_cycles");
    let function_cycles = read("function_cycles");
    let forward_cycles = read("forward_cycles");
    let pieces_cycles = read("pieces_cycles");
    let loop_cycles = read("loop_cycles");
    let loop_instructions = table.integer("loop_instructions", 0..=4096, problems);
    let window = table.integer("window", ENTRIES, problems);
    table.finish(problems);
    Some(CoreTiming {
        instruction_cycles: instruction_cycles?,
        move_cycles: move_cycles?,
        constant_cycles: constant_cycles?,
        branch_cycles: branch_cycles?,
        taken_cycles: taken_cycles?,
        function_cycles: function_cycles?,
        forward_cycles: forward_cycles?,
        pieces_cycles: pieces_cycles?,
        loop_cycles: loop_cycles?,
        loop_instructions: loop_instructions?,
        window: window?,
    })
}

fn read_pipeline(mut table: Table<'_>, problems: &mut Problems<'_>) -> Option<PipelineTiming> {
    let fetch_cycles = thousandths(&mut table, "fetch_cycles", problems);
    let fetch_queue = table.integer("fetch_queue", ENTRIES, problems);
    let move_latency = thousandths(&mut table, "move_latency_cycles", problems);
    let loop_stall = thousandths(&mut table, "loop_stall_cycles", problems);
    let calls = table.optional_table("calls", problems);
    let calls = calls.map(|calls| read_overlap(calls, problems));
    table.finish(problems);
    Some(PipelineTiming {
        fetch_cycles: fetch_cycles?,
        fetch_queue: fetch_queue?,
        move_latency: move_latency?,
        loop_stall: loop_stall?,
        calls: calls.map_or(Some(None), |read| read.map(Some))?,
    })
}

fn read_overlap(mut table: Table<'_>, problems: &mut Problems<'_>) -> Option<OverlapTiming> {
    let instructions = thousandths(&mut table, "instructions", problems);
    let result_share = thousandths(&mut table, "result_share", problems);
    let result_cycles = thousandths(&mut table, "result_cycles", problems);
    table.finish(problems);
    Some(OverlapTiming {
        instructions: instructions?,
        result_share: result_share?,
        result_cycles: result_cycles?,
    })
}

fn read_units(
    mut table: Table<'_>,
    problems: &mut Problems<'_>,
) -> Option<[UnitTiming; Unit::ALL.len()]> {
    let read = Unit::ALL.map(|unit| {
        let mut table = table.table(unit.name(), problems)?;
        let latency = thousandths(&mut table, "latency_cycles", problems);
        let interval = thousandths(&mut table, "interval_cycles", problems);
        let queue = table.integer("queue", ENTRIES, problems);
        table.finish(problems);
        Some(UnitTiming { latency: latency?, interval: interval?, queue: queue? })
    });
    table.finish(problems);
    let units: Vec<UnitTiming> = read.into_iter().collect::<Option<_>>()?;
    units.try_into().ok()
}

fn read_calls(table: &Table<'_>, problems: &mut Problems<'_>) -> BTreeMap<String, CallTiming> {
    let mut calls = BTreeMap::new();
    for (name, value) in table.entries() {
        let Some(mut call) = as_table(table.key(name), value, problems) else { continue };
        let cycles = thousandths(&mut call, "cycles", problems);
        let zero_cycles = optional_thousandths(&mut call, "zero_cycles", problems);
        let byte_cycles = optional_thousandths(&mut call, "byte_cycles", problems).unwrap_or(0);
        call.finish(problems);
        if let Some(cycles) = cycles {
            calls.insert(name.to_owned(), CallTiming { cycles, zero_cycles, byte_cycles });
        }
    }
    calls
}

/// Reads the ends of the intervals around estimates. `offset` is the name of the key for the time
/// that is added to the upper end in cold caches.
pub(super) fn read_error(
    mut table: Table<'_>,
    offset: &str,
    problems: &mut Problems<'_>,
) -> Option<ErrorTiming> {
    let low = thousandths(&mut table, "low", problems);
    let high = thousandths(&mut table, "high", problems);
    let mut other = |key, usual| optional_thousandths(&mut table, key, problems).unwrap_or(usual);
    let (usual_low, usual_high) = USUAL_COLD;
    let (cold_low, cold_high) = (other("cold_low", usual_low), other("cold_high", usual_high));
    let cold_offset = other(offset, USUAL_COLD_OFFSET);
    let (usual_low, usual_high) = USUAL_FOREIGN;
    let foreign_low = other("foreign_low", usual_low);
    let foreign_high = other("foreign_high", usual_high);
    let (at, path) = (table.span(), table.key("low"));
    table.finish(problems);
    let (low, high) = (low?, high?);
    let ends = [(low, high), (cold_low, cold_high), (foreign_low, foreign_high)];
    if ends.iter().any(|&(low, high)| low > 1000 || high < 1000) {
        let table = path.trim_end_matches(".low");
        problems.error(at, format!("`{table}`: `low` is at most 1, and `high` at least 1"));
        return None;
    }
    Some(ErrorTiming { low, high, cold_low, cold_high, cold_offset, foreign_low, foreign_high })
}

fn read_driver(mut table: Table<'_>, problems: &mut Problems<'_>) -> Option<DriverTiming> {
    let path = table.key("ns");
    let value = table.required("ns", problems)?;
    let picoseconds = scaled(&path, value, DIGITS, problems);
    let driver = table.string("driver", problems).map(str::to_owned);
    let source = table.string("publication", problems).map(str::to_owned);
    table.finish(problems);
    Some(DriverTiming { picoseconds: picoseconds?, driver: driver?, source: source? })
}

fn read_calibration(mut table: Table<'_>, problems: &mut Problems<'_>) -> Option<Calibration> {
    let experiments = table.integer("experiments", PROGRAMS, problems);
    let precise = table.integer("precise", PROGRAMS, problems);
    let checks = table.integer("checks", PROGRAMS, problems);
    let check_error = thousandths(&mut table, "check_error", problems);
    let compiler = optional_string(&mut table, "compiler", problems).map(str::to_owned);
    let doubt = optional_string(&mut table, "doubt", problems).map(str::to_owned);
    let base = optional_string(&mut table, "base", problems).map(str::to_owned);
    let at = table.span();
    table.finish(problems);
    let (experiments, precise) = (experiments?, precise?);
    if precise > experiments {
        let what = "`timing.calibration`: `precise` is at most `experiments`".to_owned();
        problems.error(at, what);
        return None;
    }
    let (checks, check_error) = (checks?, check_error?);
    Some(Calibration { experiments, precise, checks, check_error, compiler, doubt, base })
}

#[cfg(test)]
mod tests;
