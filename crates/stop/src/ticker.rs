//! Polls for loops whose turns are quicker than a look at the clock.

use crate::{Reason, Stop};

/// Polls a [`Stop`] at some of the turns of a loop.
#[derive(Clone, Copy, Debug)]
pub struct Ticker {
    every: u32,
    left: u32,
}

impl Ticker {
    /// Looks at every so manieth turn.
    pub const fn new(every: u32) -> Self {
        Ticker { every, left: every }
    }

    /// A turn of the loop: goes on, unless it is time to stop.
    ///
    /// # Errors
    /// The reason to stop.
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
