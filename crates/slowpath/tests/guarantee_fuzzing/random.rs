//! Generates pseudo-random numbers that are the same each time the tests run (xorshift64*,
//! Marsaglia 2003, Vigna 2016).

pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Random(0x9e37_79b9_7f4a_7c15)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `limit`, which must not be zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns a random byte, often a value that packet programs compare with.
    pub fn byte(&mut self) -> u8 {
        const COMMON: [u8; 16] =
            [0, 1, 2, 4, 5, 6, 8, 17, 0x11, 0x45, 0x46, 0x4f, 0x60, 0x80, 0xdd, 0xff];
        if self.one_in(2) { COMMON[self.below(16) as usize] } else { self.next() as u8 }
    }

    /// Returns a random number from `min` to `max`, often one of these limits.
    pub fn value(&mut self, min: u64, max: u64) -> u64 {
        let span = max - min;
        match self.below(5) {
            0 => min,
            1 => max,
            2 => min + self.below(16).min(span),
            _ if span == u64::MAX => self.next(),
            _ => min + self.next() % (span + 1),
        }
    }
}
