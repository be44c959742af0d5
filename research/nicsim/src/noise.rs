//! Measurement noise for simulated throughputs.

use crate::random::Random;

/// Scatter of measurements on a real device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of the logarithm of the throughput.
    pub throughput: f64,
}

/// Noise of the published measurements of the function FlowMonitor on BlueField-2. In the table
/// `slomo-train`, all rows have equal traffic, and six pairs of rows have nearly equal competitors
/// (accesses within 5 %, instructions per cycle within 0.05, working sets within 15 %). These are
/// the rows s21 and s06, s26 and s04, s31 and s09, s38 and s09, s35 and s30, s47 and s44. The root
/// of half the mean square of the differences of their throughputs' logarithms is 1.04 %. This
/// includes the differences between the competitors, so it is an upper estimate. Counters have no
/// noise: they come from solo runs of the competitors, which the table reuses.
pub const NOISE: Noise = Noise { throughput: 0.0104 };

impl Noise {
    /// Returns `throughput` with random noise. The noise depends only on the seed and the client's
    /// index.
    pub fn measured(&self, throughput: f64, seed: u64, client: u64) -> f64 {
        throughput * (self.throughput * Random::new(seed, u64::MAX - client).normal()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::NOISE;

    #[test]
    fn noise_scatters_as_it_should_and_repeats() {
        let logs: Vec<f64> = (0..4000).map(|seed| NOISE.measured(5.0, seed, 0) / 5.0).collect();
        let mean = logs.iter().map(|value| value.ln()).sum::<f64>() / 4000.0;
        let square = logs.iter().map(|value| value.ln().powi(2)).sum::<f64>() / 4000.0;
        assert!(mean.abs() < 0.001, "{mean}");
        assert!((square.sqrt() / NOISE.throughput - 1.0).abs() < 0.05, "{square}");
        assert_eq!(NOISE.measured(5.0, 3, 1), NOISE.measured(5.0, 3, 1));
        assert_ne!(NOISE.measured(5.0, 3, 1), NOISE.measured(5.0, 3, 2));
    }
}
