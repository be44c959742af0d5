//! Noise of measurements, for those who want figures as somebody would measure them.

use crate::random::Random;

/// What measurements of a real device scatter by, as standard deviations of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Of throughput.
    pub throughput: f64,
}

/// That of the published rows of FlowMonitor on BlueField-2. In `slomo-train`, where the traffic is
/// always the same, six pairs of rows have nearly the same competitors (accesses within 5 %,
/// instructions per cycle within 0.05, working sets within 15 %): s21 and s06, s26 and s04, s31 and
/// s09, s38 and s09, s35 and s30, s47 and s44. The root of half the mean square of the differences
/// of their throughputs' logarithms is 1.04 %. It has the differences of the competitors in it, so
/// it is rather too much. Counters come from runs of the competitors alone, which are reused.
pub const NOISE: Noise = Noise { throughput: 0.0104 };

impl Noise {
    /// The throughput of a client as it would be measured; the same for the same seed.
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
