//! Generates the random numbers from which packets are made.

/// A generator of pseudo-random numbers. The same seed gives the same numbers.
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

    /// Returns a number below `bound`, or 0 if the bound is 0. Some numbers are slightly more
    /// likely than others, by at most `bound` / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.bits() % (bound.max(1) as u64)).unwrap_or(0)
    }

    /// Returns true with a probability of 1 / `cases`.
    pub fn one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }

    /// Returns a random element of the slice, or `None` if it is empty.
    pub fn choose<'a, T>(&mut self, elements: &'a [T]) -> Option<&'a T> {
        elements.get(self.below(elements.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_are_below_their_bound() {
        let mut random = Random::new(0);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.choose::<u8>(&[]), None);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
