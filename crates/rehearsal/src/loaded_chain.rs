//! Loads the chain of programs into the kernel, runs packets in it, and compares the results.

use std::collections::BTreeMap;

use slowpath_bpf::Object;
use slowpath_kernel::agreement::{Content, Difference, content, difference};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Answer, Kernel, LoadedProgram, Map, RunError, TestRun};

use crate::answers::Answers;
use crate::error::RehearsalError;
use crate::options::{Install, Role, Subject};
use crate::program_harness::{Arrival, ProgramHarness, Ran, fill};
use crate::run_environment::RunEnvironment;

/// Maximum size of a map, in elements, for which its content is compared.
const MAX_ELEMENTS: u32 = 1 << 18;

/// All programs of the chain in the kernel, each with its own maps.
pub struct LoadedChain<'a> {
    subject: &'a Subject<'a>,
    /// The upstream programs for test runs. Empty on devices, where each compared program has its
    /// own copies.
    upstream: Vec<LoadedProgram>,
    original: ProgramHarness,
    rewritten: ProgramHarness,
    /// A second copy of the original. If the two copies give different results, the results are not
    /// predictable.
    control: ProgramHarness,
    /// Initial content of the maps that only the original or only the rewritten program has, by map
    /// name.
    unshared_maps: BTreeMap<String, (Role, Content)>,
    /// Guards that keep the installed content of the maps alive.
    _installed: Vec<Option<Installed>>,
}

/// Result of sending a packet to the original and the rewritten program.
pub enum Comparison {
    /// The kernel did not run the original on the packet.
    Refused(RunError),
    /// An upstream program did not pass the packet on.
    Kept,
    /// The packet got lost: it reached neither a compared program nor an upstream program.
    Lost,
    /// The packet reached some of the compared programs, but not all.
    PartlyDelivered,
    /// The two copies of the original gave different results.
    Undetermined(Difference),
    /// All programs ran on the packet.
    Ran {
        /// Difference between the original and the rewritten program; `None` if there is none.
        difference: Option<Difference>,
        /// Signature of the original's path: its return value, the number of bytes by which the
        /// packet grew, and the number of executed instructions.
        way: (u32, i64, u64),
    },
}

/// Loads a program and fills its maps.
pub fn load(
    kernel: &Kernel,
    role: Role,
    (object, program): (&Object, usize),
    install: Install<'_>,
) -> Result<(LoadedProgram, Option<Installed>), RehearsalError> {
    let loaded = kernel.load(object, program);
    let loaded = loaded.map_err(|cause| RehearsalError::Load { role, cause: Box::new(cause) })?;
    let installed = fill(role, &loaded, install)?;
    Ok((loaded, installed))
}

/// Loads the upstream programs, which run before the compared programs, and fills their maps.
pub fn load_upstream(
    kernel: &Kernel,
    subject: &Subject<'_>,
    install: Install<'_>,
) -> Result<Vec<(LoadedProgram, Option<Installed>)>, RehearsalError> {
    let stages = subject.upstream.iter().enumerate();
    let load = |(number, stage): (usize, &crate::Stage)| {
        load(kernel, Role::Upstream(number), (&stage.object, stage.program), install)
    };
    stages.map(load).collect()
}

/// Loads a program for test runs without instruction counters.
fn plain(
    kernel: &Kernel,
    (role, (object, program), answers): (Role, (&Object, usize), &[Answer]),
    install: Install<'_>,
    guards: &mut Vec<Option<Installed>>,
) -> Result<ProgramHarness, RehearsalError> {
    let loaded = kernel.load_with_answers(object, program, answers);
    let loaded = loaded.map_err(|cause| RehearsalError::Load { role, cause: Box::new(cause) })?;
    guards.push(fill(role, &loaded, install)?);
    Ok(ProgramHarness::Plain(loaded))
}

impl<'a> LoadedChain<'a> {
    /// Loads all programs with new maps, and replaces calls of the original and the rewritten
    /// program by the fixed results `answers`.
    pub fn new(
        kernel: &Kernel,
        subject: &'a Subject<'a>,
        install: Install<'_>,
        answers: &Answers,
        environment: RunEnvironment,
    ) -> Result<LoadedChain<'a>, RehearsalError> {
        let original = (Role::Original, subject.original, answers.original.as_slice());
        let rewritten = (Role::Rewritten, subject.rewritten, answers.rewritten.as_slice());
        let (mut upstream, mut guards) = (Vec::new(), Vec::new());
        let [original, rewritten, control] = match environment {
            RunEnvironment::Device(settings) => {
                let mut harness = |program| {
                    let upstream = subject.upstream;
                    ProgramHarness::on_device(
                        kernel,
                        settings,
                        upstream,
                        program,
                        install,
                        &mut guards,
                    )
                };
                [harness(original)?, harness(rewritten)?, harness(original)?]
            }
            RunEnvironment::TestRun => {
                (upstream, guards) = load_upstream(kernel, subject, install)?.into_iter().unzip();
                let mut plain = |program| plain(kernel, program, install, &mut guards);
                let harnesses = [plain(original)?, plain(rewritten)?];
                let (object, program) = subject.original;
                let control =
                    match kernel.load_counted_with_answers(object, program, &answers.original) {
                        Ok(counted) => {
                            guards.push(fill(Role::Original, counted.loaded(), install)?);
                            ProgramHarness::Counted(Box::new(counted))
                        }
                        // The program loads without counters, so counting is the problem.
                        Err(_) => plain(original)?,
                    };
                let [original, rewritten] = harnesses;
                [original, rewritten, control]
            }
        };
        let mut unshared_maps = BTreeMap::new();
        let pairs = [
            (Role::Original, subject.original.0, original.loaded(), rewritten.loaded()),
            (Role::Rewritten, subject.rewritten.0, rewritten.loaded(), original.loaded()),
        ];
        for (role, object, own, other) in pairs {
            for map in maps(object, own) {
                let definition = map.definition();
                // The content of read-only maps is part of the program.
                let differs = other.map(&definition.name).is_none() && !definition.read_only;
                if differs && is_compared(map) {
                    unshared_maps.insert(definition.name.clone(), (role, content(map)?));
                }
            }
        }
        Ok(LoadedChain {
            subject,
            upstream,
            original,
            rewritten,
            control,
            unshared_maps,
            _installed: guards,
        })
    }

    /// Returns the names of the maps whose content is not compared.
    pub fn unread(&self) -> Vec<String> {
        let pairs = [
            (self.subject.original.0, self.original.loaded()),
            (self.subject.rewritten.0, self.rewritten.loaded()),
        ];
        let names = pairs.into_iter().flat_map(|(object, program)| maps(object, program));
        let names = names.filter(|map| !is_compared(map));
        let mut names: Vec<String> = names.map(|map| map.definition().name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Runs a packet through the upstream programs and returns the packet that they pass on.
    /// Returns `None` if an upstream program does not pass it on. On devices, returns the packet
    /// unchanged, because there the upstream programs run later, in front of each compared program.
    pub fn pass(&self, packet: Vec<u8>) -> Result<Option<Arrival>, RehearsalError> {
        pass(self.subject, &self.upstream, packet)
    }

    /// Runs a packet through the original, a second copy of it and the rewritten program, and
    /// compares the results.
    pub fn compare(&self, arrival: &Arrival) -> Result<Comparison, RehearsalError> {
        let original = match self.original.run(arrival)? {
            Ran::Refused(fault) => return Ok(Comparison::Refused(fault)),
            original => original,
        };
        // On devices, each program has its own upstream programs with maps, so all must run.
        let (rewritten, control) = (self.rewritten.run(arrival)?, self.control.run(arrival)?);
        match (original, rewritten, control) {
            (Ran::Done(original, _), Ran::Done(rewritten, _), Ran::Done(control, instructions)) => {
                if let Some(difference) = difference(&original, &control) {
                    return Ok(Comparison::Undetermined(difference));
                }
                let growth = original.packet.len() as i64 - arrival.packet.len() as i64;
                let way = (original.return_value, growth, instructions);
                Ok(Comparison::Ran { difference: difference(&original, &rewritten), way })
            }
            (_, Ran::Refused(fault), _) | (_, _, Ran::Refused(fault)) => Err(fault.into()),
            (Ran::Kept, Ran::Kept, Ran::Kept) => Ok(Comparison::Kept),
            (Ran::Lost, Ran::Lost, Ran::Lost) => Ok(Comparison::Lost),
            _ => Ok(Comparison::PartlyDelivered),
        }
    }

    /// Compares the maps of the original with those of the rewritten program. If only one of the
    /// programs has a map, compares the map with its initial content.
    pub fn compare_maps(&self) -> Result<Option<Difference>, RehearsalError> {
        if let Some(difference) = compare_shared(
            self.subject.original.0,
            self.original.loaded(),
            self.rewritten.loaded(),
        )? {
            return Ok(Some(difference));
        }
        for (name, (role, start)) in &self.unshared_maps {
            let owner = if *role == Role::Original { &self.original } else { &self.rewritten };
            let now = owner.loaded().map(name).map(content).transpose()?;
            if now.is_some_and(|now| now != *start) {
                return Ok(Some(Difference::Map { name: name.clone() }));
            }
        }
        Ok(None)
    }

    /// Compares the maps of the original with those of its second copy.
    pub fn compare_control_maps(&self) -> Result<Option<Difference>, RehearsalError> {
        compare_shared(self.subject.original.0, self.original.loaded(), self.control.loaded())
    }
}

/// Returns true if the content of a map is compared. The map must be readable, and not so large
/// that reading it takes longer than running all packets.
fn is_compared(map: &Map) -> bool {
    let definition = map.definition();
    definition.kind.is_readable() && definition.max_entries <= MAX_ELEMENTS
}

/// Compares the content of those maps that both programs have.
fn compare_shared(
    object: &Object,
    first: &LoadedProgram,
    second: &LoadedProgram,
) -> Result<Option<Difference>, RehearsalError> {
    for map in maps(object, first).filter(|map| is_compared(map)) {
        let name = &map.definition().name;
        let Some(other) = second.map(name) else { continue };
        if content(map)? != content(other)? {
            return Ok(Some(Difference::Map { name: name.clone() }));
        }
    }
    Ok(None)
}

/// Runs a packet through the upstream programs and returns the packet that they pass on. Returns
/// `None` if an upstream program does not pass it on.
pub fn pass(
    subject: &Subject<'_>,
    upstream: &[LoadedProgram],
    packet: Vec<u8>,
) -> Result<Option<Arrival>, RehearsalError> {
    let mut arrival = Arrival::bare(packet);
    for (stage, loaded) in subject.upstream.iter().zip(upstream) {
        match loaded.run_in(&arrival.packet, 1, &arrival.context()) {
            Ok(TestRun { return_value, packet, metadata, .. })
                if stage.results.contains(&return_value) =>
            {
                arrival = Arrival { packet, metadata };
            }
            // Packets that the kernel does not run do not get through either.
            Ok(_) | Err(RunError::TooShort { .. } | RunError::Kernel { .. }) => return Ok(None),
            Err(fault) => return Err(fault.into()),
        }
    }
    Ok(Some(arrival))
}

fn maps<'l>(object: &Object, loaded: &'l LoadedProgram) -> impl Iterator<Item = &'l Map> {
    (0..object.maps.len()).filter_map(|number| loaded.map_by_number(number))
}
