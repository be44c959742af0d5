//! Generates payloads in which regular expressions, called rules, match a given number of times.
//! Also defines the rules.
//!
//! Wu et al. ("Tomur") generate payloads with exrex from rules of L7-filter (section 7.1). Here,
//! payloads contain texts that match certain rules, so the number of matches is exact. The text
//! between matches has only small letters and spaces, and each match contains other characters.

use slowpath_random::Random;

use crate::error::NeighbourError;

/// The rules, as regular expressions in the style of payload scanners: alternatives, classes and
/// repetitions. They contain no long literals, which a substring search could find without looking
/// at each byte. No match is part of another one.
pub const RULES: [&str; 8] = [
    r"[A-D][0-9]{3,5}-[A-D]",
    r"[E-H]{2}[0-9]{2}/(get|put)",
    r"[I-L](?:[0-9]|[A-D])[0-9]{2}=",
    r"[M-P][0-9]{1,3}:[0-9]{2};",
    r"%[0-9A-F]{2}%[0-9A-F]{2}%",
    r"[Q-T][0-9]{2}(?:cmd|exe|dll)!",
    r"[U-W]{3}[0-9]{4}\?",
    r"<[X-Z][0-9]{2,6}>",
];

/// An example text for each rule, which the rule matches.
const MATCHES: [&[u8]; 8] = [
    b"A1234-D",
    b"EH42/get",
    b"K700=",
    b"M12:34;",
    b"%4F%2E%",
    b"Q17exe!",
    b"UVW2024?",
    b"<X4711>",
];
/// Maximum length of a match in bytes. It includes one byte between a match and the next one.
const SLOT: usize = 9;
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz      ";

/// Payloads of equal size, one for each packet buffer of a ring.
#[derive(Clone, Debug)]
pub struct Payloads {
    bytes: Vec<u8>,
    size: usize,
}

impl Payloads {
    /// Creates `count` payloads of `size` bytes each. The rules match `mtbr` times per megabyte, at
    /// random offsets that depend on `seed`.
    ///
    /// # Errors
    /// If the payloads are too small for the matches, or there is not enough memory.
    pub fn new(
        count: usize,
        size: usize,
        mtbr: f64,
        seed: u64,
    ) -> Result<Payloads, NeighbourError> {
        let mut random = Random::new(seed);
        let mut bytes: Vec<u8> = crate::error::zeros("payloads", count.saturating_mul(size))?;
        for byte in &mut bytes {
            *byte = LETTERS[random.bits() as usize & 31];
        }
        let slots = size / SLOT;
        let matches = (mtbr * bytes.len() as f64 / 1e6).round() as usize;
        let all = count.saturating_mul(slots);
        if matches > all {
            return Err(NeighbourError::Unfit(
                "payloads are too small for so many matches per megabyte",
            ));
        }
        // A partial shuffle: the first `matches` places become a random selection.
        let mut places: Vec<usize> = (0..all).collect();
        for at in 0..matches {
            let other = at + random.below((all - at) as u64) as usize;
            places.swap(at, other);
            let (payload, slot) = (places[at] / slots, places[at] % slots);
            let rule = random.below(MATCHES.len() as u64) as usize;
            let text = MATCHES[rule];
            let start = payload * size + slot * SLOT;
            bytes[start..start + text.len()].copy_from_slice(text);
        }
        Ok(Payloads { bytes, size })
    }

    pub fn count(&self) -> usize {
        self.bytes.len().checked_div(self.size).unwrap_or(0)
    }

    #[inline]
    pub fn get(&self, number: usize) -> &[u8] {
        let start = number * self.size;
        self.bytes.get(start..start + self.size).unwrap_or_default()
    }
}
