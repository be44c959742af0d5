//! Verifies by counting that repeated runs of a program take the same path as the first run.

use std::time::{Duration, Instant};

use slowpath_kernel::timing::{Attached, Attachments, Preparation, Subject, Undo, Wrapper};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Context, CountingProgram, Kernel, LoadedProgram, Tally, retry};

use crate::drain::Drains;
use crate::error::MeasureError;

/// Time for which repeated runs are counted, to verify their path. Later timings take a fraction of
/// this time.
pub const COUNTING_TIME: Duration = Duration::from_millis(20);
/// Number of runs in the first call, from which the time of one run is estimated.
pub const FIRST_REPETITIONS: u32 = 128;
/// Maximum number of repeated runs that are counted.
const MAX_REPETITIONS: u32 = 1 << 20;

/// A program that counts the executed blocks, attached for repeated runs. An optional wrapper
/// undoes its changes between runs.
pub struct Trial {
    counted: CountingProgram,
    wrapper: Option<Wrapper>,
    drains: Option<Drains>,
    _installed: Installed,
    _attached: Attached,
}

/// Return value and instruction count of the expected path, which each repeated run must have.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedRun {
    /// Return value of the program.
    pub value: u32,
    /// Number of instructions that the program counts in one run.
    pub instructions: u64,
}

/// Results of repeated runs with counting.
#[derive(Clone, Copy, Debug)]
pub struct TrialRun {
    /// Return value of the last run.
    pub value: u32,
    /// Counts of all runs.
    pub tally: Tally,
    /// Length of the packet after the last run in bytes; `None` for XDP programs.
    length: Option<usize>,
}

impl Trial {
    /// Attaches a program, whose maps are already filled, for repeated runs with counting. `undo`
    /// contains the changes to undo between runs, and `drains` the ring buffers to empty between
    /// calls.
    pub fn new(
        (kernel, attachments): (&Kernel, &Attachments),
        (counted, installed): (CountingProgram, Installed),
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

    /// Returns the attached program.
    pub fn counted(&self) -> &CountingProgram {
        &self.counted
    }

    /// Makes `repeat` runs. Returns the result of the last run and the counts of all runs. Returns
    /// `None` if the wrapper could not undo a change.
    pub fn run(
        &self,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<Option<TrialRun>, MeasureError> {
        let runs = |loaded: &LoadedProgram| {
            let call = |runs: u32| match &self.wrapper {
                Some(wrapper) => {
                    let run = wrapper.run(loaded, packet, context, runs);
                    run.map_err(MeasureError::from)
                }
                None => Ok(Some(loaded.run_in(packet, runs, context)?)),
            };
            match &self.drains {
                Some(drains) => drains.calls(repeat, call),
                None => call(repeat),
            }
        };
        let (run, tally) = retry(|| self.counted.tally(runs))?;
        Ok(run.map(|run| TrialRun {
            value: run.return_value,
            tally,
            length: (!self.counted.loaded().is_xdp()).then_some(run.packet.len()),
        }))
    }

    /// Counts repeated runs for about `duration`. Returns their number if each of them took the
    /// path of the first run and returned the expected value. Returns `None` if not.
    ///
    /// Runs may depend on changes that earlier runs made to maps. Therefore at most this number of
    /// runs may be timed before the maps are filled again.
    pub fn repeats(
        &self,
        packet: &[u8],
        context: &Context,
        expected: &ExpectedRun,
        duration: Duration,
    ) -> Result<Option<u32>, MeasureError> {
        let positions = || self.drains.as_ref().map(Drains::positions).unwrap_or_default();
        let written_since = |before: &[usize]| {
            self.drains.as_ref().map(|drains| drains.written_since(before)).unwrap_or_default()
        };
        let before = positions();
        let Some(TrialRun { value, tally: first, length }) = self.run(packet, context, 1)? else {
            return Ok(None);
        };
        let written = written_since(&before);
        if value != expected.value || first.instructions != expected.instructions {
            return Ok(None);
        }
        let mut repeat = FIRST_REPETITIONS;
        loop {
            let before = positions();
            let started = Instant::now();
            // A wrapper undoes changes before each run, also before the first run of a call.
            match self.run(packet, context, repeat)? {
                Some(run)
                    if run.value == expected.value
                        && run.length == length
                        && run.tally.is_multiple_of(&first, repeat) => {}
                _ => return Ok(None),
            }
            // A program may take the same path if a ring buffer has no room for its record.
            let all = written.iter().map(|bytes| bytes.wrapping_mul(repeat as usize));
            if !all.eq(written_since(&before)) {
                return Ok(None);
            }
            let one = started.elapsed().as_nanos() / u128::from(repeat);
            let estimate = one * u128::from(FIRST_REPETITIONS);
            if repeat > FIRST_REPETITIONS || estimate >= duration.as_nanos() {
                return Ok(Some(repeat));
            }
            let affordable = duration.as_nanos() / one.max(1);
            repeat = u32::try_from(affordable)
                .unwrap_or(MAX_REPETITIONS)
                .clamp(FIRST_REPETITIONS + 1, MAX_REPETITIONS);
        }
    }
}
