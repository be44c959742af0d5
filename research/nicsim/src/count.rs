//! Counters of a simulation, as totals since its start.

use crate::address::PAGE_LINES;
use crate::time::Time;

/// Counters of a client.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Packets begun.
    pub begun: u64,
    /// Packets finished.
    pub done: u64,
    /// Total time of the finished packets in the client.
    pub sojourn: Time,
    /// Integral over time of the number of packets in the client.
    pub inside_time: u128,
    /// Instructions executed for packets.
    pub instructions: f64,
    /// Time that threads spent waiting.
    pub idle: Time,
    /// Lines read from the level-2 cache.
    pub l2_reads: u64,
    /// Lines written to the level-2 cache; only simulated sets are counted.
    pub l2_writes: u64,
    /// Accesses that missed all caches.
    pub misses: u64,
}

/// The set of touched pages of a client.
#[derive(Debug, Clone)]
pub struct Pages {
    first: u32,
    touched: Vec<u64>,
}

impl Pages {
    /// Creates an empty set for the lines from `first_line` to `end_line`, exclusive.
    pub fn new(first_line: u32, end_line: u32) -> Self {
        let pages = (end_line - first_line).div_ceil(PAGE_LINES);
        Pages { first: first_line, touched: vec![0; pages.div_ceil(64) as usize] }
    }

    /// Marks the page of a line as touched.
    #[inline]
    pub fn touch(&mut self, line: u32) {
        let page = (line - self.first) / PAGE_LINES;
        self.touched[(page / 64) as usize] |= 1 << (page % 64);
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.touched.fill(0);
    }

    /// Returns the number of touched pages.
    pub fn count(&self) -> u64 {
        self.touched.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}
