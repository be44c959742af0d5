//! A thread at work: how long a step takes on its core.
//!
//! Instructions take cycles as if all were found in the level-1 cache. Lines that are further away
//! take their latency on top: one after the other where each says where the next one is, else as
//! many at once as the core, or its prefetcher, can have on their way. A core goes on with what it
//! knows until its window is full, which hides that much of the first miss of a step; a sequence
//! that is prefetched takes the longer one of its instructions and its lines.

use crate::address::{LINE, Place};
use crate::count::{Counts, Pages};
use crate::device::Device;
use crate::estimate::Estimate;
use crate::function::Order;
use crate::hierarchy::{Hierarchy, Level};
use crate::memory::Memory;
use crate::packet::Packet;
use crate::random::Random;
use crate::time::{SECOND, Time, from_ns};

/// What all threads share.
#[derive(Debug)]
pub struct Shared {
    /// The caches.
    pub caches: Hierarchy,
    /// The memory.
    pub memory: Memory,
    /// Lines that have to be written to memory, one for each that is touched from now on.
    pub owed: u32,
    /// When devices transfer what.
    pub random: Random,
}

/// A step without an accelerator, ready to be executed.
#[derive(Debug, Clone)]
pub struct Work {
    /// Instructions for a packet of the client's size.
    pub instructions: f64,
    /// What they take.
    pub compute: Time,
    /// How much of a miss instructions can hide.
    pub hidden: Time,
    /// The lines that it touches, if any.
    pub touch: Option<Touch>,
}

/// Lines of a step.
#[derive(Debug, Clone)]
pub struct Touch {
    /// The region.
    pub place: Place,
    /// How many.
    pub lines: u32,
    /// Whether they wait for each other.
    pub order: Order,
    /// The share that is written, of 2^32.
    pub writes: u64,
    /// Where they were found lately.
    pub estimate: Estimate,
    /// Whether the region is too small to have a line in every simulated set.
    pub tiny: bool,
}

/// Latencies of a device.
#[derive(Debug, Clone, Copy)]
pub struct Latencies {
    l2: Time,
    l3: Time,
    outstanding: usize,
    stream: usize,
    /// From one line of a packet that the network brings or takes to the next.
    pub network: Time,
}

impl Latencies {
    /// Those of a device.
    pub fn new(device: &Device) -> Self {
        Latencies {
            l2: from_ns(device.l2.latency_ns),
            l3: from_ns(device.l3.latency_ns),
            outstanding: device.cores.outstanding,
            stream: device.cores.stream_outstanding,
            network: (LINE as f64 / device.packets.bytes_per_second * SECOND as f64) as Time,
        }
    }
}

/// So many cycles of a device's clock.
pub fn cycles(device: &Device, count: f64) -> Time {
    (count / device.cores.clock_hz * SECOND as f64).round() as Time
}

/// A thread, as far as executing a step needs to know.
#[derive(Debug)]
pub struct Hand<'a> {
    /// Its core.
    pub core: usize,
    /// Which of the threads of its stage it is, and how many there are.
    pub part: (u32, u32),
    /// Where it is in arrays.
    pub cursor: &'a mut u32,
    /// Of its client.
    pub random: &'a mut Random,
    /// Of its client.
    pub counts: &'a mut Counts,
    /// Of its client.
    pub pages: &'a mut Pages,
}

/// Executes a step; when it ends.
pub fn execute(
    work: &mut Work,
    packet: &Packet,
    now: Time,
    hand: &mut Hand<'_>,
    shared: &mut Shared,
    latencies: &Latencies,
) -> Time {
    hand.counts.instructions += work.instructions;
    let computed = now + work.compute;
    let Some(touch) = &mut work.touch else { return computed };
    let lines = touch.lines;
    if touch.order == Order::Chase {
        let mut at = now;
        for number in 0..lines {
            at = arrive(touch, number, packet, at, hand, shared, latencies);
        }
        return computed + (at - now).saturating_sub(work.hidden);
    }
    let stream = touch.order == Order::Stream;
    let width = if stream { latencies.stream } else { latencies.outstanding };
    let mut ways = [now; 64];
    let apart = if stream { work.compute / Time::from(lines.max(1)) } else { 0 };
    let mut last = now;
    for number in 0..lines {
        // Lines leave in order, so the way that has been taken longest is the next one.
        let way = &mut ways[number as usize % width];
        let issued = (*way).max(now + apart * Time::from(number));
        *way = arrive(touch, number, packet, issued, hand, shared, latencies);
        last = last.max(*way);
    }
    if stream {
        // What is left at the end is fetched while the next step begins: prefetchers run ahead.
        computed.max(last.saturating_sub(work.hidden))
    } else {
        computed + (last - now).saturating_sub(work.hidden)
    }
}

/// Touches a line at a time; when it is there.
#[inline]
fn arrive(
    touch: &mut Touch,
    number: u32,
    packet: &Packet,
    at: Time,
    hand: &mut Hand<'_>,
    shared: &mut Shared,
    latencies: &Latencies,
) -> Time {
    let line = if touch.order == Order::Stream && !touch.place.holds_packets() {
        touch.place.next_line(hand.cursor, hand.part.0, hand.part.1)
    } else {
        touch.place.line(packet, number, hand.random)
    };
    hand.pages.touch(line);
    let level = if let Some(sampled) = shared.caches.sampled(line) {
        let written = touch.writes > 0 && hand.random.bits() >> 32 < touch.writes;
        let found = shared.caches.access(hand.core, sampled, written);
        touch.estimate.observe(found.level);
        hand.counts.l2_writes += u64::from(found.to_l2);
        // What leaves a simulated set stands for as much of all others, which leaves later on.
        shared.owed += found.to_memory * shared.caches.sampling();
        found.level
    } else if touch.tiny {
        Level::L1
    } else {
        touch.estimate.draw(hand.random)
    };
    if shared.owed > 0 {
        shared.owed -= 1;
        shared.memory.write(at);
    }
    if level == Level::L1 {
        return at;
    }
    hand.counts.l2_reads += 1;
    match level {
        Level::L2 => at + latencies.l2,
        Level::L3 => at + latencies.l3,
        _ => {
            hand.counts.misses += 1;
            shared.memory.read(at, line)
        }
    }
}
