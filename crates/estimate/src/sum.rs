//! Approximates the times of single instructions and calls, for searches that add them up along a
//! path.

use crate::growth::growth;
use slowpath_target::{Timing, Unit};

/// Returns the approximate time, in picoseconds, that an instruction or call of this cost class
/// adds to a path. The time of a call is that of its most expensive case, with `entries` entries in
/// its map. The time of an instruction is the interval between two such instructions at full
/// throughput.
pub fn picoseconds(class: &str, timing: &Timing, entries: u64) -> u64 {
    let core = &timing.core;
    let cycles = match class.strip_prefix("call.") {
        Some("call") => core.function_cycles,
        Some(name) => {
            let grown =
                [true, false].map(|zero| growth(name, Some(zero), entries, timing).cycles());
            let price = timing.call(name).map_or(timing.unknown_call, |call| call.max_cycles());
            price.saturating_add(grown.into_iter().max().unwrap_or(0))
        }
        None => match class {
            "alu.mul" => timing.unit(Unit::Multiply).interval,
            "alu.div" => timing.unit(Unit::Divide).interval,
            "atomic" => timing.unit(Unit::Atomic).interval,
            "jump" => core.branch_cycles,
            _ => core.instruction_cycles,
        },
    };
    timing.picoseconds(cycles)
}
