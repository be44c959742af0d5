//! Pseudo-random numbers for simulation runs, with several distributions. Each seed has many
//! independent streams.

use slowpath_random::mix;

/// A stream of random numbers, given by a seed and the number of the stream.
#[derive(Debug, Clone)]
pub struct Random {
    bits: slowpath_random::Random,
}

impl Random {
    /// Creates a stream; streams of one seed are independent of each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        let stream = slowpath_random::Random::new(stream).bits();
        Random { bits: slowpath_random::Random::new(mix(seed ^ stream)) }
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.bits.bits()
    }

    /// Returns a nearly uniform number below `limit`; the relative error of each probability is
    /// less than `limit` / 2^32.
    #[inline]
    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// Returns a uniform number from 0 to 1, exclusive.
    #[inline]
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a Poisson-distributed count by multiplying uniform numbers. Means above 200 are split.
    pub fn poisson(&mut self, mean: f64) -> u32 {
        const MOST: f64 = 200.0;
        let mut left = mean;
        let mut count = 0;
        while left > 0.0 {
            let part = left.min(MOST);
            left -= part;
            let end = (-part).exp();
            let mut product = self.share();
            while product > end {
                count += 1;
                product *= self.share();
            }
        }
        count
    }

    /// Draws a normally distributed number with mean 0 and variance 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn draws_have_the_moments_that_they_should() {
        let mut random = Random::new(1, 0);
        let count = 20_000;
        let close = |found: f64, wanted: f64, off: f64| {
            assert!((found - wanted).abs() < off, "{found} instead of {wanted}");
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let below: Vec<f64> = (0..count).map(|_| f64::from(random.below(10))).collect();
        close(mean(&below), 4.5, 0.1);
        for expected in [0.3, 2.0, 450.0] {
            let drawn: Vec<f64> = (0..count).map(|_| f64::from(random.poisson(expected))).collect();
            let spread = drawn.iter().map(|value| (value - expected).powi(2));
            close(mean(&drawn), expected, 6.0 * (expected / f64::from(count)).sqrt());
            let variance = spread.sum::<f64>() / f64::from(count);
            close(variance / expected, 1.0, 0.1);
        }
        let normal: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let squares: Vec<f64> = normal.iter().map(|value| value * value).collect();
        close(mean(&normal), 0.0, 0.05);
        close(mean(&squares), 1.0, 0.05);
        assert_eq!(random.poisson(0.0), 0);
    }

    #[test]
    fn streams_of_a_seed_differ_and_repeat() {
        let first = |seed, stream| Random::new(seed, stream).bits();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(1, 3));
        assert_ne!(first(1, 2), first(2, 2));
        assert_ne!(first(1, 2), first(2, 1));
    }
}
