//! Private and shared caches in series.
//!
//! Each level inserts a line on a miss and writes evicted dirty lines to the next level. Levels are
//! assumed to be neither inclusive nor exclusive. To save time, only one of `sampling` cache sets
//! is simulated; lines of other sets are not looked up.

use crate::cache::{Cache, Victim};
use crate::device::Device;

/// The level of the memory hierarchy at which a line is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Level-1 cache of the core.
    L1,
    /// Level-2 cache of the cluster.
    L2,
    /// Level-3 cache of all cores.
    L3,
    /// Memory: no cache has the line.
    Memory,
}

/// Result of an access to the caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Level at which the line was found.
    pub level: Level,
    /// Number of dirty lines evicted from the level-1 to the level-2 cache.
    pub to_l2: u32,
    /// Number of dirty lines evicted from the last-level cache to memory.
    pub to_memory: u32,
}

/// The caches of a device.
#[derive(Debug)]
pub struct Hierarchy {
    l1: Vec<Cache>,
    l2: Vec<Cache>,
    l3: Cache,
    per_cluster: usize,
    sampling: u32,
}

impl Hierarchy {
    /// Creates the empty caches of a device, of which one of `sampling` sets is simulated.
    pub fn new(device: &Device, sampling: u32) -> Self {
        let sets = |bytes: u64, ways: usize| {
            (bytes / crate::address::LINE / ways as u64 / u64::from(sampling)) as u32
        };
        let cores = &device.cores;
        let l1 = Cache::new(sets(device.l1.bytes, device.l1.ways), device.l1.ways);
        let l2 = Cache::new(sets(device.l2.bytes, device.l2.ways), device.l2.ways);
        Hierarchy {
            l1: vec![l1; cores.count],
            l2: vec![l2; cores.count / cores.per_cluster],
            l3: Cache::new(sets(device.l3.bytes, device.l3.ways), device.l3.ways),
            per_cluster: cores.per_cluster,
            sampling,
        }
    }

    /// Returns the sampling factor n: one of n cache sets is simulated.
    pub fn sampling(&self) -> u32 {
        self.sampling
    }

    /// Returns the number of a line among the lines of the simulated sets; `None` if the line's set
    /// is not simulated. Of each aligned group of `sampling` lines, exactly one is simulated.
    #[inline]
    pub fn sampled(&self, line: u32) -> Option<u32> {
        (folded(line) & (self.sampling - 1) == 0).then_some(line / self.sampling)
    }

    /// Returns the numbers (see `sampled`) of the simulated lines from `first` to `first + count`,
    /// exclusive. `first` must be a multiple of 16.
    pub fn sampled_of(&self, first: u32, count: u32) -> impl Iterator<Item = u32> + use<> {
        let sampling = self.sampling;
        let blocks = (first..first + count).step_by(sampling as usize);
        // Lines of a block differ only in their lowest bits, which all shifts of `folded` drop.
        let line = move |block: u32| block + (folded(block) & (sampling - 1));
        blocks.map(line).filter(move |line| *line < first + count).map(move |line| line / sampling)
    }

    /// Accesses a line of a simulated set from a core.
    pub fn access(&mut self, core: usize, line: u32, written: bool) -> Found {
        let cluster = core / self.per_cluster;
        let mut found = Found { level: Level::L1, to_l2: 0, to_memory: 0 };
        if self.l1[core].touch(line, written) {
            return found;
        }
        found.level = self.fetch(cluster, line, &mut found.to_memory);
        if let Some(Victim { line, dirty: true }) = self.l1[core].insert(line, written) {
            found.to_l2 = 1;
            found.to_memory += self.write_to_l2(cluster, line);
        }
        found
    }

    fn fetch(&mut self, cluster: usize, line: u32, to_memory: &mut u32) -> Level {
        if self.l2[cluster].touch(line, false) {
            return Level::L2;
        }
        let level = if self.l3.touch(line, false) {
            Level::L3
        } else {
            *to_memory += u32::from(self.l3.insert(line, false).is_some_and(|gone| gone.dirty));
            Level::Memory
        };
        if let Some(Victim { line, dirty: true }) = self.l2[cluster].insert(line, false) {
            *to_memory += self.write_to_l3(line);
        }
        level
    }

    fn write_to_l2(&mut self, cluster: usize, line: u32) -> u32 {
        if self.l2[cluster].touch(line, true) {
            return 0;
        }
        match self.l2[cluster].insert(line, true) {
            Some(Victim { line, dirty: true }) => self.write_to_l3(line),
            _ => 0,
        }
    }

    fn write_to_l3(&mut self, line: u32) -> u32 {
        if self.l3.touch(line, true) {
            return 0;
        }
        u32::from(self.l3.insert(line, true).is_some_and(|gone| gone.dirty))
    }

    /// Invalidates a line in the caches of `cores` and in the level-3 cache, because a device
    /// writes the line. The line must be in a simulated set.
    pub fn invalidate(&mut self, cores: &[usize], line: u32) {
        for &core in cores {
            self.l1[core].invalidate(line);
            self.l2[core / self.per_cluster].invalidate(line);
        }
        self.l3.invalidate(line);
    }

    /// Returns the simulated lines in the last-level cache.
    pub fn last_level(&self) -> impl Iterator<Item = u32> {
        self.l3.occupants()
    }
}

fn folded(line: u32) -> u32 {
    line ^ (line >> 4) ^ (line >> 8) ^ (line >> 13) ^ (line >> 19)
}

#[cfg(test)]
mod tests {
    use super::{Hierarchy, Level};
    use crate::device::Device;

    fn caches(sampling: u32) -> Hierarchy {
        Hierarchy::new(&Device::bluefield_2().expect("it is valid"), sampling)
    }

    #[test]
    fn lines_are_found_where_they_were_left() {
        let mut caches = caches(1);
        assert_eq!(caches.access(0, 5, true).level, Level::Memory);
        assert_eq!(caches.access(0, 5, false).level, Level::L1);
        assert_eq!(caches.access(1, 5, false).level, Level::L2);
        assert_eq!(caches.access(2, 5, false).level, Level::L3);
        caches.invalidate(&[0, 1], 5);
        assert_eq!(caches.access(0, 5, false).level, Level::Memory);
    }

    #[test]
    fn a_written_line_reaches_memory_once() {
        let mut caches = caches(16);
        // Twice as many lines as all caches hold together: each is written and evicted.
        let lines = 2 * (6 + 1) * 1024 * 1024 / 64 / 16;
        let mut to_memory = 0;
        for line in 0..lines {
            to_memory += caches.access(0, line, true).to_memory;
        }
        let kept = lines - to_memory;
        let sizes = (6 * 1024 + 1024 + 32) * 1024 / 64 / 16;
        assert!(kept <= sizes && kept * 10 > sizes * 8, "{kept} of {sizes} are kept");
    }

    #[test]
    fn one_line_of_sixteen_neighbours_is_sampled_and_buffers_are_too() {
        let caches = caches(16);
        for first in (0..100_000).step_by(16) {
            let found = (first..first + 16).filter(|line| caches.sampled(*line).is_some()).count();
            assert_eq!(found, 1, "from {first}");
        }
        for (first, count) in [(0, 24), (32, 1), (64, 30), (1024, 16), (96, 32)] {
            let each = (first..first + count).filter_map(|line| caches.sampled(line));
            assert_eq!(
                caches.sampled_of(first, count).collect::<Vec<_>>(),
                each.collect::<Vec<_>>()
            );
        }
        for stride in [2, 4, 5, 8, 32, 64] {
            let lines = (0..16_384).map(|at| at * stride);
            let found = lines.filter(|line| caches.sampled(*line).is_some()).count();
            assert!((900..1200).contains(&found), "{found} of stride {stride}");
        }
    }
}
