//! Generates programs that run in front of timed programs and tail-call them. Before each run, such
//! a program restores what the previous run changed. It then either reads the clock or writes
//! another packet.

use std::io;

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::helper::KTIME_GET_NS;
use slowpath_bpf::insn::{Register, Size, Source};

use super::error::TimingError;
use super::rotation::Rotation;
use super::state::{self, State};
use super::steps::{
    Constants, after_first_ever, after_run, before_run, restore_elements, restore_packet, rotate,
};
use super::undo::Undo;
use crate::generated::{Assembly, Entry, GeneratedError, KEY, map};
use crate::sys::{Cpus, RawMap};
use crate::{Context, Kernel, LoadedProgram, TestRun};

/// Work that a [`Wrapper`] does before each run of the timed program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preparation<'a> {
    /// Changes of the previous run that the wrapper undoes.
    pub undo: Option<&'a Undo>,
    /// Packets that the wrapper writes in turn. With a rotation, the wrapper does not read the
    /// clock. Reading the clock waits for all earlier instructions, so cache misses of successive
    /// packets would not overlap as they do in a driver's loop.
    pub rotation: Option<&'a Rotation>,
}

/// A program that prepares a run, reads the clock, and tail-calls the timed program. The measured
/// time contains one reading of the clock and the tail call, but not the wrapper's other work. With
/// a rotation, the wrapper does not read the clock, and the measured time contains all of its work.
#[derive(Debug)]
pub struct Wrapper {
    entry: Entry,
    state: State,
    is_clocked: bool,
    _constants: Option<RawMap>,
}

/// Counts and times of the timed runs since [`Wrapper::start`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounts {
    /// Total time of all completed runs in nanoseconds.
    pub nanoseconds: u64,
    /// Number of completed runs. These are all runs except the last, because the wrapper reads the
    /// end time of a run when the next run starts.
    pub runs: u64,
    /// Number of times that changes of a run could not be undone.
    pub failures: u64,
}

impl Wrapper {
    /// Creates a wrapper that restores the maps of `program`. The wrapper can time any program that
    /// shares these maps.
    ///
    /// # Errors
    /// If there is too much to prepare, or the kernel rejects the code. For example, programs
    /// cannot overwrite values that contain locks or timers.
    pub fn new(
        kernel: &Kernel,
        program: &LoadedProgram,
        preparation: &Preparation,
    ) -> Result<Wrapper, TimingError> {
        let cpus = kernel.possible_cpus();
        let state = State::new(cpus)?;
        let undo = preparation.undo.cloned().unwrap_or_default();
        let constants = Constants::new(&undo, program)?;
        let constant_map = filled("slowpath.values", &constants.bytes, cpus)?;
        let entry = Entry::new(
            "slowpath_wrapper",
            program.variant(),
            cpus,
            |code| -> Result<(), TimingError> {
                let constants = constant_map.as_ref().map(|map| (map.fd(), &constants));
                let packet = |code: &mut Assembly| restore_packet(code, &undo, program.is_xdp());
                let elements =
                    |code: &mut Assembly| restore_elements(code, &undo, program, constants);
                if let Some(rotation) = preparation.rotation {
                    code.map_value(Register::R7, state.fd(), 0);
                    before_run(code, packet)?;
                    after_first_ever(code, elements)?;
                    return rotate(code, rotation);
                }
                code.call(KTIME_GET_NS);
                code.map_value(Register::R7, state.fd(), 0);
                after_run(code, packet, elements)?;
                code.call(KTIME_GET_NS);
                code.store(Size::DW, Register::R7, state::STARTED, Source::Reg(Register::R0));
                Ok(())
            },
        )?;
        let is_clocked = preparation.rotation.is_none();
        Ok(Wrapper { entry, state, is_clocked, _constants: constant_map })
    }

    /// Returns true if the wrapper itself measures the times of runs. If not, the time of the whole
    /// call is measured, which contains the work of the wrapper.
    pub(super) fn is_clocked(&self) -> bool {
        self.is_clocked
    }

    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Runs `program`, which must share the maps of the wrapper's program, `repeat` times on a
    /// packet. Returns the result of the last run, or `None` if changes could not be undone.
    ///
    /// # Errors
    /// If the kernel does not run the packet, or a signal ends the run early.
    pub fn run(
        &self,
        program: &LoadedProgram,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<Option<TestRun>, TimingError> {
        self.entry.select(program.fd())?;
        self.start()?;
        let run = self.entry.program().run_in(packet, repeat, context)?;
        Ok((self.accounts()?.failures == 0).then_some(run))
    }

    /// Resets the counts and times for a new system call, but keeps the state of the random number
    /// generator.
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

/// Creates a map whose only value is `bytes`. Returns `None` if `bytes` is empty.
fn filled(name: &str, bytes: &[u8], cpus: Cpus) -> Result<Option<RawMap>, TimingError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let too_much = |_| TimingError::CodeTooLong { work: "to keep" };
    let size = u32::try_from(bytes.len()).map_err(too_much)?;
    let map = map(name, MapKind::ARRAY, size, cpus)?;
    let written = map.update(&KEY, bytes);
    written.map_err(|cause| refused("the values of a map", cause))?;
    Ok(Some(map))
}
