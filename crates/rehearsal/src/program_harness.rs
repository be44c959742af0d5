//! A loaded program, and the way in which packets reach it.

use slowpath_bpf::Object;
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{
    Answer, Context, CountingProgram, Kernel, LoadedProgram, RunError, TestRun, VethChain,
};

use crate::error::RehearsalError;
use crate::options::{Install, Role, Stage};
use crate::run_environment::VethSettings;

/// A packet with its metadata, as it arrives at a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The packet.
    pub packet: Vec<u8>,
    /// Metadata in front of the packet.
    pub metadata: Vec<u8>,
}

impl Arrival {
    /// Creates a packet without metadata.
    pub fn bare(packet: Vec<u8>) -> Arrival {
        Arrival { packet, metadata: Vec::new() }
    }

    pub fn context(&self) -> Context {
        Context { metadata: self.metadata.clone(), ..Context::default() }
    }

    /// Returns the number of bytes, metadata included.
    pub fn len(&self) -> usize {
        self.packet.len() + self.metadata.len()
    }
}

/// A loaded program, by the way in which packets reach it.
pub enum ProgramHarness {
    /// Test runs.
    Plain(LoadedProgram),
    /// Test runs that count instructions.
    Counted(Box<CountingProgram>),
    /// Frames on a device, behind its own upstream programs.
    Wired(Box<OnWire>),
}

/// A program on a device.
pub struct OnWire {
    wire: VethChain,
    // Kept loaded, because the device calls them.
    _upstream: Vec<LoadedProgram>,
    program: LoadedProgram,
    /// Number of the program behind the upstream programs.
    number: usize,
}

/// Result of sending a packet.
pub enum Ran {
    /// The program ran; the number of instructions, or 0 without counting.
    Done(TestRun, u64),
    /// The kernel does not run the packet.
    Refused(RunError),
    /// An upstream program did not pass the packet on.
    Kept,
    /// The packet did not arrive.
    Lost,
}

/// Fills the maps of a program.
pub fn fill(
    role: Role,
    loaded: &LoadedProgram,
    install: Install<'_>,
) -> Result<Option<Installed>, RehearsalError> {
    let filled = install(role, loaded);
    filled.map_err(|cause| RehearsalError::Install { role, cause: Box::new(cause) })
}

impl ProgramHarness {
    /// Loads a program on a device behind the upstream programs, fills its maps and replaces its
    /// calls.
    pub fn on_device(
        kernel: &Kernel,
        wired: VethSettings,
        upstream: &[Stage],
        (role, (object, program), answers): (Role, (&Object, usize), &[Answer]),
        install: Install<'_>,
        kept: &mut Vec<Option<Installed>>,
    ) -> Result<ProgramHarness, RehearsalError> {
        let mut wire = VethChain::new(kernel, wired.mode, wired.mtu, wired.fragments)?;
        let mut load = |wire: &mut VethChain, role, what, answers: &[Answer], results: &[u32]| {
            let loaded = wire.load(kernel, what, answers, results).map_err(|cause| {
                let cause = Box::new(cause);
                RehearsalError::Load { role, cause }
            })?;
            kept.push(fill(role, &loaded, install)?);
            Ok::<LoadedProgram, RehearsalError>(loaded)
        };
        let mut loaded = Vec::new();
        for (number, stage) in upstream.iter().enumerate() {
            let (role, what) = (Role::Upstream(number), (&*stage.object, stage.program));
            loaded.push(load(&mut wire, role, what, &[], &stage.results)?);
        }
        let program = load(&mut wire, role, (object, program), answers, &[])?;
        wire.attach(loaded.first().unwrap_or(&program))?;
        Ok(ProgramHarness::Wired(Box::new(OnWire {
            wire,
            _upstream: loaded,
            program,
            number: upstream.len(),
        })))
    }

    /// Returns the loaded program.
    pub fn loaded(&self) -> &LoadedProgram {
        match self {
            ProgramHarness::Plain(loaded) => loaded,
            ProgramHarness::Counted(counted) => counted.loaded(),
            ProgramHarness::Wired(wired) => &wired.program,
        }
    }

    /// Runs a packet.
    pub fn run(&self, arrival: &Arrival) -> Result<Ran, RehearsalError> {
        let context = arrival.context();
        let done = match self {
            ProgramHarness::Plain(loaded) => {
                loaded.run_in(&arrival.packet, 1, &context).map(|run| (run, 0))
            }
            ProgramHarness::Counted(counted) => counted.run(&arrival.packet, &context),
            ProgramHarness::Wired(wired) => {
                let record = wired.wire.send(&arrival.packet)?;
                return Ok(match record {
                    Some(record) if record.program == wired.number => Ran::Done(record.run, 0),
                    Some(_) => Ran::Kept,
                    None => Ran::Lost,
                });
            }
        };
        match done {
            Ok((run, instructions)) => Ok(Ran::Done(run, instructions)),
            Err(fault @ (RunError::TooShort { .. } | RunError::Kernel { .. })) => {
                Ok(Ran::Refused(fault))
            }
            Err(fault) => Err(fault.into()),
        }
    }
}
