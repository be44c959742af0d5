//! Polling for loops whose iterations are faster than a poll of the clock.

use crate::{Reason, Stop};

/// Polls a [`Stop`] in every n-th iteration of a loop.
#[derive(Clone, Copy, Debug)]
pub struct Ticker {
    every: u32,
    left: u32,
}

impl Ticker {
    /// Returns a ticker that polls in every `every`-th iteration.
    pub const fn new(every: u32) -> Self {
        Ticker { every, left: every }
    }

    /// Counts an iteration of the loop. Succeeds unless it is time to stop.
    ///
    /// # Errors
    /// Returns the reason to stop.
    #[inline]
    pub fn tick(&mut self, stop: &Stop) -> Result<(), Reason> {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return Ok(());
        }
        self.left = self.every;
        stop.check()
    }
}
