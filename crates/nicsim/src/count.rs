//! What is counted while a simulation runs, as sums since its beginning.

use crate::address::PAGE_LINES;
use crate::time::Time;

/// Of a client.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Packets that it began with.
    pub begun: u64,
    /// Packets that it is done with.
    pub done: u64,
    /// Their time inside.
    pub sojourn: Time,
    /// Packets inside, added up over time.
    pub inside_time: u128,
    /// Instructions of work.
    pub instructions: f64,
    /// Time in which threads waited.
    pub idle: Time,
    /// Lines read from the level-2 cache.
    pub l2_reads: u64,
    /// Lines written to it, as far as they are simulated.
    pub l2_writes: u64,
    /// Accesses that went to memory.
    pub misses: u64,
}

/// Pages that were touched.
#[derive(Debug, Clone)]
pub struct Pages {
    first: u32,
    touched: Vec<u64>,
}

impl Pages {
    /// Of the lines of a client, from one up to another.
    pub fn new(first_line: u32, end_line: u32) -> Self {
        let pages = (end_line - first_line).div_ceil(PAGE_LINES);
        Pages { first: first_line, touched: vec![0; pages.div_ceil(64) as usize] }
    }

    /// A line is touched.
    #[inline]
    pub fn touch(&mut self, line: u32) {
        let page = (line - self.first) / PAGE_LINES;
        self.touched[(page / 64) as usize] |= 1 << (page % 64);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.touched.fill(0);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.touched.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}
