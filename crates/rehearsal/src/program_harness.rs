//! Runs packets in a loaded program, either in test runs or on a virtual device.

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
    pub packet: Vec<u8>,
    /// XDP metadata in front of the packet (`data_meta`).
    pub metadata: Vec<u8>,
}

impl Arrival {
    /// Wraps a packet without metadata.
    pub fn bare(packet: Vec<u8>) -> Arrival {
        Arrival { packet, metadata: Vec::new() }
    }

    pub fn context(&self) -> Context {
        Context { metadata: self.metadata.clone(), ..Context::default() }
    }

    /// Returns the total number of bytes of packet and metadata.
    pub fn len(&self) -> usize {
        self.packet.len() + self.metadata.len()
    }
}

/// A loaded program together with a way to run packets in it.
pub enum ProgramHarness {
    /// A program for test runs that does not count instructions.
    Plain(LoadedProgram),
    /// A program for test runs that counts its executed instructions.
    Counted(Box<CountingProgram>),
    /// A program on a virtual device, behind its own copy of the upstream programs.
    OnVeth(Box<OnVeth>),
}

/// A program on a virtual device, with the upstream programs in front of it.
pub struct OnVeth {
    chain: VethChain,
    // The device calls these programs, so they must stay loaded.
    _upstream: Vec<LoadedProgram>,
    program: LoadedProgram,
    /// Index of the program in the chain on its device.
    number: usize,
}

/// Result of sending a packet to a program.
pub enum Ran {
    /// The program ran. The second field is the number of executed instructions, which is 0 if they
    /// are not counted.
    Done(TestRun, u64),
    /// The kernel did not run the program on the packet.
    Refused(RunError),
    /// An upstream program did not pass the packet on, so the program did not run.
    Kept,
    /// The packet got lost: it reached neither this program nor an upstream program.
    Lost,
}

/// Calls `install` to fill the maps of a loaded program. Returns a guard that keeps the content
/// alive, if there is one.
pub fn fill(
    role: Role,
    loaded: &LoadedProgram,
    install: Install<'_>,
) -> Result<Option<Installed>, RehearsalError> {
    let filled = install(role, loaded);
    filled.map_err(|cause| RehearsalError::Install { role, cause: Box::new(cause) })
}

impl ProgramHarness {
    /// Loads a program on a new virtual device, with the upstream programs in front of it. Fills
    /// the maps of all programs, and replaces calls of `program` by the fixed results `answers`.
    pub fn on_device(
        kernel: &Kernel,
        settings: VethSettings,
        upstream: &[Stage],
        (role, (object, program), answers): (Role, (&Object, usize), &[Answer]),
        install: Install<'_>,
        guards: &mut Vec<Option<Installed>>,
    ) -> Result<ProgramHarness, RehearsalError> {
        let mut chain = VethChain::new(kernel, settings.mode, settings.mtu, settings.fragments)?;
        let mut load =
            |chain: &mut VethChain, role, program, answers: &[Answer], results: &[u32]| {
                let loaded = chain.load(kernel, program, answers, results);
                let loaded = loaded
                    .map_err(|cause| RehearsalError::Load { role, cause: Box::new(cause) })?;
                guards.push(fill(role, &loaded, install)?);
                Ok::<LoadedProgram, RehearsalError>(loaded)
            };
        let mut loaded = Vec::new();
        for (number, stage) in upstream.iter().enumerate() {
            let (role, program) = (Role::Upstream(number), (&*stage.object, stage.program));
            loaded.push(load(&mut chain, role, program, &[], &stage.results)?);
        }
        let program = load(&mut chain, role, (object, program), answers, &[])?;
        chain.attach(loaded.first().unwrap_or(&program))?;
        let on_veth = OnVeth { chain, _upstream: loaded, program, number: upstream.len() };
        Ok(ProgramHarness::OnVeth(Box::new(on_veth)))
    }

    pub fn loaded(&self) -> &LoadedProgram {
        match self {
            ProgramHarness::Plain(loaded) => loaded,
            ProgramHarness::Counted(counted) => counted.loaded(),
            ProgramHarness::OnVeth(on_veth) => &on_veth.program,
        }
    }

    pub fn run(&self, arrival: &Arrival) -> Result<Ran, RehearsalError> {
        let context = arrival.context();
        let done = match self {
            ProgramHarness::Plain(loaded) => {
                loaded.run_in(&arrival.packet, 1, &context).map(|run| (run, 0))
            }
            ProgramHarness::Counted(counted) => counted.run(&arrival.packet, &context),
            ProgramHarness::OnVeth(on_veth) => {
                let record = on_veth.chain.send(&arrival.packet)?;
                return Ok(match record {
                    Some(record) if record.program == on_veth.number => Ran::Done(record.run, 0),
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
