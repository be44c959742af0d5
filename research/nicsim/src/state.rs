//! State of a simulation: clients, threads and stages.

use crate::address::MemoryRegion;
use crate::cores::Work;
use crate::count::{Counts, Pages};
use crate::packet::Packet;
use crate::random::Random;
use crate::time::Time;

/// A network function while it runs in the simulation.
#[derive(Debug)]
pub struct ClientState {
    /// Name of the function.
    pub name: String,
    /// Memory of the packet buffers; `None` if the function receives no packets.
    pub packets: Option<MemoryRegion>,
    /// Number of buffers, used in turn.
    pub buffers: u32,
    /// Index of the packet buffer for the next packet.
    pub next_buffer: u32,
    /// Number of cache lines of a packet.
    pub packet_lines: u32,
    /// Bytes of payload of a packet.
    pub payload: u32,
    /// Number of cache lines of the payload.
    pub payload_lines: u32,
    /// Average number of matches in a packet.
    pub matches: f64,
    pub flows: u32,
    /// Picoseconds between two packets of a thread of the first stage, if the rate is limited.
    pub interval: Option<f64>,
    pub cores: Vec<usize>,
    /// Range of the function's cache lines in memory: first line, and end (exclusive), by number.
    pub lines: (u32, u32),
    pub random: Random,
    pub counts: Counts,
    pub pages: Pages,
    /// Number of packets in the function, and time at which `counts.inside_time` was last updated.
    pub inside: (u64, Time),
    pub stages: Vec<StageState>,
}

impl ClientState {
    /// Updates the integral over time of the number of packets. Must be called before this number
    /// changes.
    pub fn note_inside(&mut self, now: Time) {
        let (count, since) = self.inside;
        self.counts.inside_time += u128::from(count) * u128::from(now - since);
        self.inside.1 = now;
    }
}

/// A stage of a running function.
#[derive(Debug)]
pub struct StageState {
    /// Steps in the order of their execution.
    pub steps: Vec<Action>,
    /// Index of the link from which packets arrive; `None` for the first stage.
    pub from: Option<usize>,
    /// Index of the link to which packets go; `None` for the last stage.
    pub to: Option<usize>,
}

/// Action of a step of packet processing.
#[derive(Debug)]
pub enum Action {
    /// Executes instructions and memory accesses.
    Work(Work),
    /// Calls the accelerator with this index and waits for its reply.
    Call(usize),
}

/// A thread of a function, on its own core.
#[derive(Debug)]
pub struct ThreadState {
    /// Index of the client that the thread belongs to.
    pub client: usize,
    /// Index of the stage in the client.
    pub stage: usize,
    pub core: usize,
    /// Index of the thread among the threads of its pipeline stage, and the number of these
    /// threads.
    pub part: (u32, u32),
    /// Position of the thread's last access in the part of an array region that only this thread
    /// uses.
    pub cursor: u32,
    pub packet: Option<Packet>,
    /// Index of the step that the thread executes next.
    pub step: usize,
    /// Time since which the thread waits; `None` if it does not wait.
    pub idle_since: Option<Time>,
    /// Time at which the next packet is due, if the rate is limited.
    pub due: f64,
}
