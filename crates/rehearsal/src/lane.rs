//! A program in the kernel, where packets reach it.

use slowpath_bpf::Object;
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Answer, Context, Counted, Kernel, Loaded, RunError, TestRun, Wire};

use crate::error::RehearsalError;
use crate::options::{Install, Place, Stage};
use crate::station::Wired;

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The packet.
    pub packet: Vec<u8>,
    /// The metadata in front of it.
    pub metadata: Vec<u8>,
}

impl Arrival {
    /// A packet that comes with nothing.
    pub fn bare(packet: Vec<u8>) -> Arrival {
        Arrival { packet, metadata: Vec::new() }
    }

    pub fn context(&self) -> Context {
        Context { metadata: self.metadata.clone(), ..Context::default() }
    }

    /// Bytes that it takes.
    pub fn len(&self) -> usize {
        self.packet.len() + self.metadata.len()
    }
}

/// A program in the kernel.
pub enum Lane {
    /// As it is.
    Plain(Loaded),
    /// Counting its instructions.
    Counted(Box<Counted>),
    /// On a device, behind programs of its own.
    Wired(Box<OnWire>),
}

/// A program on a device.
pub struct OnWire {
    wire: Wire,
    // Called as long as they are there.
    _upstream: Vec<Loaded>,
    program: Loaded,
    /// The number of the program behind the others.
    number: usize,
}

/// The fate of a packet.
pub enum Ran {
    /// The program ran, with so many instructions if they are counted.
    Done(TestRun, u64),
    /// The kernel does not run it.
    Refused(RunError),
    /// A program in front kept it.
    Kept,
    /// It did not arrive.
    Lost,
}

/// Fills the maps of a program.
pub fn fill(
    place: Place,
    loaded: &Loaded,
    install: Install<'_>,
) -> Result<Option<Installed>, RehearsalError> {
    let filled = install(place, loaded);
    filled.map_err(|cause| RehearsalError::Install { place, cause: Box::new(cause) })
}

impl Lane {
    /// Loads a program on a device behind those that come first, with maps filled and calls answered.
    pub fn on_device(
        kernel: &Kernel,
        wired: Wired,
        upstream: &[Stage],
        (place, (object, program), answers): (Place, (&Object, usize), &[Answer]),
        install: Install<'_>,
        kept: &mut Vec<Option<Installed>>,
    ) -> Result<Lane, RehearsalError> {
        let mut wire = Wire::new(kernel, wired.mode, wired.mtu, wired.fragments)?;
        let mut load = |wire: &mut Wire, place, what, answers: &[Answer], results: &[u32]| {
            let loaded = wire.load(kernel, what, answers, results).map_err(|cause| {
                let cause = Box::new(cause);
                RehearsalError::Load { place, cause }
            })?;
            kept.push(fill(place, &loaded, install)?);
            Ok::<Loaded, RehearsalError>(loaded)
        };
        let mut loaded = Vec::new();
        for (number, stage) in upstream.iter().enumerate() {
            let (place, what) = (Place::Upstream(number), (&*stage.object, stage.program));
            loaded.push(load(&mut wire, place, what, &[], &stage.results)?);
        }
        let program = load(&mut wire, place, (object, program), answers, &[])?;
        wire.attach(loaded.first().unwrap_or(&program))?;
        Ok(Lane::Wired(Box::new(OnWire {
            wire,
            _upstream: loaded,
            program,
            number: upstream.len(),
        })))
    }

    /// The program with its maps.
    pub fn loaded(&self) -> &Loaded {
        match self {
            Lane::Plain(loaded) => loaded,
            Lane::Counted(counted) => counted.loaded(),
            Lane::Wired(wired) => &wired.program,
        }
    }

    /// Runs a packet.
    pub fn run(&self, arrival: &Arrival) -> Result<Ran, RehearsalError> {
        let context = arrival.context();
        let done = match self {
            Lane::Plain(loaded) => loaded.run_in(&arrival.packet, 1, &context).map(|run| (run, 0)),
            Lane::Counted(counted) => counted.run(&arrival.packet, &context),
            Lane::Wired(wired) => {
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
