//! Whether repetitions take the path of the first run: counted, never assumed.

use std::time::{Duration, Instant};

use slowpath_kernel::timing::{Preparation, Undo, Wrapper};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Context, Counted, Kernel, Tally};

use crate::error::MeasureError;

/// Repetitions that are counted to find out whether they take the same path, and for how long.
const REPETITIONS: u32 = 100_000;
const LONG: Duration = Duration::from_millis(20);
/// Repetitions that tell how long one is.
pub const FEW: u32 = 64;

/// A program that counts, with what undoes its changes between runs.
pub struct Trial {
    counted: Counted,
    wrapper: Option<Wrapper>,
    _installed: Installed,
}

impl Trial {
    /// A program whose maps are filled, with a wrapper that undoes this.
    pub fn new(
        kernel: &Kernel,
        (counted, installed): (Counted, Installed),
        undo: Option<&Undo>,
    ) -> Result<Trial, MeasureError> {
        let wrapper = undo.map(|undo| {
            let preparation = Preparation { undo: Some(undo), rotation: None };
            Wrapper::new(kernel, counted.loaded(), &preparation)
        });
        Ok(Trial { counted, wrapper: wrapper.transpose()?, _installed: installed })
    }

    /// The program.
    pub fn counted(&self) -> &Counted {
        &self.counted
    }

    /// What so many runs return and add up to; `None` if something could not be undone.
    pub fn run(
        &self,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<Option<(u32, Tally)>, MeasureError> {
        let Some(wrapper) = &self.wrapper else {
            let (run, tally) = self.counted.run_repeated(packet, context, repeat)?;
            return Ok(Some((run.return_value, tally)));
        };
        let (run, tally) = self.counted.tally(|loaded| {
            let run = wrapper.run(loaded, packet, context, repeat);
            run.map_err(MeasureError::from)
        })?;
        Ok(run.map(|return_value| (return_value, tally)))
    }

    /// Whether repetitions take the path of the first run, and return this.
    pub fn repeats(
        &self,
        packet: &[u8],
        context: &Context,
        action: u32,
    ) -> Result<bool, MeasureError> {
        let Some((_, first)) = self.run(packet, context, 1)? else { return Ok(false) };
        let started = Instant::now();
        let mut repeat = FEW;
        loop {
            // With a wrapper, the state of its first call is that of the last: undone from the start.
            match self.run(packet, context, repeat)? {
                Some((value, tally)) if value == action && tally.is_multiple_of(&first, repeat) => {
                }
                _ => return Ok(false),
            }
            let one = started.elapsed() / repeat;
            if repeat > FEW || one >= LONG / FEW {
                return Ok(true);
            }
            let affordable = LONG.as_nanos() / one.as_nanos().max(1);
            repeat = u32::try_from(affordable).unwrap_or(REPETITIONS).clamp(FEW + 1, REPETITIONS);
        }
    }
}
