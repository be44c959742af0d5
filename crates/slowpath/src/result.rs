//! Results as data, ready to be serialised; the format is documented in `docs/json.md`.

use serde::Serialize;
use serde_json::{Map, Value};

/// One entry of `results`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProgramResult {
    pub file: String,
    pub program: String,
    pub target: String,
    pub metric: String,
    pub cores: u32,
    pub guarantee: Option<Throughput>,
    pub naive: Option<Throughput>,
    pub paths: Vec<PathResult>,
    pub assumptions: Vec<String>,
    pub stats: Stats,
    pub error: Option<String>,
}

/// A bound on the throughput.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Throughput {
    pub bitrate_bps: f64,
    pub packetrate_pps: f64,
    pub exact: bool,
    pub stopped: Option<String>,
    pub bottleneck: String,
    /// Packets per second by component; null where the component sets no limit.
    pub components: Map<String, Value>,
}

/// A satisfiable path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PathResult {
    /// Cycles by component.
    pub cost: Map<String, Value>,
    pub min_packet_size: u32,
    pub bitrate_bps: f64,
    pub packetrate_pps: f64,
    pub bottleneck: String,
    pub edges: Vec<(u32, u32)>,
    pub source: Vec<(String, u32)>,
    pub witness: WitnessResult,
}

/// A packet and map content that take a path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WitnessResult {
    /// Two hexadecimal digits a byte, `--` for any value.
    pub packet: String,
    pub length: u32,
    pub maps: Map<String, Value>,
}

/// Effort.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Stats {
    pub seconds: f64,
    pub candidates: u64,
    pub sat: u64,
    pub unsat: u64,
    pub nogoods: u64,
    pub solver_seconds: f64,
}

/// What the human report shows besides the result.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Detail {
    pub paths: Vec<PathDetail>,
    /// Why there is no bound at all, when that is for lack of time and not an error in the input.
    pub stopped: Option<String>,
    /// Whether the error is one of the options, whatever the program.
    pub usage: bool,
}

/// A path for the human report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PathDetail {
    /// First and last instruction of each stretch without a taken branch.
    pub ranges: Vec<(u32, u32)>,
    /// The number of the exit.
    pub exit: u32,
    /// The text of the instructions executed, with their numbers.
    pub listing: Vec<(u32, String)>,
}
