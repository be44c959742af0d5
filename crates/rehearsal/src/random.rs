//! Random numbers for generating packets.

/// A sequence of random numbers, determined by the seed.
#[derive(Clone, Debug)]
pub struct Random(slowpath_random::Random);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(slowpath_random::Random::new(seed))
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// Returns a number below a bound, or 0 if the bound is 0. Small numbers are more likely by at
    /// most `bound` / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.bits() % (bound.max(1) as u64)).unwrap_or(0)
    }

    /// Returns true with a probability of 1 / `cases`.
    pub fn one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }

    /// Chooses an element; `None` if there is none.
    pub fn choose<'a, T>(&mut self, some: &'a [T]) -> Option<&'a T> {
        some.get(self.below(some.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn nothing_is_chosen_of_nothing() {
        let mut random = Random::new(0);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.choose::<u8>(&[]), None);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
