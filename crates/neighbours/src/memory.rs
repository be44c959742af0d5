//! The competitor `mem-bench`, which disturbs other threads. It accesses its working set in memory
//! at a given rate, or as fast as possible.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use slowpath_random::Random;

use crate::error::{NeighbourError, zeros};
use crate::spec::{MemorySpec, Touch};
use crate::work::{Served, Work};

const WORD: usize = size_of::<u64>();
const LINE: usize = 64 / WORD;
/// Number of memory accesses in one turn ([`Work::turn`]). It is small, so that accesses at a slow
/// rate are spread evenly.
const TURN: u64 = 64;
/// Maximum duration of a busy wait for accesses that are not due yet. After this time, the turn
/// ends without accesses.
const MAX_WAIT: Duration = Duration::from_micros(50);
/// Maximum delay of accesses that later turns make up for. After a longer delay, the missed
/// accesses are skipped.
const MAX_DELAY: Duration = Duration::from_millis(1);

/// A working set in memory, and the state of the accesses to it.
pub struct MemBench {
    words: Vec<u64>,
    touch: Touch,
    interval: Option<Duration>,
    due: Instant,
    random: Random,
    at: usize,
    done: u64,
}

impl MemBench {
    /// Allocates a working set of zeros and touches all of it once.
    ///
    /// # Errors
    /// If a number is out of range, or there is not enough memory.
    pub fn new(spec: &MemorySpec) -> Result<MemBench, NeighbourError> {
        spec.check()?;
        let words = zeros("the working set of mem-bench", spec.bytes / WORD)?;
        let interval = spec.rate.map(|rate| Duration::from_secs_f64(TURN as f64 / rate));
        let (touch, random) = (spec.touch, Random::new(1));
        Ok(MemBench { words, touch, interval, due: Instant::now(), random, at: 0, done: 0 })
    }

    fn update(&mut self) {
        let count = self.words.len() as u64;
        for _ in 0..TURN {
            let number = self.random.bits();
            let at = (u128::from(number) * u128::from(count)) >> 64;
            if let Some(word) = self.words.get_mut(at as usize) {
                *word = word.wrapping_add(number);
            }
        }
    }

    fn copy(&mut self) {
        let half = self.words.len() / 2;
        let (from, to) = self.words.split_at_mut(half);
        let mut left = TURN as usize * LINE;
        while left > 0 {
            let count = left.min(half - self.at);
            let range = self.at..self.at + count;
            to[range.clone()].copy_from_slice(&from[range]);
            self.at = (self.at + count) % half;
            left -= count;
        }
    }
}

impl Work for MemBench {
    fn begin(&mut self, _: bool) {
        self.due = Instant::now();
    }

    fn turn(&mut self) {
        if let Some(interval) = self.interval {
            let start = Instant::now();
            let mut now = start;
            while now < self.due {
                if now.duration_since(start) > MAX_WAIT {
                    return;
                }
                spin_loop();
                now = Instant::now();
            }
            let late = now.duration_since(self.due) > MAX_DELAY;
            self.due = if late { now } else { self.due + interval };
        }
        match self.touch {
            Touch::Updates => self.update(),
            Touch::Copies => self.copy(),
        }
        self.done += TURN;
    }

    fn served(&self) -> Vec<Served> {
        let each = match self.touch {
            Touch::Updates => WORD,
            Touch::Copies => LINE * WORD,
        };
        vec![Served { items: self.done, bytes: self.done * each as u64, ..Served::default() }]
    }
}

#[cfg(test)]
mod tests {
    use super::MemBench;
    use crate::spec::{MemorySpec, Touch};
    use crate::work::Work;

    #[test]
    fn updates_reach_all_of_the_working_set_and_copies_one_half() {
        let spec = MemorySpec { cpu: 0, bytes: 4096, touch: Touch::Updates, rate: None };
        let mut bench = MemBench::new(&spec).unwrap();
        (0..200).for_each(|_| bench.turn());
        assert!(bench.words.iter().all(|&word| word != 0));
        assert_eq!(bench.served()[0].items, 200 * 64);
        let mut bench = MemBench::new(&MemorySpec { touch: Touch::Copies, ..spec }).unwrap();
        let half = bench.words.len() / 2;
        bench.words[..half].fill(7);
        bench.turn();
        assert!(bench.words.iter().all(|&word| word == 7));
    }

    #[test]
    fn accesses_wait_until_they_are_due() {
        let spec = MemorySpec { cpu: 0, bytes: 4096, touch: Touch::Updates, rate: Some(1.0) };
        let mut bench = MemBench::new(&spec).unwrap();
        bench.begin(true);
        (0..3).for_each(|_| bench.turn());
        // The first turn is due at once, the next one 64 seconds later.
        assert_eq!(bench.served()[0].items, 64);
        assert!(MemBench::new(&MemorySpec { rate: Some(0.0), ..spec }).is_err());
        assert!(MemBench::new(&MemorySpec { bytes: 0, ..spec }).is_err());
    }
}
