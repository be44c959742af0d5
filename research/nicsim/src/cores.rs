//! Execution of steps by threads: the duration of a step on its core.
//!
//! Instructions take their cycles as if all data were in the level-1 cache. Cache lines that are
//! not in the level-1 cache add their latency. Dependent accesses run one by one; independent
//! accesses run in parallel, as many as the core or its prefetcher supports. A core continues with
//! later instructions until its window is full, which hides a part of a step's first miss. A
//! prefetched sequence takes the maximum of the times of its instructions and of its lines.

use crate::address::{LINE, MemoryRegion};
use crate::count::{Counts, Pages};
use crate::device::Device;
use crate::estimate::Estimate;
use crate::function::Order;
use crate::hierarchy::{Hierarchy, Level};
use crate::memory::Memory;
use crate::packet::Packet;
use crate::random::Random;
use crate::time::{SECOND, Time, from_ns};

/// State that all threads share.
#[derive(Debug)]
pub struct Shared {
    pub caches: Hierarchy,
    pub memory: Memory,
    /// Number of dirty cache lines that wait to be written back to memory; each later access writes
    /// one of them.
    pub pending_write_backs: u32,
    /// Random numbers for the times of device transfers.
    pub random: Random,
}

/// A processing step of a function that does not call an accelerator, with its costs on the device.
#[derive(Debug, Clone)]
pub struct Work {
    /// Number of instructions for a packet with the packet size of the client.
    pub instructions: f64,
    /// Duration of the instructions if all data are in the level-1 cache.
    pub compute: Time,
    /// Part of the latency of the step's first cache miss that later instructions hide.
    pub hidden: Time,
    /// Cache lines that the step touches, if any.
    pub touch: Option<Touch>,
}

/// The cache lines that a step touches.
#[derive(Debug, Clone)]
pub struct Touch {
    pub region: MemoryRegion,
    /// Number of cache lines that the step touches for each packet.
    pub lines: u32,
    /// Dependences between the accesses.
    pub order: Order,
    /// Share of the accesses that are writes, in units of 2^-32.
    pub writes: u64,
    /// Estimate of cache levels from recent accesses of this step, for lines whose cache set is not
    /// simulated.
    pub estimate: Estimate,
    /// True if the region is too small to have a line in every simulated cache set.
    pub tiny: bool,
}

/// Latencies of caches and network of a device, and its limits on lines in flight.
#[derive(Debug, Clone, Copy)]
pub struct Latencies {
    l2: Time,
    l3: Time,
    outstanding: usize,
    stream: usize,
    /// Time between two cache lines of a packet on the network interface.
    pub network: Time,
}

impl Latencies {
    /// Takes the latencies from a device.
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

/// Converts a number of clock cycles of a device into time.
pub fn cycles(device: &Device, count: f64) -> Time {
    (count / device.cores.clock_hz * SECOND as f64).round() as Time
}

/// The parts of a thread's state that are needed to execute a step.
#[derive(Debug)]
pub struct ThreadContext<'a> {
    pub core: usize,
    /// Index of the thread among the threads of its pipeline stage, and the number of these
    /// threads.
    pub part: (u32, u32),
    /// Position of the thread's last access in the part of an array region that only this thread
    /// uses.
    pub cursor: &'a mut u32,
    /// Random numbers of the function that the thread executes.
    pub random: &'a mut Random,
    /// Counters of the function that the thread executes.
    pub counts: &'a mut Counts,
    /// Touched pages of the function that the thread executes.
    pub pages: &'a mut Pages,
}

/// Executes a processing step that starts at `now`. Returns the time at which the step ends.
pub fn execute(
    work: &mut Work,
    packet: &Packet,
    now: Time,
    context: &mut ThreadContext<'_>,
    shared: &mut Shared,
    latencies: &Latencies,
) -> Time {
    context.counts.instructions += work.instructions;
    let computed = now + work.compute;
    let Some(touch) = &mut work.touch else { return computed };
    let lines = touch.lines;
    if touch.order == Order::Chase {
        let mut at = now;
        for number in 0..lines {
            at = arrive(touch, number, packet, at, context, shared, latencies);
        }
        return computed + (at - now).saturating_sub(work.hidden);
    }
    let stream = touch.order == Order::Stream;
    let width = if stream { latencies.stream } else { latencies.outstanding };
    let mut ways = [now; 64];
    let apart = if stream { work.compute / Time::from(lines.max(1)) } else { 0 };
    let mut last = now;
    for number in 0..lines {
        // Lines are issued in order, so the slots are reused in turn.
        let way = &mut ways[number as usize % width];
        let issued = (*way).max(now + apart * Time::from(number));
        *way = arrive(touch, number, packet, issued, context, shared, latencies);
        last = last.max(*way);
    }
    if stream {
        // Prefetchers run ahead, so the last lines may be in flight when the next step begins.
        computed.max(last.saturating_sub(work.hidden))
    } else {
        computed + (last - now).saturating_sub(work.hidden)
    }
}

/// Touches a cache line at time `at` and returns the time at which the line arrives.
#[inline]
fn arrive(
    touch: &mut Touch,
    number: u32,
    packet: &Packet,
    at: Time,
    context: &mut ThreadContext<'_>,
    shared: &mut Shared,
    latencies: &Latencies,
) -> Time {
    let line = if touch.order == Order::Stream && !touch.region.holds_packets() {
        touch.region.next_line(context.cursor, context.part.0, context.part.1)
    } else {
        touch.region.line(packet, number, context.random)
    };
    context.pages.touch(line);
    let level = if let Some(sampled) = shared.caches.sampled(line) {
        let written = touch.writes > 0 && context.random.bits() >> 32 < touch.writes;
        let found = shared.caches.access(context.core, sampled, written);
        touch.estimate.observe(found.level);
        context.counts.l2_writes += u64::from(found.to_l2);
        // A line that leaves a simulated set stands for `sampling` lines, which are written later.
        shared.pending_write_backs += found.to_memory * shared.caches.sampling();
        found.level
    } else if touch.tiny {
        Level::L1
    } else {
        touch.estimate.draw(context.random)
    };
    if shared.pending_write_backs > 0 {
        shared.pending_write_backs -= 1;
        shared.memory.write(at);
    }
    if level == Level::L1 {
        return at;
    }
    context.counts.l2_reads += 1;
    match level {
        Level::L2 => at + latencies.l2,
        Level::L3 => at + latencies.l3,
        _ => {
            context.counts.misses += 1;
            shared.memory.read(at, line)
        }
    }
}
