//! Fuses the programs of a chain into one program, which is loaded in place of all of them.

use crate::equivalence::TestInput;
use crate::frozen::joined;
use crate::graphs::PairReport;
use crate::licensed::{LicenseError, Licensed, joint_license};
use crate::optimize::{OptimizeError, optimize};
use crate::report::FusedReport;
use crate::{Chain, ChainError, Loaded};
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{
    BpfProgram, Btf, Joined, MapDef, MapKind, Object, ObjectError, SlotRef, WriteError,
};
use slowpath_ir::PacketFacts;
use slowpath_specialise::Mode;
use slowpath_specialise::fuse::{FuseError, Handover, fuse, tail_calls};
use slowpath_stop::Stop;
use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;

/// Reason why the programs of a chain cannot be fused into one program.
#[derive(Debug, Error)]
pub(crate) enum FusedError {
    /// The programs run on several devices.
    #[error("{from} and {to} run on different devices; a fused program runs on one")]
    Devices {
        /// Name of the program on the first device.
        from: String,
        /// Name of the program on another device that receives packets from the first one.
        to: String,
    },
    /// Maps that programs of the chain share are not valid, for example because their definitions
    /// differ.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// An object cannot be read or linked.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// One object cannot have the licenses of all programs.
    #[error(transparent)]
    License(#[from] LicenseError),
    /// Programs pin the same map under different names.
    #[error("{one} and {other} are one map, which is pinned under one name: {first} or {second}")]
    Pins {
        /// The map in one program, as `PROGRAM:MAP`.
        one: String,
        /// The map in another program, as `PROGRAM:MAP`.
        other: String,
        /// Name under which the first program pins the map.
        first: String,
        /// Name under which the other program pins the map.
        second: String,
    },
    /// The programs cannot be combined into one program, which jumps from each of them to the next.
    #[error(transparent)]
    Fuse(#[from] FuseError),
    /// The fused program cannot be analysed or rewritten.
    #[error(transparent)]
    Optimize(#[from] OptimizeError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The program into which the programs of a chain were fused, with a report about it.
pub(crate) struct Fused {
    pub report: FusedReport,
    /// Object file with the fused program; `None` if it is not proved that the program does the
    /// same.
    pub bytes: Option<Vec<u8>>,
    /// The original programs as separate programs, to be run in the kernel for comparison with the
    /// fused program. An error states why they cannot be run there.
    pub apart: Result<Unfused, String>,
    /// Test inputs (packets and map contents) from the proof, for runs of the fused program in the
    /// kernel.
    pub test_inputs: Vec<TestInput>,
    /// Control-flow graphs of the fused program before and after it is optimised; `None` if graphs
    /// were not requested.
    pub graph: Option<PairReport>,
}

/// The original programs of a chain as separate programs, each of which runs the next one by a tail
/// call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfused {
    /// Object file with all programs of the chain.
    pub bytes: Vec<u8>,
    /// Name of the first program of the chain in this object.
    pub entry: String,
    /// Name of each map in this object, by its name in the chain.
    pub maps: BTreeMap<String, String>,
}

/// Name of the program array through which each program tail-calls the next one.
const NEXT: &str = "slowpath_next";

/// Fuses the programs of a chain into one program, which is called `name`. `objects` contains
/// object files of rewritten programs; an entry `None` means that the program in `loaded` is used.
pub(crate) fn fused(
    chain: &Chain,
    loaded: &[Loaded],
    objects: &[Option<Vec<u8>>],
    name: &str,
    (lift, graphs): (&LiftOptions, bool),
    stop: &Stop,
) -> Result<Fused, FusedError> {
    let started = Instant::now();
    if let Some(edge) = chain.edges.iter().find(|edge| edge.network.is_some()) {
        let called = |member: usize| chain.members[member].name.clone();
        return Err(FusedError::Devices { from: called(edge.from), to: called(edge.to) });
    }
    let current =
        loaded.iter().zip(objects).map(|(loaded, bytes)| current(loaded, bytes.as_deref()));
    let current = current.collect::<Result<Vec<Loaded>, ObjectError>>()?;
    let kernel = lift.kernel_types.as_deref();
    let license = license(chain, loaded, kernel)?;
    let joined = one_object(chain, &current, license.clone())?;
    // The entry program comes first.
    let mut order = chain.order();
    order.sort_by_key(|&member| member != chain.entry);
    let place = |member: usize| order.iter().position(|&other| other == member).unwrap_or(0);
    let link = |&member: &usize| {
        joined.object.link(joined.programs[member] + current[member].program, kernel)
    };
    let programs = order.iter().map(link).collect::<Result<Vec<BpfProgram>, _>>()?;
    let handover = |edge: &crate::Edge| Handover {
        from: place(edge.from),
        results: edge.on.iter().map(|action| action.number()).collect(),
        to: place(edge.to),
    };
    let handovers: Vec<Handover> = chain.edges.iter().map(handover).collect();
    let whole = fuse(&programs, &handovers, name)?;
    // In a single program, later parts need not repeat checks of earlier parts.
    let (least, greatest) = lift.receive.length;
    let any = PacketFacts::lengths(least, greatest);
    let mut done = optimize(&joined.object, &whole, &any, Mode::Trust, lift, stop)?;
    let test_inputs =
        done.proof.as_mut().map(|proof| mem::take(&mut proof.test_inputs)).unwrap_or_default();
    let mut remarks = done.remarks;
    if chain.edges.iter().any(|edge| edge.dispatched) {
        remarks.push("programs return XDP actions, not numbers above 31".to_owned());
    }
    let made = done.specialised.as_ref().filter(|_| graphs);
    let graph = made.and_then(|made| PairReport::of(name, &joined.object, &whole, made));
    let program = done.specialised.map_or(whole.clone(), |made| made.program);
    let bytes = match &done.unproved {
        None => Some(joined.object.write(&[&program])?),
        Some(_) => None,
    };
    let apart = apart(chain, loaded, (&order, &handovers), license, kernel);
    let original = |loaded: &Loaded| loaded.object.link(loaded.program, kernel);
    let originals = loaded.iter().map(original).collect::<Result<Vec<BpfProgram>, _>>()?;
    let count =
        |programs: &[BpfProgram]| programs.iter().map(|program| program.insns.len()).sum::<usize>();
    let report = FusedReport {
        instructions_before: count(&originals),
        instructions_rewritten: count(&programs),
        instructions_fused: whole.insns.len(),
        instructions_after: program.insns.len(),
        proved: done.proof.as_ref().map(|proof| proof.proved),
        proof: done.proof.map(Into::into),
        remarks,
        not_written: done.unproved.map(|why| format!("its equivalence is not proved: {why}")),
        seconds: started.elapsed().as_secs_f64(),
    };
    Ok(Fused { report, bytes, apart, test_inputs, graph })
}

/// Returns the license of an object that contains all programs of a chain; `None` if no license is
/// stated.
fn license(
    chain: &Chain,
    loaded: &[Loaded],
    kernel: Option<&Btf>,
) -> Result<Option<String>, FusedError> {
    let link = |of: &Loaded| of.object.link(of.program, kernel);
    let programs = loaded.iter().map(link).collect::<Result<Vec<BpfProgram>, _>>()?;
    let members = chain.members.iter().zip(loaded).zip(&programs);
    let licensed = members.map(|((member, of), program)| Licensed {
        name: &member.name,
        license: of.object.license.as_deref(),
        program,
    });
    Ok(joint_license(&licensed.collect::<Vec<_>>())?)
}

/// Joins the objects of a chain's programs into one object. Pinned maps keep the names under which
/// they are pinned.
fn one_object(
    chain: &Chain,
    loaded: &[Loaded],
    license: Option<String>,
) -> Result<Joined, FusedError> {
    let mut joined = joined(chain, loaded)?;
    joined.object.license = license;
    let mut pins = BTreeMap::<usize, (usize, &MapDef)>::new();
    for (member, maps) in joined.maps.iter().enumerate() {
        for (own, &map) in maps.iter().enumerate() {
            let def = &loaded[member].object.maps[own];
            if def.pinning == 0 {
                continue;
            }
            let (first, known) = *pins.entry(map).or_insert((member, def));
            if known.name != def.name || known.pinning != def.pinning {
                let called = |member: usize, def: &MapDef| {
                    format!("{}:{}", chain.members[member].name, def.name)
                };
                return Err(FusedError::Pins {
                    one: called(first, known),
                    other: called(member, def),
                    first: known.name.clone(),
                    second: def.name.clone(),
                });
            }
        }
    }
    for (map, (_, def)) in pins {
        let map = &mut joined.object.maps[map];
        map.name.clone_from(&def.name);
        map.pinning = def.pinning;
    }
    Ok(joined)
}

/// Returns an object that contains the original programs of a chain. Each of them runs the next one
/// by a tail call.
///
/// # Errors
/// Returns the reason, in words, why such an object is not possible.
fn apart(
    chain: &Chain,
    loaded: &[Loaded],
    (order, handovers): (&[usize], &[Handover]),
    license: Option<String>,
    kernel: Option<&Btf>,
) -> Result<Unfused, String> {
    let said = |error: &dyn std::error::Error| error.to_string();
    let plain = joined(chain, loaded).map_err(|error| said(&error))?;
    let mut all = one_object(chain, loaded, license).map_err(|error| said(&error))?;
    let names = all.object.written_names();
    let maps = plain.object.maps.iter().map(|map| map.name.clone()).zip(names).collect();
    let numbers = order.iter().map(|&member| all.programs[member] + loaded[member].program);
    let numbers: Vec<usize> = numbers.collect();
    let link = |&number: &usize| all.object.link(number, kernel);
    let programs = numbers.iter().map(link).collect::<Result<Vec<BpfProgram>, _>>();
    let programs = programs.map_err(|error| said(&error))?;
    let array = all.object.maps.len();
    let slots = (0..).zip(&numbers).map(|(slot, &number)| (slot, SlotRef::Program(number)));
    all.object.maps.push(MapDef {
        kind: MapKind::PROG_ARRAY,
        key_size: 4,
        value_size: 4,
        max_entries: u32::try_from(numbers.len()).unwrap_or(u32::MAX),
        slots: slots.skip(1).collect(),
        ..MapDef::new(NEXT)
    });
    // The object is only for comparisons, so its maps are not pinned.
    all.object.maps.iter_mut().for_each(|map| map.pinning = 0);
    let made = tail_calls(&programs, handovers, array as u32).map_err(|error| said(&error))?;
    let entry = made.first().map(|program| program.name.clone()).unwrap_or_default();
    let made: Vec<&BpfProgram> = made.iter().collect();
    let bytes = all.object.write(&made).map_err(|error| said(&error))?;
    Ok(Unfused { bytes, entry, maps })
}

/// Returns the rewritten version of a program if there is one, otherwise the loaded version.
fn current(loaded: &Loaded, rewritten: Option<&[u8]>) -> Result<Loaded, ObjectError> {
    let Some(bytes) = rewritten else { return Ok(loaded.clone()) };
    let object = Object::parse(bytes)?;
    let name = &loaded.object.programs[loaded.program].name;
    let program = object.programs.iter().position(|program| program.name == *name);
    Ok(Loaded { program: program.unwrap_or(0), object: Arc::new(object) })
}
