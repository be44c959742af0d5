//! A probe, which measures how much other threads slow down caches and memory. It walks over all
//! cache lines of a working set in random order, and each step depends on the previous one.

use slowpath_random::Random;

use crate::error::{NeighbourError, zeros};
use crate::spec::ProbeSpec;
use crate::work::{Served, Work};

const TURN: u64 = 256;

/// A cache line that contains the index of the next cache line on the walk.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Line(u32);

/// A random walk over the cache lines of a working set.
pub struct Probe {
    lines: Vec<Line>,
    at: u32,
    steps: u64,
}

impl Probe {
    /// Creates a walk that visits all cache lines in a random cycle (Sattolo, "An algorithm to
    /// generate a random cyclic permutation", 1986).
    ///
    /// # Errors
    /// If the size of the working set is out of range, or there is not enough memory.
    pub fn new(spec: &ProbeSpec) -> Result<Probe, NeighbourError> {
        spec.check()?;
        let count = spec.bytes / size_of::<Line>();
        let mut lines: Vec<Line> = zeros("the probe", count)?;
        for (at, line) in lines.iter_mut().enumerate() {
            line.0 = u32::try_from(at)
                .map_err(|_| NeighbourError::Unfit("the probe has too many lines"))?;
        }
        let mut random = Random::new(2);
        for at in (1..count).rev() {
            lines.swap(at, random.below(at as u64) as usize);
        }
        Ok(Probe { lines, at: 0, steps: 0 })
    }
}

impl Work for Probe {
    fn begin(&mut self, _: bool) {}

    fn turn(&mut self) {
        let mut at = self.at;
        for _ in 0..TURN {
            at = self.lines.get(at as usize).map_or(0, |line| line.0);
        }
        self.at = at;
        self.steps += TURN;
    }

    fn served(&self) -> Vec<Served> {
        let bytes = self.steps * size_of::<Line>() as u64;
        vec![Served { items: self.steps, bytes, ..Served::default() }]
    }
}

#[cfg(test)]
mod tests {
    use super::Probe;
    use crate::spec::ProbeSpec;
    use crate::work::Work;

    #[test]
    fn the_walk_visits_every_line_before_it_repeats() {
        let mut probe = Probe::new(&ProbeSpec { cpu: 0, bytes: 64 * 1024 }).unwrap();
        let mut seen = vec![false; 1024];
        for _ in 0..1024 {
            assert!(!std::mem::replace(&mut seen[probe.at as usize], true));
            probe.at = probe.lines[probe.at as usize].0;
        }
        assert_eq!(probe.at, 0);
        probe.turn();
        assert_ne!(probe.at, 0);
        assert_eq!(probe.served()[0].items, 256);
    }
}
