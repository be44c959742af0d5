//! Whether repetitions take the path of the first run: counted, never assumed.

use std::time::{Duration, Instant};

use slowpath_kernel::timing::{Attached, Attachments, Preparation, Subject, Undo, Wrapper};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Context, Counted, Kernel, Loaded, Tally, again};

use crate::drain::Drains;
use crate::error::MeasureError;

/// For how long repetitions are counted: several times as long as those of a load are timed.
pub const LONG: Duration = Duration::from_millis(20);
/// Repetitions that tell how long one is.
pub const FEW: u32 = 128;
/// Most repetitions that are counted, however short they are.
const MOST: u32 = 1 << 20;

/// A program that counts, with what undoes its changes between runs.
pub struct Trial {
    counted: Counted,
    wrapper: Option<Wrapper>,
    drains: Option<Drains>,
    _installed: Installed,
    _attached: Attached,
}

/// What a run has to do.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// What it returns.
    pub value: u32,
    /// How many instructions are counted.
    pub instructions: u64,
}

impl Trial {
    /// A program whose maps are filled, with a wrapper that undoes this, and ring buffers that are
    /// emptied between calls.
    pub fn new(
        (kernel, attachments): (&Kernel, &Attachments),
        (counted, installed): (Counted, Installed),
        undo: Option<&Undo>,
        drains: Option<Drains>,
    ) -> Result<Trial, MeasureError> {
        let wrapper = undo.map(|undo| {
            let preparation = Preparation { undo: Some(undo), rotation: None };
            Wrapper::new(kernel, counted.loaded(), &preparation)
        });
        let wrapper = wrapper.transpose()?;
        let subject = Subject { program: counted.loaded(), wrapper: wrapper.as_ref() };
        let attached = subject.attach(attachments)?;
        Ok(Trial { counted, wrapper, drains, _installed: installed, _attached: attached })
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
        let runs = |loaded: &Loaded| {
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
        };
        let (value, tally) = again(|| self.counted.tally(runs))?;
        Ok(value.map(|return_value| (return_value, tally)))
    }

    /// How many repetitions were seen to take the path of the first run and return this: as many as
    /// fit into a time, but for the fewest; `None` if one did not.
    ///
    /// What the first runs do to maps, later ones may find: no more repetitions may be timed on the
    /// same maps than were counted here.
    pub fn repeats(
        &self,
        packet: &[u8],
        context: &Context,
        wanted: &Wanted,
        long: Duration,
    ) -> Result<Option<u32>, MeasureError> {
        let positions = || self.drains.as_ref().map(Drains::positions).unwrap_or_default();
        let since = |before: &[usize]| {
            self.drains.as_ref().map(|drains| drains.since(before)).unwrap_or_default()
        };
        let before = positions();
        let Some((value, first)) = self.run(packet, context, 1)? else { return Ok(None) };
        let written = since(&before);
        if value != wanted.value || first.instructions != wanted.instructions {
            return Ok(None);
        }
        let mut repeat = FEW;
        loop {
            let before = positions();
            let started = Instant::now();
            // With a wrapper, the state of its first call is that of the last: undone from the start.
            match self.run(packet, context, repeat)? {
                Some((value, tally))
                    if value == wanted.value && tally.is_multiple_of(&first, repeat) => {}
                _ => return Ok(None),
            }
            // A program need not look at whether there was room for its record.
            let all = written.iter().map(|bytes| bytes.wrapping_mul(repeat as usize));
            if !all.eq(since(&before)) {
                return Ok(None);
            }
            let one = started.elapsed().as_nanos() / u128::from(repeat);
            if repeat > FEW || one * u128::from(FEW) >= long.as_nanos() {
                return Ok(Some(repeat));
            }
            let affordable = long.as_nanos() / one.max(1);
            repeat = u32::try_from(affordable).unwrap_or(MOST).clamp(FEW + 1, MOST);
        }
    }
}
