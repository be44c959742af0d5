//! Timed calls: a program that stays attached, and calls those that take turns.

use super::entry::Entry;
use super::error::TimingError;
use super::wrapper::Wrapper;
use crate::error::RunError;
use crate::sys::{monotonic_raw, test_run};
use crate::{Context, Device, Kernel, Link, Loaded, Mode, Namespace};

/// A program that is attached to the loopback device of a namespace and calls the program whose turn
/// it is. What it costs itself, a call of an empty program through it tells.
#[derive(Debug)]
pub struct Trampoline {
    entry: Entry,
    fragments: bool,
    _link: Link,
}

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

impl Trampoline {
    /// One for programs with or without fragments, in a namespace whose loopback device has no
    /// program yet.
    ///
    /// # Errors
    /// If it is not loaded or attached.
    pub fn new(
        kernel: &Kernel,
        namespace: &Namespace,
        fragments: bool,
    ) -> Result<Trampoline, TimingError> {
        let entry = Entry::new("slowpath_tramp", fragments, kernel.possible_cpus(), |_| Ok(()))?;
        let link = entry.program().attach(namespace, Device::LOOPBACK, Mode::Generic)?;
        Ok(Trampoline { entry, fragments, _link: link })
    }

    /// Whether it is for programs with fragments.
    pub fn fragments(&self) -> bool {
        self.fragments
    }

    /// Runs a packet `repeat` times, at least twice with a wrapper, which does not see the last one
    /// end.
    ///
    /// # Errors
    /// If the kernel does not run it, or a wrapper could not restore what it has to.
    pub fn sample(
        &self,
        subject: Subject,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<Sample, TimingError> {
        let first = match subject.wrapper {
            Some(wrapper) => {
                wrapper.entry().select(subject.program.fd())?;
                wrapper.start()?;
                wrapper.entry().program()
            }
            None => subject.program,
        };
        self.entry.select(first.fd())?;
        let whole = timed(self.entry.program(), packet, context, repeat)?;
        let Some(wrapper) = subject.wrapper else { return Ok(whole) };
        let accounts = wrapper.accounts()?;
        if accounts.failures > 0 {
            return Err(TimingError::NotRestored { failures: accounts.failures });
        }
        let (nanoseconds, runs) = (accounts.nanoseconds, accounts.runs);
        Ok(Sample { nanoseconds, runs, ..whole })
    }
}

/// A program that is attached itself, so that its calls are as cheap.
#[derive(Debug)]
pub struct Attached {
    program: Loaded,
    _link: Link,
}

impl Attached {
    /// Attaches a program to the loopback device of a namespace, which has none yet.
    ///
    /// # Errors
    /// If the kernel does not take it there.
    pub fn new(namespace: &Namespace, program: Loaded) -> Result<Attached, TimingError> {
        let link = program.attach(namespace, Device::LOOPBACK, Mode::Generic)?;
        Ok(Attached { program, _link: link })
    }

    /// Runs a packet `repeat` times.
    ///
    /// # Errors
    /// If the kernel does not run it.
    pub fn sample(
        &self,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<Sample, TimingError> {
        timed(&self.program, packet, context, repeat)
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
