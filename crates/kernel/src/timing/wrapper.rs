//! Programs in front of those that are timed: they make each run find what the first one found, and
//! read the clock.

use std::io;

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::helper::KTIME_GET_NS;
use slowpath_bpf::insn::{Register, Size, Source};

use super::error::TimingError;
use super::rotation::Rotation;
use super::state::{self, State};
use super::steps::{Constants, after_run, restore_elements, restore_packet, rotate};
use super::undo::Undo;
use crate::generated::{Entry, GeneratedError, KEY, map};
use crate::sys::{Cpus, RawMap};
use crate::{Context, Kernel, Loaded};

/// What a wrapper does before each run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preparation<'a> {
    /// Takes back what the run before has changed.
    pub undo: Option<&'a Undo>,
    /// Gives the packet other bytes.
    pub rotation: Option<&'a Rotation>,
}

/// A program that prepares a run, reads the clock, and calls the program that is timed. What it
/// does itself is not part of the time, but for one reading of the clock and the call.
#[derive(Debug)]
pub struct Wrapper {
    entry: Entry,
    state: State,
    _constants: Option<RawMap>,
    _table: Option<RawMap>,
}

/// What happened since [`Wrapper::start`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounts {
    /// Nanoseconds of all runs that ended.
    pub nanoseconds: u64,
    /// How many these are: all but the last one, whose end nobody notices.
    pub runs: u64,
    /// How often something could not be restored.
    pub failures: u64,
}

impl Wrapper {
    /// One for runs of a program, whose maps it restores. The program may be another with the same
    /// maps at the time it is called.
    ///
    /// # Errors
    /// If there is too much to prepare, or the kernel refuses the code: values with locks or timers
    /// cannot be written as a whole.
    pub fn new(
        kernel: &Kernel,
        program: &Loaded,
        preparation: &Preparation,
    ) -> Result<Wrapper, TimingError> {
        let cpus = kernel.possible_cpus();
        let state = State::new(cpus)?;
        let undo = preparation.undo.cloned().unwrap_or_default();
        let constants = Constants::of(&undo, program)?;
        let constant_map = filled("slowpath.values", &constants.bytes, cpus)?;
        let table = match preparation.rotation {
            Some(rotation) => filled("slowpath.rows", &padded(rotation), cpus)?,
            None => None,
        };
        let entry = Entry::new(
            "slowpath_wrapper",
            program.fragments(),
            cpus,
            |code| -> Result<(), TimingError> {
                code.call(KTIME_GET_NS);
                code.map_value(Register::R7, state.fd(), 0);
                let constants = constant_map.as_ref().map(|map| (map.fd(), &constants));
                after_run(
                    code,
                    |code| restore_packet(code, &undo),
                    |code| restore_elements(code, &undo, program, constants),
                )?;
                if let Some((rotation, table)) = preparation.rotation.zip(table.as_ref()) {
                    rotate(code, rotation, table.fd())?;
                }
                code.call(KTIME_GET_NS);
                code.store(Size::DW, Register::R7, state::STARTED, Source::Reg(Register::R0));
                Ok(())
            },
        )?;
        Ok(Wrapper { entry, state, _constants: constant_map, _table: table })
    }

    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Runs a packet `repeat` times through a program with the maps of the one that this is for, and
    /// returns what the last run did; `None` if something could not be restored.
    ///
    /// # Errors
    /// If the kernel does not run it, or a signal ends it early.
    pub fn run(
        &self,
        program: &Loaded,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<Option<u32>, TimingError> {
        self.entry.select(program.fd())?;
        self.start()?;
        let run = self.entry.program().run_in(packet, repeat, context)?;
        Ok((self.accounts()?.failures == 0).then_some(run.return_value))
    }

    /// Forgets all runs of this call, but for the row of the rotation.
    pub(super) fn start(&self) -> Result<(), TimingError> {
        Ok(self.state.start()?)
    }

    pub(super) fn accounts(&self) -> Result<Accounts, TimingError> {
        let [nanoseconds, runs, failures] =
            self.state.read([state::NANOSECONDS, state::RUNS, state::FAILURES])?;
        Ok(Accounts { nanoseconds, runs, failures })
    }
}

fn refused(what: &'static str, cause: io::Error) -> TimingError {
    GeneratedError::Refused { what, cause }.into()
}

/// A map whose only value is this, unless that is empty.
fn filled(name: &str, bytes: &[u8], cpus: Cpus) -> Result<Option<RawMap>, TimingError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let too_much = |_| TimingError::TooMuch { what: "to keep" };
    let size = u32::try_from(bytes.len()).map_err(too_much)?;
    let map = map(name, MapKind::ARRAY, size, cpus)?;
    let written = map.update(&KEY, bytes);
    written.map_err(|cause| refused("the values of a map", cause))?;
    Ok(Some(map))
}

/// The rows of a rotation, each at its place in the table.
fn padded(rotation: &Rotation) -> Vec<u8> {
    let row = rotation.row();
    let stride = Rotation::stride(row);
    let padded = |row: &[u8]| {
        let mut row = row.to_vec();
        row.resize(stride, 0);
        row
    };
    if row == 0 { Vec::new() } else { rotation.rows.chunks(row).flat_map(padded).collect() }
}
