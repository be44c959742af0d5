//! Memory: banks on one bus, accessed line by line.
//!
//! The bus transfers one line in each slot. An access takes the first free slot after its bank is
//! ready. Requests may arrive out of order, because a core may be simulated some accesses ahead of
//! other cores. A bank has one open row. An access to another row occupies the bank for the time to
//! close and open rows. An access to the open row occupies it for the minimum time between two
//! transfers of a group of banks. A refresh takes all slots for its duration.

use slowpath_random::mix;

use crate::address::LINE;
use crate::device::MemoryParameters;
use crate::time::{Time, from_ns};

/// Number of 64-bit words in the mask of reserved bus slots, which limits how far ahead slots can
/// be reserved.
const WORDS: u64 = 8192;

#[derive(Debug, Clone, Copy)]
struct Bank {
    free: Time,
    row: u32,
}

/// Maximum number of cache lines that a device transfers at once.
const TOGETHER: u32 = 4;

/// The memory: one bus, and the banks behind it.
#[derive(Debug)]
pub struct Memory {
    slot: Time,
    latency: Time,
    opening: Time,
    open: Time,
    /// Time between starts of DRAM refreshes, in words of 64 bus slots.
    refresh_every: u64,
    refresh_for: u64,
    /// Reserved bus slots: masks with one bit for each slot, as a ring buffer of 64-bit words.
    taken: Vec<u64>,
    /// Number of the earliest word of slots, counted from time 0, that `taken` still contains.
    first: u64,
    /// Number of the first word that may have a free slot; all words from `first` to it (exclusive)
    /// are full.
    full_below: u64,
    /// Number of cache lines of a memory row, counted over all groups of banks.
    row_lines: u32,
    groups: u32,
    banks: Vec<Bank>,
    transfers: u64,
    reads: u64,
    waited: u64,
}

impl Memory {
    /// Creates idle memory.
    pub fn new(parameters: &MemoryParameters) -> Self {
        let slot = (LINE as f64 / parameters.bytes_per_second * 1e12).round().max(1.0) as Time;
        let words = |ns: f64| (ns * 1000.0 / (slot * 64) as f64).round() as u64;
        let mut memory = Memory {
            slot,
            latency: from_ns(parameters.latency_ns),
            opening: from_ns(parameters.bank_busy_ns),
            open: from_ns(parameters.row_hit_busy_ns),
            refresh_every: words(parameters.refresh_every_ns).max(1),
            refresh_for: words(parameters.refresh_for_ns),
            taken: vec![0; WORDS as usize],
            first: 0,
            full_below: 0,
            row_lines: (parameters.row_bytes / LINE as u32).max(1) * parameters.bank_groups,
            groups: parameters.bank_groups,
            banks: vec![Bank { free: 0, row: u32::MAX }; parameters.banks as usize],
            transfers: 0,
            reads: 0,
            waited: 0,
        };
        memory.refresh_for = memory.refresh_for.min(memory.refresh_every - 1);
        for word in 0..WORDS {
            memory.taken[word as usize] = memory.fresh(word);
        }
        memory
    }

    fn fresh(&self, word: u64) -> u64 {
        if word % self.refresh_every < self.refresh_for { u64::MAX } else { 0 }
    }

    /// Discards all bus slots before `now`; later accesses must not request them.
    pub fn advance(&mut self, now: Time) {
        let word = now / self.slot / 64;
        while self.first < word {
            let at = (self.first % WORDS) as usize;
            self.taken[at] = self.fresh(self.first + WORDS);
            self.first += 1;
        }
    }

    /// Reserves free bus slots at or after the time `from`: at most `wanted` slots, all in the
    /// first 64-bit word of slots that has a free one. Returns the time of the first reserved slot
    /// and the number of slots. If no slot in the range is free, returns the end of the range and
    /// `wanted`.
    fn take(&mut self, from: Time, wanted: u32) -> (Time, u32) {
        let slot = from.div_ceil(self.slot);
        let mut word = (slot / 64).max(self.first);
        let mut passed = if word == slot / 64 { !0 << (slot % 64) } else { !0 };
        let whole = passed == !0 || self.taken[(word % WORDS) as usize] == !0;
        let joins = whole && word <= self.full_below.max(self.first);
        if word < self.full_below {
            word = self.full_below;
            passed = !0;
        }
        let end = self.first + WORDS;
        while word < end {
            let taken = &mut self.taken[(word % WORDS) as usize];
            let mut free = !*taken & passed;
            if free != 0 {
                let begin = word * 64 + u64::from(free.trailing_zeros());
                let mut count = 0;
                while count < wanted && free != 0 {
                    *taken |= free & free.wrapping_neg();
                    free &= free - 1;
                    count += 1;
                }
                if joins {
                    self.full_below = self.full_below.max(word);
                }
                return (begin * self.slot, count);
            }
            word += 1;
            passed = !0;
        }
        (end * 64 * self.slot, wanted)
    }

    fn place(&mut self, at: Time, line: u32) -> Time {
        let row = line / self.row_lines;
        // Two consecutive lines share a group of banks; the next two are in the next group.
        let group = line / 2 % self.groups;
        let sets = self.banks.len() as u32 / self.groups;
        let set = (mix(u64::from(row)) % u64::from(sets.max(1))) as u32;
        let bank = (set * self.groups + group) as usize % self.banks.len();
        let Bank { free, row: open } = self.banks[bank];
        let begin = self.take(at.max(free), 1).0;
        let busy = if row == open { self.open } else { self.opening };
        self.banks[bank] = Bank { free: begin + busy, row };
        self.transfers += 1;
        begin
    }

    /// Reads a line for a core and returns the time of its arrival.
    pub fn read(&mut self, at: Time, line: u32) -> Time {
        let begin = self.place(at, line);
        self.reads += 1;
        self.waited += begin - at;
        begin + self.latency
    }

    /// Writes a line without waiting, and without occupying a bank: memory controllers collect
    /// writes and perform them while the DRAM row is open.
    pub fn write(&mut self, at: Time) {
        self.take(at, 1);
        self.transfers += 1;
    }

    /// Transfers lines for a device that handles one line every `line_interval` picoseconds. Up to
    /// `TOGETHER` lines are transferred at once. All lines are assumed to be in open rows. Returns
    /// the end of the last transfer.
    pub fn burst(&mut self, at: Time, lines: u32, line_interval: Time) -> Time {
        let mut last = at;
        let mut due = at;
        let mut left = lines;
        while left > 0 {
            let (begin, count) = self.take(due, left.min(TOGETHER));
            left -= count;
            last = begin + self.slot * Time::from(count);
            due = (due + line_interval * Time::from(count)).max(begin);
        }
        self.transfers += u64::from(lines);
        last
    }

    /// Returns the number of transfers, the number of reads among them, and the total time that
    /// reads waited for bus slots.
    pub fn counted(&self) -> (u64, u64, Time) {
        (self.transfers, self.reads, self.waited)
    }

    /// Returns the number of bus transfers that fit into a duration.
    pub fn capacity(&self, duration: Time) -> f64 {
        duration as f64 / self.slot as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Memory;
    use crate::device::Device;
    use crate::random::Random;

    fn memory() -> Memory {
        Memory::new(&Device::bluefield_2().expect("it is valid").memory)
    }

    #[test]
    fn alone_a_read_takes_the_latency() {
        // After the first refresh.
        let at = 1_000_000;
        assert_eq!(memory().read(at, 77), at + 110_000);
    }

    fn rate(lines: impl Iterator<Item = u32>) -> f64 {
        let mut memory = memory();
        let times: Vec<_> = lines.map(|line| memory.read(1_000_000, line)).collect();
        let last = times.iter().max().expect("there are some");
        times.len() as f64 * 64.0 / ((last - 1_000_000) as f64 * 1e-12)
    }

    #[test]
    fn sequences_saturate_the_bus_and_jumps_the_banks() {
        let mut random = Random::new(1, 1);
        let sequence = rate(0..40_000);
        let jumps = rate((0..40_000).map(|_| random.below(1 << 28)));
        // The limits are 25.6 GB/s for the bus and 22.4 GB/s for 16 banks that are busy for
        // 45.75 ns per access, both less refreshes.
        assert!(sequence > 0.85 * 25.6e9 && sequence < 24.7e9, "{sequence}");
        assert!(jumps > 0.85 * 22.4e9 && jumps < 0.97 * 22.4e9, "{jumps}");
    }

    #[test]
    fn bursts_saturate_at_the_bandwidth_less_refreshes() {
        let mut memory = memory();
        let mut end = 0;
        for _ in 0..1000 {
            end = memory.burst(end, 100, 0);
            memory.advance(end.saturating_sub(1_000_000));
        }
        let rate = 100_000.0 * 64.0 / (end as f64 * 1e-12);
        assert!((rate / 25.6e9 - (1.0 - 2.0 / 49.0)).abs() < 0.01, "{rate}");
        assert_eq!(memory.counted().0, 100_000);
    }

    #[test]
    fn a_burst_leaves_what_it_does_not_need() {
        let mut memory = memory();
        let at = 1_000_000;
        let end = memory.burst(at, 100, 5000);
        assert!((400_000..520_000).contains(&(end - at)), "{end}");
        // Every other slot is free: a read waits for at most four slots, which are reserved
        // together.
        assert!(memory.read(at, 5) <= at + 110_000 + 4 * 2500);
    }

    proptest! {
        /// Checks that no bus slot is reserved twice, before the requested time, or during a
        /// refresh.
        #[test]
        fn slots_are_taken_once(offsets in prop::collection::vec(0_u64..4_000_000, 1..400)) {
            let mut memory = memory();
            let mut begun = std::collections::BTreeSet::new();
            for (at, offset) in offsets.iter().enumerate() {
                let now = at as u64 * 10_000;
                memory.advance(now);
                let begin = memory.take(now + offset, 1).0;
                prop_assert!(begin >= now + offset);
                prop_assert!(begun.insert(begin), "{begin} twice");
                prop_assert!(begin.is_multiple_of(2500));
                let word = begin / 2500 / 64;
                prop_assert!(word % 49 >= 2, "in a refresh");
            }
        }

        /// Checks that a request gets the first free bus slot.
        #[test]
        fn the_first_free_slot_is_taken(offsets in prop::collection::vec(0_u64..1_000_000, 1..200)) {
            let mut memory = memory();
            let mut begun = std::collections::BTreeSet::new();
            for offset in offsets {
                let mut wanted = offset.div_ceil(2500);
                while begun.contains(&wanted) || wanted / 64 % 49 < 2 {
                    wanted += 1;
                }
                prop_assert_eq!(memory.take(offset, 1).0 / 2500, wanted);
                begun.insert(wanted);
            }
        }
    }
}
