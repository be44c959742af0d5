//! State of a simulation: clients, threads and stages.

use crate::address::MemoryRegion;
use crate::cores::Work;
use crate::count::{Counts, Pages};
use crate::packet::Packet;
use crate::random::Random;
use crate::time::Time;

/// A running function.
#[derive(Debug)]
pub struct ClientState {
    /// Name of the function.
    pub name: String,
    /// Memory of the packet buffers; `None` if the function receives no packets.
    pub packets: Option<MemoryRegion>,
    /// Number of buffers, used in turn.
    pub buffers: u32,
    /// Index of the buffer for the next packet.
    pub next_buffer: u32,
    /// Lines of a packet.
    pub packet_lines: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// Lines of payload.
    pub payload_lines: u32,
    /// Average number of matches in a packet.
    pub matches: f64,
    /// Number of flows.
    pub flows: u32,
    /// Picoseconds between two packets of a thread of the first stage, if the rate is limited.
    pub interval: Option<f64>,
    /// Cores of the client.
    pub cores: Vec<usize>,
    /// Range of the client's lines in memory: first line, and end (exclusive).
    pub lines: (u32, u32),
    /// Random numbers of the client.
    pub random: Random,
    /// Counters.
    pub counts: Counts,
    /// Touched pages.
    pub pages: Pages,
    /// Number of packets in the client, and time of the last update of `counts.inside_time`.
    pub inside: (u64, Time),
    /// Stages of the function.
    pub stages: Vec<StageState>,
}

impl ClientState {
    /// Updates the integral of the number of packets; call it before this number changes.
    pub fn note_inside(&mut self, now: Time) {
        let (count, since) = self.inside;
        self.counts.inside_time += u128::from(count) * u128::from(now - since);
        self.inside.1 = now;
    }
}

/// A stage of a client.
#[derive(Debug)]
pub struct StageState {
    /// Steps in the order of their execution.
    pub steps: Vec<Action>,
    /// Index of the link from which packets arrive; `None` for the first stage.
    pub from: Option<usize>,
    /// Index of the link to which packets go; `None` for the last stage.
    pub to: Option<usize>,
}

/// The action of a step.
#[derive(Debug)]
pub enum Action {
    /// Executes instructions and memory accesses.
    Work(Work),
    /// Calls the accelerator with this index and waits for its reply.
    Call(usize),
}

/// A thread on its own core.
#[derive(Debug)]
pub struct ThreadState {
    /// Index of the client.
    pub client: usize,
    /// Index of the stage.
    pub stage: usize,
    /// Index of the core.
    pub core: usize,
    /// Index of the thread in its stage, and number of threads in the stage.
    pub part: (u32, u32),
    /// Position in the thread's part of an array.
    pub cursor: u32,
    /// Packet that the thread processes.
    pub packet: Option<Packet>,
    /// Index of the next step.
    pub step: usize,
    /// Time since which the thread waits.
    pub idle_since: Option<Time>,
    /// Time at which the next packet is due, if the rate is limited.
    pub due: f64,
}
