//! Approximates the times of single instructions and calls, so that a search can look for paths
//! with large sums.

use crate::code::Code;
use crate::growth::{Occupancy, largest};
use slowpath_target::{Timing, Unit};

/// Returns the approximate time, in picoseconds, that an instruction or call of this cost class
/// adds to a path of `code`. The time of a call is that of its most expensive case, with the largest
/// map of its type. The time of an instruction is the interval between two such instructions at full
/// throughput.
pub fn picoseconds(class: &str, timing: &Timing, code: &Code, occupancy: Occupancy) -> u64 {
    let core = &timing.core;
    let cycles = match class.strip_prefix("call.") {
        Some("call") => core.function_cycles,
        Some(name) => {
            let price = timing.call(name).map_or(timing.unknown_call, |call| call.max_cycles());
            price.saturating_add(largest(name, timing, code, occupancy))
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
