//! Times programs with packets of random flows. A generated program in front of the timed program
//! writes a flow into the packet before each run.

use super::attachments::{Attached, Attachments};
use super::error::TimingError;
use super::flows::Flows;
use super::state::{self, State};
use super::steps::{before_run, draw, restore_packet};
use super::undo::Undo;
use crate::generated::Entry;
use crate::program::Variant;
use crate::{Context, Kernel, LoadedProgram, TestRun};
use slowpath_bpf::insn::Register;

/// A program that runs in front of the timed program: it restores the packet of the previous run,
/// writes the addresses and ports of another flow into it, and tail-calls the timed program. The
/// measured time includes the work of the feed, which stands for the work of a driver.
#[derive(Debug)]
pub struct Feed {
    entry: Entry,
    state: State,
    packet: Vec<u8>,
}

impl Feed {
    /// Creates a feed whose packets are equal to `packet` except for the addresses and ports of
    /// their flow. `undo` describes how the timed program changes its packet. Elements of maps are
    /// not restored.
    ///
    /// # Errors
    /// If flows cannot be written into the packet, or the kernel rejects the code.
    pub fn new(
        kernel: &Kernel,
        fragments: bool,
        packet: &[u8],
        undo: &Undo,
        flows: &Flows,
    ) -> Result<Feed, TimingError> {
        let cpus = kernel.possible_cpus();
        let state = State::new(cpus)?;
        let sum = flows.constant_sum(packet)?;
        let entry = Entry::new("slowpath_feed", Variant::xdp(fragments), cpus, |code| {
            code.map_value(Register::R7, state.fd(), 0);
            before_run(code, |code| restore_packet(code, undo, true))?;
            draw(code, flows, sum)
        })?;
        Ok(Feed { entry, state, packet: packet.to_vec() })
    }

    /// Attaches the feed, which makes test runs cheap.
    ///
    /// # Errors
    /// As for [`Attachments::attach`].
    pub fn attach(&self, attachments: &Attachments) -> Result<Attached, TimingError> {
        attachments.attach(self.entry.program())
    }

    /// Sets the program that the feed calls.
    ///
    /// # Errors
    /// If the kernel does not allow that the program is tail-called.
    pub fn select(&self, program: &LoadedProgram) -> Result<(), TimingError> {
        Ok(self.entry.select(program.fd())?)
    }

    /// Runs the program on `repeat` packets. Returns the result of the last run.
    ///
    /// # Errors
    /// If the kernel does not run the packets, a signal ends the run early, or a packet could not
    /// be restored.
    pub fn run(&self, repeat: u32) -> Result<TestRun, TimingError> {
        self.state.start()?;
        let run = self.entry.program().run_in(&self.packet, repeat, &Context::default())?;
        match self.state.read([state::FAILURES])? {
            [0] => Ok(run),
            [failures] => Err(TimingError::NotRestored { failures }),
        }
    }

    /// Returns the state of the random number generator that selects flows.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn generator(&self) -> Result<u64, TimingError> {
        let [generator] = self.state.read([state::GENERATOR])?;
        Ok(generator)
    }

    /// Sets the state of the random number generator.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub fn seek(&self, generator: u64) -> Result<(), TimingError> {
        Ok(self.state.start_at(generator)?)
    }
}
