//! The speed of a core, from experiments on a machine: the numbers behind estimates of times.
//!
//! Numbers are thousandths of a cycle, so that the same description and the same path come to the
//! same time everywhere. Reading is in `decode`; what they mean for a path is the business of the
//! crate `estimate`.

use crate::fitted::Fitted;
use std::collections::BTreeMap;

/// What a call is taken to need at most, in thousandths of a cycle: a billion cycles are more than
/// any takes, and what paths of millions of calls add up to stays in 64 bits. Models can say
/// anything far from where they were measured.
const DEAREST: u64 = 1_000_000_000_000;

/// Where an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Sums, logic, comparisons, swaps of bytes.
    Alu,
    /// Shifts.
    Shift,
    /// Products.
    Multiply,
    /// Quotients and remainders.
    Divide,
    /// Reading memory.
    Load,
    /// Writing memory.
    Store,
    /// Reading, changing and writing memory at once.
    Atomic,
    /// Comparing and jumping, or not.
    Branch,
}

impl Unit {
    /// All of them, by their numbers.
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

    /// Its name in descriptions.
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

/// The execution of instructions of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitTiming {
    /// Until the result can be used, in thousandths of a cycle.
    pub latency: u64,
    /// Between two that do not wait for each other, in thousandths of a cycle.
    pub interval: u64,
    /// Instructions that can wait.
    pub queue: u64,
}

/// Numbers that all instructions share, in thousandths of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreTiming {
    /// Between two instructions, at best.
    pub instruction_cycles: u64,
    /// Behind a move or a jump, which need no unit.
    pub move_cycles: u64,
    /// Behind a constant of 64 bits.
    pub constant_cycles: u64,
    /// Behind a comparison that jumps or not.
    pub branch_cycles: u64,
    /// More where it jumps.
    pub taken_cycles: u64,
    /// Call of a function of the program, with its return.
    pub function_cycles: u64,
    /// Until what was stored can be loaded again.
    pub forward_cycles: u64,
    /// After the last of several stores has retired, until what they have written can be loaded at
    /// once.
    pub pieces_cycles: u64,
    /// The kernel's loop around the program.
    pub loop_cycles: u64,
    /// Instructions of that loop.
    pub loop_instructions: u64,
    /// Instructions that are on their way at a time.
    pub window: u64,
}

/// Properties of a core that older calibrations leave out, in thousandths of a cycle.
///
/// Where it is known, atomic operations are executed when they retire, and a move of a register is
/// executed like a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineTiming {
    /// From one instruction to the next while they are fetched; jumps that are taken cost here.
    pub fetch_cycles: u64,
    /// Instructions between fetching and renaming.
    pub fetch_queue: u64,
    /// Until a register that was moved can be used.
    pub move_latency: u64,
    /// Wait of the kernel's loop in each turn, after all before it has retired.
    pub loop_stall: u64,
    /// The overlap of kernel calls with the code around them; `None`: they stop the flow.
    pub calls: Option<OverlapTiming>,
}

/// The overlap of kernel calls with the code around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapTiming {
    /// Instructions of the kernel that enter the window in a cycle of a call, in thousandths.
    pub instructions: u64,
    /// Cycles from its arguments to its result, for each cycle that the call takes, in thousandths.
    pub result_share: u64,
    /// More cycles until its result can be used.
    pub result_cycles: u64,
}

/// The price of a call of the kernel, in thousandths of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTiming {
    /// As a rule.
    pub cycles: u64,
    /// Where it returns 0 and that is something else: nothing was found.
    pub zero_cycles: Option<u64>,
    /// More for each byte that it works on: of a key, or of what is summed up or written out.
    pub byte_cycles: u64,
}

impl CallTiming {
    /// Bytes of the longest keys that are usual (an IPv6 five-tuple, padded).
    const LONG_KEY: u64 = 40;

    /// What it takes for so many bytes, where it is known whether it returns 0.
    pub fn cycles(&self, zero: Option<bool>, bytes: u32) -> u64 {
        let base = match zero {
            Some(true) => self.zero_cycles.unwrap_or(self.cycles),
            _ => self.cycles,
        };
        base.saturating_add(self.byte_cycles.saturating_mul(bytes.into())).min(DEAREST)
    }

    /// Its price in the dearest case, with a long key.
    pub fn most(&self) -> u64 {
        let base = self.cycles.max(self.zero_cycles.unwrap_or(0));
        base.saturating_add(self.byte_cycles.saturating_mul(Self::LONG_KEY)).min(DEAREST)
    }
}

/// The interval of times: 90 of 100 lie between these parts of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorTiming {
    /// The lower end, in thousandths of the estimate.
    pub low: u64,
    /// The upper end.
    pub high: u64,
}

/// The quality of the calibration that the numbers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Experiments that it consists of.
    pub experiments: u64,
    /// Experiments that met the precision that was asked for.
    pub precise: u64,
    /// Programs that nothing was fitted to.
    pub checks: u64,
    /// The median error of these programs, in thousandths of their time.
    pub check_error: u64,
    /// The compiler of the experiments, where it is known.
    pub compiler: Option<String>,
    /// The reason against it as the default of a machine; `None` where it is good enough.
    pub doubt: Option<String>,
}

/// The numbers that estimates are made with.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The machine that was measured.
    pub machine: String,
    /// When it was measured.
    pub date: String,
    /// Cycles per second.
    pub clock_hz: u64,
    /// Numbers that all instructions share.
    pub core: CoreTiming,
    /// Numbers that newer calibrations have; `None` in older ones.
    pub pipeline: Option<PipelineTiming>,
    /// By [`Unit`].
    pub units: [UnitTiming; Unit::ALL.len()],
    /// By name of the helper, behind points the type of its map, and the case.
    pub calls: BTreeMap<String, CallTiming>,
    /// The price of a call without one of its own, in thousandths of a cycle.
    pub unknown_call: u64,
    /// The interval of times around an estimate.
    pub error: ErrorTiming,
    /// Its quality; `None` where the description states none.
    pub calibration: Option<Calibration>,
    /// What components take by one of their parameters, by the name of the experiment.
    pub models: BTreeMap<String, Fitted>,
}

impl Timing {
    /// The execution of instructions of one kind.
    pub fn unit(&self, unit: Unit) -> &UnitTiming {
        &self.units[unit as usize]
    }

    /// What a call takes: of the helper with that type of map and in that case, else in any, else
    /// with any type of map.
    pub fn call(&self, name: &str) -> Option<&CallTiming> {
        let mut known = name;
        loop {
            if let Some(call) = self.calls.get(known) {
                return Some(call);
            }
            known = known.rsplit_once('.')?.0;
        }
    }

    /// The model of how a call grows with the entries of its map, where it finds something or not:
    /// where there is none of calls that find nothing, that of those that do.
    pub fn by_entries(&self, call: &str, found: bool) -> Option<&Fitted> {
        let of_call = |model: &&Fitted| {
            // Behind the type of the map may be the case.
            let names = |name: &String| {
                call.strip_prefix(name.as_str())
                    .is_some_and(|case| case.is_empty() || case.starts_with('.'))
            };
            model.parameter == "entries" && model.calls.iter().any(names)
        };
        let any = || self.models.values().filter(of_call);
        any().find(|model| model.found == found).or_else(|| any().find(|model| model.found))
    }

    /// Nanoseconds of a call as thousandths of a cycle.
    pub fn cycles(&self, nanoseconds: f64) -> u64 {
        let cycles = (nanoseconds.max(0.0) * self.clock_hz as f64 / 1e6).round() as u64;
        cycles.min(DEAREST)
    }

    /// Thousandths of a cycle as picoseconds.
    pub fn picoseconds(&self, cycles: u64) -> u64 {
        let time = u128::from(cycles) * 1_000_000_000 / u128::from(self.clock_hz.max(1));
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}
