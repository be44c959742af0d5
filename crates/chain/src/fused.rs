//! The programs of a chain as one, which is loaded instead of all of them.

use crate::graphs::PairReport;
use crate::optimize::{OptimizeError, optimize};
use crate::report::FusedReport;
use crate::{Chain, ChainError, Loaded};
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Object, ObjectError, Part, WriteError};
use slowpath_ir::PacketFacts;
use slowpath_specialise::Mode;
use slowpath_specialise::fuse::{FuseError, Handover, fuse};
use slowpath_stop::Stop;
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;

/// Why the programs of a chain do not become one.
#[derive(Debug, Error)]
pub(crate) enum FusedError {
    /// They run on several devices.
    #[error("{from} and {to} run on different devices; one program runs on one")]
    Devices {
        /// A program.
        from: String,
        /// The one that packets are sent to.
        to: String,
    },
    /// Their maps do not fit together.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// One of them is not what it was when it was written.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// They are not fused.
    #[error(transparent)]
    Fuse(#[from] FuseError),
    /// What becomes of it is not analysed.
    #[error(transparent)]
    Optimize(#[from] OptimizeError),
    /// It is not written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The programs of a chain as one.
pub(crate) struct Whole {
    pub report: FusedReport,
    /// Of an object with that program.
    pub bytes: Vec<u8>,
    /// As it was fused, and without what is there twice, where that is asked for.
    pub graph: Option<PairReport>,
}

/// The programs of a chain as one, called `name`; `objects` are those that were rewritten, the others
/// are as they are in `loaded`.
pub(crate) fn fused(
    chain: &Chain,
    loaded: &[Loaded],
    objects: &[Option<Vec<u8>>],
    name: &str,
    (lift, graphs): (&LiftOptions, bool),
    stop: &Stop,
) -> Result<Whole, FusedError> {
    let started = Instant::now();
    if let Some(edge) = chain.edges.iter().find(|edge| edge.network.is_some()) {
        let called = |member: usize| chain.members[member].name.clone();
        return Err(FusedError::Devices { from: called(edge.from), to: called(edge.to) });
    }
    let current =
        loaded.iter().zip(objects).map(|(loaded, bytes)| current(loaded, bytes.as_deref()));
    let current = current.collect::<Result<Vec<Loaded>, ObjectError>>()?;
    let shared = chain.groups(&current)?;
    let parts = chain.members.iter().zip(&current);
    let parts: Vec<Part<'_>> =
        parts.map(|(member, loaded)| Part { name: &member.name, object: &loaded.object }).collect();
    let joined = Object::join(&parts, |one, other| {
        shared.get(&one).is_some_and(|group| shared.get(&other) == Some(group))
    });
    // The first one comes first.
    let mut order = chain.order();
    order.sort_by_key(|&member| member != chain.entry);
    let place = |member: usize| order.iter().position(|&other| other == member).unwrap_or(0);
    let kernel = lift.kernel_types.as_deref();
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
    // What one program has found out, the next one need not, now that they are one.
    let (least, greatest) = lift.receive.length;
    let any = PacketFacts::lengths(least, greatest);
    let done = optimize(&joined.object, &whole, &any, Mode::Trust, lift, stop)?;
    let mut remarks = done.remarks;
    if chain.edges.iter().any(|edge| edge.dispatched) {
        remarks.push("programs return XDP actions, no numbers above 31".to_owned());
    }
    let made = done.specialised.as_ref().filter(|_| graphs);
    let graph = made.and_then(|made| PairReport::of(name, &joined.object, &whole, made));
    let program = done.specialised.map_or(whole.clone(), |made| made.program);
    let bytes = joined.object.write(&[&program])?;
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
        seconds: started.elapsed().as_secs_f64(),
    };
    Ok(Whole { report, bytes, graph })
}

/// A program as it is now.
fn current(loaded: &Loaded, rewritten: Option<&[u8]>) -> Result<Loaded, ObjectError> {
    let Some(bytes) = rewritten else { return Ok(loaded.clone()) };
    let object = Object::parse(bytes)?;
    let name = &loaded.object.programs[loaded.program].name;
    let program = object.programs.iter().position(|program| program.name == *name);
    Ok(Loaded { program: program.unwrap_or(0), object: Arc::new(object) })
}
