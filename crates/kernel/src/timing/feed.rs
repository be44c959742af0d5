//! A program in front of another one: each run gets a packet of another flow.

use super::attachments::{Attached, Attachments};
use super::error::TimingError;
use super::flows::Flows;
use super::state::{self, State};
use super::steps::{before_run, draw, restore_packet};
use super::undo::Undo;
use crate::generated::Entry;
use crate::{Context, Kernel, Loaded, TestRun};
use slowpath_bpf::insn::Register;

/// A program that puts the packet back as the run before has found it, writes another flow into it,
/// and calls the program that it is for. What it does is part of the time, as it stands for the driver
/// that hands packets over.
#[derive(Debug)]
pub struct Feed {
    entry: Entry,
    state: State,
    packet: Vec<u8>,
}

impl Feed {
    /// One for packets like this one, which a program changes as `undo` takes back: elements of maps
    /// stay as they are.
    ///
    /// # Errors
    /// If flows cannot be written into the packet, or the kernel refuses the code.
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
        let entry = Entry::new("slowpath_feed", fragments, cpus, |code| {
            code.map_value(Register::R7, state.fd(), 0);
            before_run(code, |code| restore_packet(code, undo))?;
            draw(code, flows, sum)
        })?;
        Ok(Feed { entry, state, packet: packet.to_vec() })
    }

    /// Attaches it, which makes calls cheap.
    ///
    /// # Errors
    /// As for [`Attachments::attach`].
    pub fn attach(&self, attachments: &Attachments) -> Result<Attached, TimingError> {
        attachments.attach(self.entry.program())
    }

    /// From now on it calls this program.
    ///
    /// # Errors
    /// If the kernel does not let it.
    pub fn select(&self, program: &Loaded) -> Result<(), TimingError> {
        Ok(self.entry.select(program.fd())?)
    }

    /// Runs so many packets through the program, and returns what the last run did.
    ///
    /// # Errors
    /// If the kernel does not run them, a signal ends it early, or a packet could not be put back.
    pub fn run(&self, repeat: u32) -> Result<TestRun, TimingError> {
        self.state.start()?;
        let run = self.entry.program().run_in(&self.packet, repeat, &Context::default())?;
        match self.state.read([state::FAILURES])? {
            [0] => Ok(run),
            [failures] => Err(TimingError::NotRestored { failures }),
        }
    }

    /// The state of the generator that draws flows.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn generator(&self) -> Result<u64, TimingError> {
        let [generator] = self.state.read([state::ROW])?;
        Ok(generator)
    }

    /// Flows are drawn from here on.
    ///
    /// # Errors
    /// If the kernel does not take it.
    pub fn seek(&self, generator: u64) -> Result<(), TimingError> {
        Ok(self.state.start_at(generator)?)
    }
}
