//! Event loop of a simulation run.

use crate::accelerator::{Reply, Request};
use crate::cores::{Latencies, Shared, ThreadContext, execute};
use crate::device::Device;
use crate::error::NicError;
use crate::function::Functions;
use crate::hierarchy::Hierarchy;
use crate::measure::{Snapshot, outcome};
use crate::memory::Memory;
use crate::noise::NOISE;
use crate::outcome::Outcome;
use crate::packet::Packet;
use crate::random::Random;
use crate::scenario::Scenario;
use crate::schedule::Schedule;
use crate::setup::{Parts, place};
use crate::state::{Action, ThreadState};
use crate::time::{Time, from_ns};

/// Maximum time in picoseconds by which a packet's reception may lag behind the start of its
/// processing. Rings of packet buffers hide this lag; with a larger lag, the thread waits.
const MAX_RECEIVE_LAG: Time = 10_000_000;
/// Limit in picoseconds of the random delay before the transfer of a received or sent packet. The
/// delay stands for transfers of other packets in the meantime.
const TRANSFER_DELAY: u32 = 2_000_000;
/// Time in picoseconds by which a request can end before the simulated transfer of its payload,
/// because accelerators read payloads in advance.
const AHEAD: Time = 1_000_000;
/// Maximum number of overdue packets that a late thread of a client with limited rate still
/// processes. It skips earlier ones.
const MAX_BACKLOG: f64 = 64.0;

/// Simulates a scenario. The outcome depends only on the arguments.
///
/// # Errors
///
/// If the scenario is invalid.
pub fn run(
    device: &Device,
    functions: &Functions,
    scenario: &Scenario,
) -> Result<Outcome, NicError> {
    let parts = place(device, functions, scenario)?;
    let mut simulation = Simulation::new(device, parts, scenario);
    let begin = from_ns(scenario.warm_up_ms * 1e6);
    let end = begin + from_ns(scenario.measured_ms * 1e6);
    simulation.until(begin);
    let before = simulation.snapshot(begin);
    for client in &mut simulation.parts.clients {
        client.pages.clear();
    }
    simulation.until(end);
    let after = simulation.snapshot(end);
    let (parts, shared) = (&simulation.parts, &simulation.shared);
    let mut found = outcome(device, functions, parts, shared, (&before, &after));
    found.events = simulation.events;
    if scenario.noise {
        for (at, client) in found.clients.iter_mut().enumerate() {
            client.throughput = NOISE.measured(client.throughput, scenario.seed, at as u64);
        }
    }
    Ok(found)
}

struct Simulation {
    parts: Parts,
    shared: Shared,
    latencies: Latencies,
    schedule: Schedule,
    events: u64,
}

/// Decision whether a thread continues immediately or at a later event.
#[derive(PartialEq, Eq)]
enum Next {
    GoesOn,
    Later,
}

impl Simulation {
    fn new(device: &Device, parts: Parts, scenario: &Scenario) -> Self {
        let threads = parts.threads.len();
        let mut schedule = Schedule::new(threads + parts.accelerators.len());
        for thread in 0..threads {
            schedule.set(thread, 0);
        }
        let shared = Shared {
            caches: Hierarchy::new(device, scenario.sampling),
            memory: Memory::new(&device.memory),
            pending_write_backs: 0,
            random: Random::new(scenario.seed, 0),
        };
        Simulation { parts, shared, latencies: Latencies::new(device), schedule, events: 0 }
    }

    fn until(&mut self, end: Time) {
        while let Some((who, now)) = self.schedule.next() {
            if now >= end {
                self.schedule.set(who, now);
                return;
            }
            self.events += 1;
            self.shared.memory.advance(now);
            match who.checked_sub(self.parts.threads.len()) {
                None => {
                    self.end_idle(who, now);
                    while self.act(who, now) == Next::GoesOn {}
                }
                Some(accelerator) => self.served(accelerator, now),
            }
        }
    }

    /// Executes one action of a thread: receives or takes a packet, runs a processing step, or
    /// passes the packet on.
    fn act(&mut self, id: usize, now: Time) -> Next {
        let thread = &self.parts.threads[id];
        let stage = &self.parts.clients[thread.client].stages[thread.stage];
        let Some(packet) = thread.packet else {
            return match stage.from {
                None => self.receive(id, now),
                Some(link) => self.take(id, link, now),
            };
        };
        match stage.steps.get(thread.step) {
            None => self.hand_on(id, packet, now),
            Some(Action::Call(accelerator)) => {
                let accelerator = *accelerator;
                self.parts.threads[id].step += 1;
                self.wait(id, now);
                self.send(
                    accelerator,
                    self.parts.threads[id].client,
                    &packet,
                    Reply::Thread(id),
                    now,
                );
                Next::Later
            }
            Some(Action::Work(_)) => {
                let end = self.work(id, &packet, now);
                self.schedule.set(id, end);
                Next::Later
            }
        }
    }

    fn work(&mut self, id: usize, packet: &Packet, now: Time) -> Time {
        let ThreadState { client, stage, core, part, cursor, step, .. } =
            &mut self.parts.threads[id];
        let client = &mut self.parts.clients[*client];
        let Some(Action::Work(work)) = client.stages[*stage].steps.get_mut(*step) else {
            return now;
        };
        *step += 1;
        let mut context = ThreadContext {
            core: *core,
            part: *part,
            cursor,
            random: &mut client.random,
            counts: &mut client.counts,
            pages: &mut client.pages,
        };
        execute(work, packet, now, &mut context, &mut self.shared, &self.latencies)
    }

    /// Starts the next packet in a thread of a pipeline's first stage, if a packet is due.
    /// Otherwise the thread waits.
    fn receive(&mut self, id: usize, now: Time) -> Next {
        let thread = &mut self.parts.threads[id];
        let client = &mut self.parts.clients[thread.client];
        if let Some(interval) = client.interval {
            if thread.due > now as f64 {
                thread.idle_since = Some(now);
                self.schedule.set(id, thread.due.ceil() as Time);
                return Next::Later;
            }
            // Random intervals prevent threads from running in lockstep.
            let next = thread.due + interval * (0.5 + client.random.share());
            thread.due = next.max(now as f64 - MAX_BACKLOG * interval);
        }
        let buffer = client.next_buffer;
        client.next_buffer = (buffer + 1) % client.buffers;
        let packet = Packet {
            flow: client.random.below(client.flows),
            buffer,
            matches: client.random.poisson(client.matches),
            begun: now,
        };
        thread.packet = Some(packet);
        thread.step = 0;
        client.note_inside(now);
        client.inside.0 += 1;
        client.counts.begun += 1;
        let Some(region) = &client.packets else { return Next::GoesOn };
        let first = region.line(&packet, 0, &mut client.random);
        for line in self.shared.caches.sampled_of(first, client.packet_lines) {
            self.shared.caches.invalidate(&client.cores, line);
        }
        let later = now + Time::from(self.shared.random.below(TRANSFER_DELAY));
        let lines = client.packet_lines;
        let end = self.shared.memory.burst(later, lines, self.latencies.network);
        let there = end.saturating_sub(MAX_RECEIVE_LAG);
        if there > now {
            thread.idle_since = Some(now);
            self.schedule.set(id, there);
            return Next::Later;
        }
        Next::GoesOn
    }

    /// Takes a ready packet from a link, and wakes a thread that waits for room in the link. If no
    /// packet is ready, the thread waits.
    fn take(&mut self, id: usize, link: usize, now: Time) -> Next {
        let ring = &mut self.parts.links[link];
        let Some(packet) = ring.ready.pop_front() else {
            ring.waiting_consumers.push_back(id);
            self.wait(id, now);
            return Next::Later;
        };
        ring.used -= 1;
        let blocked = ring.waiting_producers.pop_front();
        self.parts.threads[id].packet = Some(packet);
        self.parts.threads[id].step = 0;
        if let Some(other) = blocked {
            self.schedule.set(other, now);
        }
        Next::GoesOn
    }

    /// Passes a packet to the link to the next stage, or finishes it after the last stage.
    fn hand_on(&mut self, id: usize, packet: Packet, now: Time) -> Next {
        let (number, stage) = (self.parts.threads[id].client, self.parts.threads[id].stage);
        let client = &mut self.parts.clients[number];
        let Some(link) = client.stages[stage].to else {
            client.note_inside(now);
            client.inside.0 -= 1;
            client.counts.done += 1;
            client.counts.sojourn += now - packet.begun;
            if client.packets.is_some() {
                let later = now + Time::from(self.shared.random.below(TRANSFER_DELAY));
                self.shared.memory.burst(later, client.packet_lines, self.latencies.network);
            }
            self.parts.threads[id].packet = None;
            return Next::GoesOn;
        };
        let ring = &mut self.parts.links[link];
        if ring.used == ring.depth {
            ring.waiting_producers.push_back(id);
            self.wait(id, now);
            return Next::Later;
        }
        ring.used += 1;
        self.parts.threads[id].packet = None;
        match ring.through {
            Some(accelerator) => {
                self.send(accelerator, number, &packet, Reply::Link(link, packet), now);
            }
            None => self.ready(link, packet, now),
        }
        Next::GoesOn
    }

    fn ready(&mut self, link: usize, packet: Packet, now: Time) {
        let ring = &mut self.parts.links[link];
        ring.ready.push_back(packet);
        if let Some(other) = ring.waiting_consumers.pop_front() {
            self.schedule.set(other, now);
        }
    }

    fn send(
        &mut self,
        accelerator: usize,
        client: usize,
        packet: &Packet,
        reply: Reply,
        now: Time,
    ) {
        let bytes = self.parts.clients[client].payload;
        let request = Request { queue: client, bytes, matches: packet.matches, sent: now, reply };
        self.parts.accelerators[accelerator].send(request);
        self.begin(accelerator, now);
    }

    /// Starts the next request of an accelerator. While serving it, the accelerator reads the
    /// payload from memory.
    fn begin(&mut self, accelerator: usize, now: Time) {
        let server = &mut self.parts.accelerators[accelerator];
        let Some(request) = server.begin(now) else { return };
        let lines = self.parts.clients[request.queue].payload_lines;
        let end = now + server.service(request.bytes, request.matches);
        let there = self.shared.memory.burst(now, lines, server.line_interval());
        let end = end.max(there.saturating_sub(AHEAD));
        self.schedule.set(self.parts.threads.len() + accelerator, end);
    }

    fn served(&mut self, accelerator: usize, now: Time) {
        if let Some(request) = self.parts.accelerators[accelerator].end(now) {
            match request.reply {
                Reply::Thread(id) => self.schedule.set(id, now),
                Reply::Link(link, packet) => self.ready(link, packet, now),
            }
        }
        self.begin(accelerator, now);
    }

    fn wait(&mut self, id: usize, now: Time) {
        self.parts.threads[id].idle_since = Some(now);
    }

    fn end_idle(&mut self, id: usize, now: Time) {
        let thread = &mut self.parts.threads[id];
        if let Some(since) = thread.idle_since.take() {
            self.parts.clients[thread.client].counts.idle += now - since;
        }
    }

    /// Returns the counters at the present time, including those of waiting threads.
    fn snapshot(&mut self, now: Time) -> Snapshot {
        for id in 0..self.parts.threads.len() {
            if self.parts.threads[id].idle_since.is_some() {
                self.end_idle(id, now);
                self.wait(id, now);
            }
        }
        for client in &mut self.parts.clients {
            client.note_inside(now);
        }
        Snapshot::of(&self.parts, &self.shared, now)
    }
}
