//! Estimates the cache levels of lines in cache sets that sampling leaves out of the simulation.

use crate::hierarchy::Level;
use crate::random::Random;

/// Maximum total weight of the observations; the weights of older observations decay.
const MEMORY: f64 = 512.0;
const LEVELS: usize = 4;

/// Frequencies of the cache levels at which recent accesses of a processing step found their lines.
#[derive(Debug, Clone)]
pub struct Estimate {
    weights: [f64; LEVELS],
    /// Cumulative frequencies of the levels L1 to L3, scaled to 2^32. The first of these numbers
    /// that is above a random 32-bit number selects the level. If none is above it, the level is
    /// memory.
    ends: [u32; LEVELS - 1],
}

impl Estimate {
    /// Creates an estimate from one assumed observation.
    pub fn new(first: Level) -> Self {
        let mut estimate = Estimate { weights: [0.0; LEVELS], ends: [0; LEVELS - 1] };
        estimate.weights[first as usize] = 1.0;
        estimate.settle();
        estimate
    }

    /// Records that a line was found at a level.
    pub fn observe(&mut self, level: Level) {
        let total: f64 = self.weights.iter().sum();
        if total > MEMORY {
            for weight in &mut self.weights {
                *weight *= 1.0 - 1.0 / MEMORY;
            }
        }
        self.weights[level as usize] += 1.0;
        self.settle();
    }

    fn settle(&mut self) {
        let total: f64 = self.weights.iter().sum();
        let mut sum = 0.0;
        for (end, weight) in self.ends.iter_mut().zip(self.weights) {
            sum += weight;
            *end = (sum / total * f64::from(u32::MAX)) as u32;
        }
    }

    /// Draws a random cache level, for a line whose cache set is not simulated.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> Level {
        let drawn = random.bits() as u32;
        if drawn < self.ends[0] {
            Level::L1
        } else if drawn < self.ends[1] {
            Level::L2
        } else if drawn < self.ends[2] {
            Level::L3
        } else {
            Level::Memory
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Estimate;
    use crate::hierarchy::Level;
    use crate::random::Random;

    #[test]
    fn draws_are_as_observations_were() {
        let mut random = Random::new(3, 0);
        let mut estimate = Estimate::new(Level::Memory);
        for at in 0..4000 {
            estimate.observe([Level::L2, Level::L2, Level::L3, Level::Memory][at % 4]);
        }
        let mut counts = [0; 4];
        for _ in 0..10_000 {
            counts[estimate.draw(&mut random) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        for (count, wanted) in counts[1..].iter().zip([5000_i32, 2500, 2500]) {
            assert!((count - wanted).abs() < 200, "{counts:?}");
        }
        for _ in 0..10_000 {
            estimate.observe(Level::L1);
        }
        assert_eq!(estimate.draw(&mut random), Level::L1);
    }
}
