//! Data types for the results of a simulation run.

use std::collections::BTreeMap;

use serde::Serialize;

/// Outcome of a run: totals and averages of the measured period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Name of the NIC; it begins with `simulated-`.
    pub device: String,
    /// Simulated length of the measured period in seconds.
    pub seconds: f64,
    /// Outcomes of the functions (clients), in the order of the scenario.
    pub clients: Vec<ClientOutcome>,
    /// Outcomes of the accelerators, by name.
    pub accelerators: BTreeMap<String, AcceleratorOutcome>,
    /// Outcome of the shared memory.
    pub memory: MemoryOutcome,
    /// Number of simulation events in the whole run, with the warm-up.
    pub events: u64,
    /// Number of packets that all functions have processed in the whole run, with the warm-up.
    /// Functions without packets count their iterations.
    pub packets: u64,
}

/// Outcome of one function with its traffic (a client of the simulation).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientOutcome {
    /// Name of the function.
    pub function: String,
    /// Packets per second; iterations per second for functions without packets.
    pub throughput: f64,
    /// Hardware counters, as Wu et al. use them.
    pub counters: Counters,
    /// Number of packets begun in the measured period.
    pub begun: u64,
    /// Number of packets finished in the measured period.
    pub done: u64,
    /// Number of packets in the function at the start and at the end of the measured period.
    pub inside: (u64, u64),
    /// Average time of a packet in the function, in nanoseconds.
    pub sojourn_ns: f64,
    /// Number of packets in the function, averaged over time.
    pub mean_inside: f64,
    /// Share of the threads' time spent waiting.
    pub idle: f64,
    /// Share of the accesses beyond the level-1 cache that went to memory.
    pub misses: f64,
    /// Number of bytes that the function occupies in the last-level cache at the end of the run.
    pub occupancy: u64,
}

/// The seven counters of Wu et al. (appendix D, Table 13), summed over all cores of a function.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Counters {
    /// Instructions per cycle.
    pub ipc: f64,
    /// Instructions retired, per second.
    pub irt: f64,
    /// Reads of the level-2 cache, per second.
    pub l2crd: f64,
    /// Writes of the level-2 cache, per second.
    pub l2cwr: f64,
    /// Loads, per second.
    pub memrd: f64,
    /// Stores, per second.
    pub memwr: f64,
    /// Touched pages, in MB of 10^6 bytes.
    pub wss_mb: f64,
}

/// Outcome of an accelerator, which all functions share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AcceleratorOutcome {
    /// Share of the time in which the accelerator was busy.
    pub busy: f64,
    /// Requests served per second, by client; 0 for clients without requests.
    pub served: Vec<f64>,
    /// Average service time by client, in nanoseconds.
    pub service_ns: Vec<f64>,
    /// Average time from sending to completion by client, in nanoseconds.
    pub sojourn_ns: Vec<f64>,
}

/// Outcome of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MemoryOutcome {
    /// Share of the bus's slots that transfers used; refreshes do not count as use.
    pub busy: f64,
    /// Average time that a core's read waited for its bus slot, in nanoseconds.
    pub waited_ns: f64,
}
