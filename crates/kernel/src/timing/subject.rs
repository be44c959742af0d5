//! Times the runs of a program in one test run of the kernel.

use super::attachments::{Attached, Attachments};
use super::error::TimingError;
use super::wrapper::Wrapper;
use crate::error::RunError;
use crate::retry::retry;
use crate::sys::{monotonic_raw, test_run};
use crate::{Context, LoadedProgram};

/// A program to time, with an optional wrapper program that runs in front of it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The program that is timed.
    pub program: &'a LoadedProgram,
    /// Program that prepares each run. Without it, the packet is run repeatedly without
    /// preparation.
    pub wrapper: Option<&'a Wrapper>,
}

/// Result of one timed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Total time of the runs in nanoseconds, measured by the wrapper. If it does not read the
    /// clock, or without a wrapper, the time of the whole call by the raw monotonic clock.
    pub nanoseconds: u64,
    /// Number of runs that `nanoseconds` covers.
    pub runs: u64,
    /// Return value of the last run.
    pub return_value: u32,
}

impl Subject<'_> {
    /// Attaches the wrapper, or the program if there is no wrapper. A timed call of a program that
    /// is not attached takes milliseconds longer.
    ///
    /// # Errors
    /// As for [`Attachments::attach`].
    pub fn attach(&self, attachments: &Attachments) -> Result<Attached, TimingError> {
        let first = self.wrapper.map_or(self.program, |wrapper| wrapper.entry().program());
        attachments.attach(first)
    }

    /// Times `repeat` runs on a packet in one call. With a wrapper that reads the clock, `repeat`
    /// must be at least 2, because it cannot time the last run.
    ///
    /// # Errors
    /// If the kernel does not run the packet, or the wrapper could not undo the changes of a run.
    pub fn sample(
        &self,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<Sample, TimingError> {
        retry(|| self.sample_once(packet, context, repeat))
    }

    fn sample_once(
        &self,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<Sample, TimingError> {
        let Some(wrapper) = self.wrapper else {
            return timed(self.program, packet, context, repeat);
        };
        wrapper.entry().select(self.program.fd())?;
        wrapper.start()?;
        let call = timed(wrapper.entry().program(), packet, context, repeat)?;
        let accounts = wrapper.accounts()?;
        if accounts.failures > 0 {
            return Err(TimingError::NotRestored { failures: accounts.failures });
        }
        if !wrapper.is_clocked() {
            return Ok(call);
        }
        let (nanoseconds, runs) = (accounts.nanoseconds, accounts.runs);
        Ok(Sample { nanoseconds, runs, ..call })
    }
}

/// Runs a program `repeat` times in one call, and times the call.
fn timed(
    program: &LoadedProgram,
    packet: &[u8],
    context: &Context,
    repeat: u32,
) -> Result<Sample, TimingError> {
    let input = [context.metadata.as_slice(), packet].concat();
    let mut after = program.encode(context, packet.len());
    let start = monotonic_raw();
    let run = test_run(program.fd(), &input, &mut [], &mut after, repeat);
    let nanoseconds = monotonic_raw().saturating_sub(start);
    let run = run.map_err(|cause| RunError::of(packet.len(), context, cause))?;
    Ok(Sample { nanoseconds, runs: repeat.max(1).into(), return_value: run.return_value })
}
