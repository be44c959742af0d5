//! Private and shared caches, one behind the other.
//!
//! Each level takes in what it was asked for and did not have; what has to go and was written goes
//! to the next level. Levels are neither inclusive nor exclusive, as the mesh of the device is
//! (assumed). One set in `sampling` is simulated; lines of other sets are not looked up at all.

use crate::cache::{Cache, Victim};
use crate::device::Device;

/// Where a line is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The core's own cache.
    L1,
    /// That of the cluster.
    L2,
    /// That of all.
    L3,
    /// None.
    Memory,
}

/// What came of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Where the line was.
    pub level: Level,
    /// Lines that left the level-1 cache for the next one because they were written.
    pub to_l2: u32,
    /// Lines that left the last cache for memory because they were written.
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
    /// Empty caches.
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

    /// One set in so many is simulated.
    pub fn sampling(&self) -> u32 {
        self.sampling
    }

    /// The number that a line has in simulated sets; `None` where its set is not one of them.
    /// Of any `sampling` lines that stand behind each other there is one that is.
    #[inline]
    pub fn sampled(&self, line: u32) -> Option<u32> {
        (folded(line) & (self.sampling - 1) == 0).then_some(line / self.sampling)
    }

    /// The numbers of all lines among `count` from `first` on that are in simulated sets; `first`
    /// is a multiple of 16.
    pub fn sampled_of(&self, first: u32, count: u32) -> impl Iterator<Item = u32> + use<> {
        let sampling = self.sampling;
        let blocks = (first..first + count).step_by(sampling as usize);
        // Below the shifts of `folded`, neighbours differ in nothing but their last bits.
        let line = move |block: u32| block + (folded(block) & (sampling - 1));
        blocks.map(line).filter(move |line| *line < first + count).map(move |line| line / sampling)
    }

    /// A core touches a line of a simulated set.
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

    /// A line of a simulated set is written by a device: copies in the caches of a core are stale.
    pub fn invalidate(&mut self, cores: &[usize], line: u32) {
        for &core in cores {
            self.l1[core].invalidate(line);
            self.l2[core / self.per_cluster].invalidate(line);
        }
        self.l3.invalidate(line);
    }

    /// Simulated lines that are in the last cache.
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
        // Twice as many lines as all caches have together: each is written and pushed out.
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
