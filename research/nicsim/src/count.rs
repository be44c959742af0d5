//! Counters of a simulation, as totals since its start.

use crate::address::PAGE_LINES;
use crate::time::Time;

/// Counters of a function in a simulation, since its start.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Number of packets that the function has begun.
    pub begun: u64,
    /// Number of packets that the function has finished.
    pub done: u64,
    /// Total time that finished packets spent in the function.
    pub sojourn: Time,
    /// Sum over all packets of the time that they have spent in the function.
    pub inside_time: u128,
    /// Number of instructions executed for packets.
    pub instructions: f64,
    /// Total time that threads spent waiting.
    pub idle: Time,
    /// Number of cache lines read from the level-2 cache.
    pub l2_reads: u64,
    /// Number of cache lines written to the level-2 cache; only simulated sets are counted.
    pub l2_writes: u64,
    /// Number of accesses that missed all caches.
    pub misses: u64,
}

/// The set of memory pages that a function has touched.
#[derive(Debug, Clone)]
pub struct Pages {
    first: u32,
    touched: Vec<u64>,
}

impl Pages {
    /// Creates an empty set for the cache lines from `first_line` to `end_line`, exclusive.
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

    pub fn clear(&mut self) {
        self.touched.fill(0);
    }

    /// Returns the number of touched pages.
    pub fn count(&self) -> u64 {
        self.touched.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}
