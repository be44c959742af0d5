//! The parts of a simulation: clients, their threads, and stages.

use crate::address::Place;
use crate::cores::Work;
use crate::count::{Counts, Pages};
use crate::packet::Packet;
use crate::random::Random;
use crate::time::Time;

/// A function that runs.
#[derive(Debug)]
pub struct ClientState {
    /// Its name.
    pub name: String,
    /// Where its packets are kept; `None` where it receives none.
    pub packets: Option<Place>,
    /// Buffers, of which the next one is taken.
    pub buffers: u32,
    /// The next one.
    pub next_buffer: u32,
    /// Lines of a packet.
    pub packet_lines: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// Lines of payload.
    pub payload_lines: u32,
    /// Matches in a packet, on average.
    pub matches: f64,
    /// Flows.
    pub flows: u32,
    /// Picoseconds between packets of each of the first threads, where they are limited.
    pub interval: Option<f64>,
    /// Its cores.
    pub cores: Vec<usize>,
    /// The first line of its memory, and the one behind the last.
    pub lines: (u32, u32),
    /// Of everything that it draws.
    pub random: Random,
    /// What was counted.
    pub counts: Counts,
    /// Pages that were touched.
    pub pages: Pages,
    /// Packets inside, and since when.
    pub inside: (u64, Time),
    /// What its threads do.
    pub stages: Vec<StageState>,
}

impl ClientState {
    /// Adds up how long how many packets were inside, before their number changes.
    pub fn note_inside(&mut self, now: Time) {
        let (count, since) = self.inside;
        self.counts.inside_time += u128::from(count) * u128::from(now - since);
        self.inside.1 = now;
    }
}

/// A stage of a client.
#[derive(Debug)]
pub struct StageState {
    /// One after the other.
    pub steps: Vec<Doing>,
    /// The link that packets come from.
    pub from: Option<usize>,
    /// The link that they go to.
    pub to: Option<usize>,
}

/// What a thread does in a step.
#[derive(Debug)]
pub enum Doing {
    /// It works.
    Work(Work),
    /// It calls the accelerator of this number, and waits.
    Call(usize),
}

/// A thread on a core of its own.
#[derive(Debug)]
pub struct ThreadState {
    /// Of this client.
    pub client: usize,
    /// In this stage.
    pub stage: usize,
    /// Its core.
    pub core: usize,
    /// Which of the threads of the stage it is, and how many there are.
    pub part: (u32, u32),
    /// Where it is in arrays.
    pub cursor: u32,
    /// What it works on.
    pub packet: Option<Packet>,
    /// The step that comes next.
    pub step: usize,
    /// Since when it waits.
    pub idle_since: Option<Time>,
    /// When the next packet is due, where they are limited.
    pub due: f64,
}
