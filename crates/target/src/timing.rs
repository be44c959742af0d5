//! Defines the times that a CPU core needs for BPF instructions and kernel calls, from experiments
//! on a machine. Time estimates are computed from them.
//!
//! Times are integers, in thousandths of a cycle, so that a description and a path have the same
//! estimate on all machines. `decode` reads them, and the crate `estimate` applies them to paths.

use crate::fitted::Fitted;
use std::collections::BTreeMap;

/// Maximum time of a kernel call, in thousandths of a cycle. No real call takes a billion cycles,
/// and the sum over a path with millions of calls fits into 64 bits. The limit is necessary because
/// models can have any value far from measured points.
const MAX_CALL_CYCLES: u64 = 1_000_000_000_000;

/// The functional unit of a CPU core that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Additions, subtractions, bitwise logic, comparisons, byte swaps.
    Alu,
    /// Shifts.
    Shift,
    /// Multiplications.
    Multiply,
    /// Divisions and remainders.
    Divide,
    /// Loads from memory.
    Load,
    /// Stores to memory.
    Store,
    /// Atomic read-modify-write operations.
    Atomic,
    /// Compare-and-jump instructions.
    Branch,
}

impl Unit {
    /// All functional units, in the order of their numbers.
    pub const ALL: [Unit; 8] = [
        Unit::Alu,
        Unit::Shift,
        Unit::Multiply,
        Unit::Divide,
        Unit::Load,
        Unit::Store,
        Unit::Atomic,
        Unit::Branch,
    ];

    /// Returns the name of the unit in target descriptions.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Alu => "alu",
            Unit::Shift => "shift",
            Unit::Multiply => "multiply",
            Unit::Divide => "divide",
            Unit::Load => "load",
            Unit::Store => "store",
            Unit::Atomic => "atomic",
            Unit::Branch => "branch",
        }
    }
}

/// Latency, throughput and queue length of a functional unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitTiming {
    /// Time until the result of an instruction can be used, in thousandths of a cycle.
    pub latency: u64,
    /// Minimum time between the starts of two independent instructions, in thousandths of a cycle.
    pub interval: u64,
    /// Number of instructions that can wait for the unit.
    pub queue: u64,
}

/// Times of a core that do not depend on the functional unit, in thousandths of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreTiming {
    /// Minimum time between two instructions.
    pub instruction_cycles: u64,
    /// Time of a move or an unconditional jump, which need no functional unit.
    pub move_cycles: u64,
    /// Time of a load of a 64-bit constant.
    pub constant_cycles: u64,
    /// Time of a compare-and-jump instruction.
    pub branch_cycles: u64,
    /// Additional time of a compare-and-jump instruction whose jump is taken.
    pub taken_cycles: u64,
    /// Time of a call of a program's own function, including its return.
    pub function_cycles: u64,
    /// Time until a stored value can be loaded (store forwarding).
    pub forward_cycles: u64,
    /// Time until bytes that several stores wrote can be loaded in one access, counted from the
    /// retirement of the last of these stores.
    pub pieces_cycles: u64,
    /// Time of each iteration of the loop with which the kernel runs a program repeatedly.
    pub loop_cycles: u64,
    /// Number of instructions in each iteration of the loop with which the kernel runs a program
    /// repeatedly.
    pub loop_instructions: u64,
    /// Maximum number of instructions in flight (reorder window).
    pub window: u64,
}

/// Timing of a core's pipeline, in thousandths of a cycle. Older calibrations do not have it.
///
/// If a target has it, estimates execute an atomic operation when it retires, and treat a register
/// move like an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineTiming {
    /// Time between two instructions in the fetch stage. Taken jumps take additional time.
    pub fetch_cycles: u64,
    /// Number of instructions that fit into the queue between fetch and rename.
    pub fetch_queue: u64,
    /// Time until the result of a register-to-register move can be used.
    pub move_latency: u64,
    /// Minimum time between the retirement of the program's last instruction and the next
    /// retirement, in each iteration of the kernel's loop around the program.
    pub loop_stall: u64,
    /// Overlap of kernel calls with the code around them; `None` if calls do not overlap with other
    /// code.
    pub calls: Option<OverlapTiming>,
}

/// Overlap in time of kernel calls with the instructions around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapTiming {
    /// Number of kernel instructions that enter the reorder window per cycle of a call's time, in
    /// thousandths: 1500 stands for 1.5 instructions.
    pub instructions: u64,
    /// Latency from arguments to result of a call, in thousandths of the call's time.
    pub result_share: u64,
    /// Additional latency of the result, which is the same for all calls, in thousandths of a
    /// cycle.
    pub result_cycles: u64,
}

/// Time of a kernel call, in thousandths of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTiming {
    /// Time of the call in the usual case.
    pub cycles: u64,
    /// Time if the call returns 0 because it finds nothing. `None` if it equals the usual time.
    pub zero_cycles: Option<u64>,
    /// Additional time for each byte of a key, or of data that the call sums or writes.
    pub byte_cycles: u64,
}

impl CallTiming {
    /// Length in bytes of the longest usual map key (an IPv6 five-tuple, padded).
    const LONG_KEY: u64 = 40;

    /// Returns the time of a call that processes `bytes` bytes, in thousandths of a cycle. `zero`
    /// is true if the call returns 0, false if it does not, and `None` if this is unknown.
    pub fn cycles(&self, zero: Option<bool>, bytes: u32) -> u64 {
        let base = match zero {
            Some(true) => self.zero_cycles.unwrap_or(self.cycles),
            _ => self.cycles,
        };
        base.saturating_add(self.byte_cycles.saturating_mul(bytes.into())).min(MAX_CALL_CYCLES)
    }

    /// Returns the time of a call in the most expensive case, with a long map key, in thousandths
    /// of a cycle.
    pub fn max_cycles(&self) -> u64 {
        let base = self.cycles.max(self.zero_cycles.unwrap_or(0));
        base.saturating_add(self.byte_cycles.saturating_mul(Self::LONG_KEY)).min(MAX_CALL_CYCLES)
    }
}

/// The intervals around an estimate that contain 90 % of the measured times. Their ends are
/// multiples of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorTiming {
    /// Lower end of the interval, in thousandths of the estimate.
    pub low: u64,
    /// Upper end of the interval, in thousandths of the estimate.
    pub high: u64,
    /// Lower end of the interval with many map entries in cold caches, in thousandths of the
    /// estimate.
    pub cold_low: u64,
    /// Upper end of the interval with many map entries in cold caches, in thousandths of the
    /// estimate.
    pub cold_high: u64,
    /// Time added to the upper end `cold_high`, in thousandths of a cycle, because accesses to
    /// packets and small maps can miss the caches, too.
    pub cold_offset: u64,
    /// Lower end of the interval on CPUs of other families, in thousandths of the estimate.
    pub foreign_low: u64,
    /// Upper end of the interval on CPUs of other families, in thousandths of the estimate.
    pub foreign_high: u64,
}

/// Quality of a calibration, which derives the times of a machine from experiments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Number of experiments that measured the machine.
    pub experiments: u64,
    /// Number of experiments that reached the requested precision.
    pub precise: u64,
    /// Number of programs with which the calibration was checked. The fit does not use them.
    pub checks: u64,
    /// Median error of the estimates for the check programs, in thousandths of the measured time.
    pub check_error: u64,
    /// Compiler of the experiments; `None` if unknown.
    pub compiler: Option<String>,
    /// Reason not to use the calibration by default on its machine. `None` if it is good enough.
    pub doubt: Option<String>,
    /// Name of the built-in target whose times a quick calibration has scaled. `None` for a full
    /// calibration.
    pub base: Option<String>,
}

/// Published time to receive and drop a packet, on another machine than the calibrated one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverTiming {
    /// Time per packet on one core, with a program that does nothing else, in picoseconds.
    pub picoseconds: u64,
    /// Name of the driver.
    pub driver: String,
    /// Address of the publication.
    pub source: String,
}

/// The measurements of a machine from which time estimates are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Name of the machine that was measured.
    pub machine: String,
    /// Date of the measurement.
    pub date: String,
    /// Clock frequency of the machine's cores, in cycles per second.
    pub clock_hz: u64,
    /// Times of a core that do not depend on the functional unit.
    pub core: CoreTiming,
    /// Timing of the core's pipeline. `None` in older calibrations.
    pub pipeline: Option<PipelineTiming>,
    /// Timing of each functional unit, in the order of [`Unit::ALL`].
    pub units: [UnitTiming; Unit::ALL.len()],
    /// Times of kernel calls by name. A name consists of the name of the helper, optionally
    /// followed by `.MAP_TYPE` and then `.CASE`.
    pub calls: BTreeMap<String, CallTiming>,
    /// Time of a call that has no entry in `calls`, in thousandths of a cycle.
    pub unknown_call: u64,
    /// Interval around an estimate that contains most measured times.
    pub error: ErrorTiming,
    /// Quality of the calibration; `None` if the description does not state it.
    pub calibration: Option<Calibration>,
    /// Published time of a driver, which estimates do not include.
    pub driver: Option<DriverTiming>,
    /// Models of times as functions of one parameter, each under the name of its experiment.
    pub models: BTreeMap<String, Fitted>,
}

impl Timing {
    /// Returns the timing of a functional unit.
    pub fn unit(&self, unit: Unit) -> &UnitTiming {
        &self.units[unit as usize]
    }

    /// Returns the timing of a kernel call by its name (`HELPER.MAP_TYPE.CASE`). If there is none,
    /// uses the timing for the name without the case, then for the name of the helper alone.
    pub fn call(&self, name: &str) -> Option<&CallTiming> {
        let mut known = name;
        loop {
            if let Some(call) = self.calls.get(known) {
                return Some(call);
            }
            known = known.rsplit_once('.')?.0;
        }
    }

    /// Returns the model of a call's time as a function of the number of entries in its map; `None`
    /// if the call has no model. `found` selects the model of calls that find an element (`true`)
    /// or that find none (`false`). If the latter is missing, returns the model of calls that find
    /// an element.
    pub fn by_entries(&self, call: &str, found: bool) -> Option<&Fitted> {
        let of_call = |model: &&Fitted| {
            // The call's name may end with the case, after the type of the map.
            let names = |name: &String| {
                call.strip_prefix(name.as_str())
                    .is_some_and(|case| case.is_empty() || case.starts_with('.'))
            };
            model.parameter == "entries" && model.calls.iter().any(names)
        };
        let models = || self.models.values().filter(of_call);
        models().find(|model| model.found == found).or_else(|| models().find(|model| model.found))
    }

    /// Converts nanoseconds to thousandths of a cycle.
    pub fn cycles(&self, nanoseconds: f64) -> u64 {
        let cycles = (nanoseconds.max(0.0) * self.clock_hz as f64 / 1e6).round() as u64;
        cycles.min(MAX_CALL_CYCLES)
    }

    /// Converts thousandths of a cycle to picoseconds.
    pub fn picoseconds(&self, cycles: u64) -> u64 {
        let time = u128::from(cycles) * 1_000_000_000 / u128::from(self.clock_hz.max(1));
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}
