//! Timed calls.

use super::attachments::{Attached, Attachments};
use super::error::TimingError;
use super::wrapper::Wrapper;
use crate::again::again;
use crate::error::RunError;
use crate::sys::{monotonic_raw, test_run};
use crate::{Context, Loaded};

/// What is timed: a program, and the wrapper in front of it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The program.
    pub program: &'a Loaded,
    /// Prepares each run and reads the clock; without it, runs follow each other.
    pub wrapper: Option<&'a Wrapper>,
}

/// One timed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Nanoseconds of all runs together: by the wrapper, or of the whole call by a monotonic raw
    /// clock.
    pub nanoseconds: u64,
    /// How many runs these are.
    pub runs: u64,
    /// What the last one returned.
    pub return_value: u32,
}

impl Subject<'_> {
    /// Attaches what the kernel calls: the program, or the wrapper, which calls it. Otherwise each
    /// timed call takes milliseconds besides.
    ///
    /// # Errors
    /// As for [`Attachments::attach`].
    pub fn attach(&self, attachments: &Attachments) -> Result<Attached, TimingError> {
        let first = self.wrapper.map_or(self.program, |wrapper| wrapper.entry().program());
        attachments.attach(first)
    }

    /// Runs a packet `repeat` times, at least twice with a wrapper, which does not see the last one
    /// end.
    ///
    /// # Errors
    /// If the kernel does not run it, or a wrapper could not restore what it has to.
    pub fn sample(
        &self,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<Sample, TimingError> {
        again(|| self.sample_once(packet, context, repeat))
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
        let whole = timed(wrapper.entry().program(), packet, context, repeat)?;
        let accounts = wrapper.accounts()?;
        if accounts.failures > 0 {
            return Err(TimingError::NotRestored { failures: accounts.failures });
        }
        let (nanoseconds, runs) = (accounts.nanoseconds, accounts.runs);
        Ok(Sample { nanoseconds, runs, ..whole })
    }
}

/// Times one call.
fn timed(
    program: &Loaded,
    packet: &[u8],
    context: &Context,
    repeat: u32,
) -> Result<Sample, TimingError> {
    let input = [context.metadata.as_slice(), packet].concat();
    let mut after = context.encode(packet.len());
    let start = monotonic_raw();
    let run = test_run(program.fd(), &input, &mut [], &mut after, repeat);
    let nanoseconds = monotonic_raw().saturating_sub(start);
    let run = run.map_err(|cause| RunError::of(packet.len(), context, cause))?;
    Ok(Sample { nanoseconds, runs: repeat.max(1).into(), return_value: run.return_value })
}
