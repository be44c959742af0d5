//! Whether repetitions take the path of the first run: counted, never assumed.

use std::time::{Duration, Instant};

use slowpath_kernel::timing::{Preparation, Undo, Wrapper};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Context, Counted, Kernel, Tally};

use crate::drain::Drains;
use crate::error::MeasureError;

/// Repetitions that are counted to find out whether they take the same path, and for how long.
const REPETITIONS: u32 = 100_000;
const LONG: Duration = Duration::from_millis(20);
/// Repetitions that tell how long one is.
const FEW: u32 = 64;
/// Calls that these are at most where ring buffers are emptied between them: each call waits for all
/// CPUs.
const FEW_CALLS: u32 = 4;

/// A program that counts, with what undoes its changes between runs.
pub struct Trial {
    counted: Counted,
    wrapper: Option<Wrapper>,
    drains: Option<Drains>,
    _installed: Installed,
}

impl Trial {
    /// A program whose maps are filled, with a wrapper that undoes this, and ring buffers that are
    /// emptied between calls.
    pub fn new(
        kernel: &Kernel,
        (counted, installed): (Counted, Installed),
        undo: Option<&Undo>,
        drains: Option<Drains>,
    ) -> Result<Trial, MeasureError> {
        let wrapper = undo.map(|undo| {
            let preparation = Preparation { undo: Some(undo), rotation: None };
            Wrapper::new(kernel, counted.loaded(), &preparation)
        });
        Ok(Trial { counted, wrapper: wrapper.transpose()?, drains, _installed: installed })
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
        let (value, tally) = self.counted.tally(|loaded| {
            let call = |runs: u32| match &self.wrapper {
                Some(wrapper) => {
                    let run = wrapper.run(loaded, packet, context, runs);
                    run.map_err(MeasureError::from)
                }
                None => Ok(Some(loaded.run_in(packet, runs, context)?.return_value)),
            };
            match &self.drains {
                Some(drains) => drains.calls(repeat, call),
                None => call(repeat),
            }
        })?;
        Ok(value.map(|return_value| (return_value, tally)))
    }

    /// Repetitions that tell whether they take the same path, if it need not be said for certain.
    pub fn few(&self) -> u32 {
        self.drains.as_ref().map_or(FEW, |drains| FEW.min(drains.runs().saturating_mul(FEW_CALLS)))
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
        let few = self.few();
        let mut repeat = few;
        loop {
            let before = self.drains.as_ref().map(Drains::positions);
            // With a wrapper, the state of its first call is that of the last: undone from the start.
            match self.run(packet, context, repeat)? {
                Some((value, tally)) if value == action && tally.is_multiple_of(&first, repeat) => {
                }
                _ => return Ok(false),
            }
            let drains = self.drains.as_ref().zip(before.as_deref());
            if drains.is_some_and(|(drains, before)| !drains.wrote(before, repeat)) {
                return Ok(false);
            }
            let one = started.elapsed() / repeat;
            if repeat > few || one >= LONG / few {
                return Ok(true);
            }
            let affordable = LONG.as_nanos() / one.as_nanos().max(1);
            repeat = u32::try_from(affordable).unwrap_or(REPETITIONS).clamp(few + 1, REPETITIONS);
        }
    }
}
