//! Generates pseudo-random numbers that depend only on the seed, not on the machine.
//!
//! The algorithm is SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
//! Generators", OOPSLA 2014): a counter and a function that mixes its bits.

/// A generator of pseudo-random numbers with a state of 64 bits.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator that starts with this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a random number below `bound`, which must not be 0. It multiplies instead of
    /// dividing, because a division would take longer than the code that callers measure. The
    /// method is from Lemire, "Fast Random Integer Generation in an Interval", 2019.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }
}

/// Mixes the bits of a number. Different numbers have different results, and each bit of the result
/// depends on all bits of the number.
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        // First outputs for this seed according to Rosetta Code, "Pseudo-random
        // numbers/Splitmix64".
        let mut random = Random::new(1_234_567);
        let known =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.bits(), random.bits(), random.bits()], known);
    }

    #[test]
    fn numbers_are_below_their_bound_and_reach_it() {
        let mut random = Random::new(0);
        let seen: std::collections::BTreeSet<u64> = (0..1000).map(|_| random.below(7)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), (0..7).collect::<Vec<_>>());
    }
}
