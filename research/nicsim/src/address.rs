//! Addresses of the functions' memory regions, and selection of the cache lines that a packet
//! touches.

use std::collections::BTreeMap;

use slowpath_random::mix;

use crate::error::NicError;
use crate::function::{Function, Region, RegionKind};
use crate::packet::Packet;
use crate::random::Random;
use crate::scenario::Client;

/// Size of a cache line in bytes.
pub const LINE: u64 = 64;
/// Number of cache lines of a memory page, the unit of working sets.
pub const PAGE_LINES: u32 = 64;

/// A range of cache lines in memory that belongs to one function.
#[derive(Debug, Clone)]
pub struct MemoryRegion {
    first: u32,
    lines: u32,
    rule: Rule,
    salt: u64,
}

#[derive(Debug, Clone, Copy)]
enum Rule {
    /// A region with this number of cache lines for each flow.
    Flow(u32),
    /// Hash buckets: number of buckets (a power of two), and bytes of each bucket.
    Buckets(u64, u64),
    Table,
    Array,
    /// Packet buffers, with this number of cache lines each.
    Packets(u32),
}

/// An allocator that hands out consecutive memory, and never frees it.
#[derive(Debug, Default)]
pub struct Allocator {
    next: u64,
}

impl Allocator {
    /// Returns the number of the first cache line that is not allocated yet.
    pub fn next(&self) -> u32 {
        self.next as u32
    }

    /// Allocates a memory region of a function, with the size that its kind and the traffic need.
    pub fn region(
        &mut self,
        region: &Region,
        client: &Client,
        name: &str,
    ) -> Result<MemoryRegion, NicError> {
        let flows = u64::from(client.flows);
        let buckets = flows.next_power_of_two();
        let (bytes, rule) = match region.kind {
            RegionKind::Flow => {
                let lines = region.bytes.div_ceil(LINE);
                (flows * lines * LINE, Rule::Flow(lines as u32))
            }
            RegionKind::Buckets => (buckets * region.bytes, Rule::Buckets(buckets, region.bytes)),
            RegionKind::Table => (region.bytes, Rule::Table),
            RegionKind::Array => (client.working_set.max(LINE), Rule::Array),
        };
        self.take(bytes, rule, &format!("{}, region {name}", client.function))
    }

    /// Allocates memory for `buffers` packet buffers of `bytes` bytes each.
    pub fn packets(
        &mut self,
        buffers: u32,
        bytes: u32,
        name: &str,
    ) -> Result<MemoryRegion, NicError> {
        let lines = bytes.div_ceil(LINE as u32);
        let all = u64::from(buffers) * u64::from(lines) * LINE;
        self.take(all, Rule::Packets(lines), &format!("{name}, packets"))
    }

    fn take(&mut self, bytes: u64, rule: Rule, name: &str) -> Result<MemoryRegion, NicError> {
        let lines = bytes.div_ceil(LINE);
        let end = self.next + lines.next_multiple_of(u64::from(PAGE_LINES));
        if end > u64::from(u32::MAX) {
            return Err(NicError::impossible(name, "memory of more than 256 GB"));
        }
        let salt = mix(self.next);
        let place = MemoryRegion { first: self.next as u32, lines: lines as u32, rule, salt };
        self.next = end;
        Ok(place)
    }
}

/// Allocates all memory regions of a function for its traffic. Returns the regions by name.
pub fn places(
    allocator: &mut Allocator,
    function: &Function,
    client: &Client,
) -> Result<BTreeMap<String, MemoryRegion>, NicError> {
    let regions = function.regions.iter();
    let place = |(name, region): (&String, &Region)| {
        Ok((name.clone(), allocator.region(region, client, name)?))
    };
    regions.map(place).collect()
}

impl MemoryRegion {
    pub fn lines(&self) -> u32 {
        self.lines
    }

    pub fn holds_packets(&self) -> bool {
        matches!(self.rule, Rule::Packets(_))
    }

    /// Returns the number of the cache line that a step touches for a packet. `at` counts the
    /// accesses of the step, from 0.
    #[inline]
    pub fn line(&self, packet: &Packet, at: u32, random: &mut Random) -> u32 {
        let offset = match self.rule {
            Rule::Flow(lines) => packet.flow * lines + at % lines,
            Rule::Buckets(buckets, bytes) => {
                let bucket = self.place_of(packet.flow, at) & (buckets - 1);
                (bucket * bytes / LINE) as u32
            }
            Rule::Table => {
                let place = self.place_of(packet.flow, at) >> 32;
                ((place * u64::from(self.lines)) >> 32) as u32
            }
            Rule::Array => random.below(self.lines),
            Rule::Packets(lines) => packet.buffer * lines + at % lines,
        };
        self.first + offset
    }

    /// Advances the cursor of a thread, and returns the next cache line of the region. The region
    /// has `parts` equal parts, and the thread uses only the part with the index `part`.
    #[inline]
    pub fn next_line(&self, cursor: &mut u32, part: u32, parts: u32) -> u32 {
        let length = (self.lines / parts).max(1);
        *cursor = if *cursor + 1 < length { *cursor + 1 } else { 0 };
        self.first + (part * length + *cursor).min(self.lines - 1)
    }

    fn place_of(&self, flow: u32, at: u32) -> u64 {
        mix(self.salt ^ u64::from(flow) ^ (u64::from(at) << 32))
    }
}
