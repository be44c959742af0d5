//! What a run has shown.

use std::collections::BTreeMap;

use serde::Serialize;

/// Of a run: what was counted while it was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The NIC; its name begins with `simulated-`.
    pub device: String,
    /// Simulated seconds.
    pub seconds: f64,
    /// In the order of the scenario.
    pub clients: Vec<ClientOutcome>,
    /// By name.
    pub accelerators: BTreeMap<String, AcceleratorOutcome>,
    /// The memory that all share.
    pub memory: MemoryOutcome,
    /// Events that took place, those before anything was measured included.
    pub events: u64,
    /// Packets and rounds, of all clients, also before.
    pub packets: u64,
}

/// Of a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientOutcome {
    /// The function.
    pub function: String,
    /// Packets, or rounds, per second.
    pub throughput: f64,
    /// What a paper of its kind would read from hardware.
    pub counters: Counters,
    /// Packets begun while it was measured.
    pub begun: u64,
    /// Packets done.
    pub done: u64,
    /// Packets that were inside at the beginning, and at the end.
    pub inside: (u64, u64),
    /// Nanoseconds from beginning to end of a packet, on average.
    pub sojourn_ns: f64,
    /// Packets inside, averaged over time.
    pub mean_inside: f64,
    /// Share of its threads' time in which they waited.
    pub idle: f64,
    /// Share of its accesses beyond the level-1 cache that went to memory.
    pub misses: f64,
    /// Bytes of the last-level cache that it has at the end.
    pub occupancy: u64,
}

/// The paper's seven counters (appendix D, Table 13), of all cores of a function together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Counters {
    /// Instructions per cycle.
    pub ipc: f64,
    /// Instructions retired, per second.
    pub irt: f64,
    /// Reads of the level-2 cache, per second.
    pub l2crd: f64,
    /// Writes of it, per second.
    pub l2cwr: f64,
    /// Loads, per second.
    pub memrd: f64,
    /// Stores, per second.
    pub memwr: f64,
    /// Pages that were touched, in MB of 10^6 bytes.
    pub wss_mb: f64,
}

/// Of an accelerator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AcceleratorOutcome {
    /// Share of time in which it served.
    pub busy: f64,
    /// Requests served per second, by client; those without a queue have none.
    pub served: Vec<f64>,
    /// Nanoseconds that a request of each client took of the server, on average.
    pub service_ns: Vec<f64>,
    /// Nanoseconds from sent to served, on average.
    pub sojourn_ns: Vec<f64>,
}

/// Of memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MemoryOutcome {
    /// Share of the bus's slots that were taken, refreshes not included.
    pub busy: f64,
    /// Nanoseconds that a core's read waited for its slot, on average.
    pub waited_ns: f64,
}
