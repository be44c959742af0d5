//! BPF objects: which programs there are, and lifting one of them.

use super::lifted::{Functions, Lifted, Origins};
use crate::kernel_types::KernelTypes;
use crate::options::ProgramRequest;
use crate::{Error, assume, contents, stages};
use slowpath_bpf::lift::{self, LiftOptions};
use slowpath_bpf::{BpfProgram, Object, ProgramEntry, ProgramKind};
use slowpath_estimate::Code;
use slowpath_stop::Stop;

/// The program that a request is about.
pub(super) fn entry(request: &ProgramRequest) -> Result<ProgramEntry, Error> {
    let entry = request.object.bpf()?.programs.get(request.program).cloned();
    entry.ok_or_else(|| missing(request.program))
}

/// The program of `object` that a request is about, with everything resolved.
pub(crate) fn link(request: &ProgramRequest, object: &Object) -> Result<BpfProgram, Error> {
    let kind = object.programs.get(request.program).ok_or_else(|| missing(request.program))?.kind;
    if !matches!(kind, ProgramKind::Xdp | ProgramKind::Unknown) {
        let what = format!("a program of type {kind}; only XDP programs are analysed");
        return Err(Error::Input(what));
    }
    let kernel = request.kernel.as_deref().map(KernelTypes::btf);
    Ok(object.link(request.program, kernel)?)
}

/// Lifts the program of `object` that a request is about.
pub(crate) fn lift(
    request: &ProgramRequest,
    object: &Object,
    packets: (u16, u16),
    stop: &Stop,
) -> Result<Lifted, Error> {
    let linked = link(request, object)?;
    stop.enter(stages::LIFTING);
    let options = LiftOptions { stop: stop.clone(), ..options(request, object, packets)? };
    let lifted = lift::lift(object, &linked, &options).map_err(|error| match error.stopped {
        Some(reason) => Error::stopped(reason, stop),
        None => Error::from(error),
    })?;
    Ok(Lifted {
        program: lifted.program,
        layout: Some(lifted.layout),
        code: Some(Code::new(lifted.code, object)),
        notes: Vec::new(),
        origins: Origins::Source(lifted.lines),
        functions: functions(&linked),
    })
}

/// The functions of a program; those of programs that tail calls lead to stay unnamed.
fn functions(linked: &BpfProgram) -> Functions {
    let named = linked.subprograms.iter().map(|s| (s.first as u32, Some(s.name.clone())));
    named.chain([(linked.insns.len() as u32, None)]).collect()
}

/// What the front end is told besides the object.
fn options(
    request: &ProgramRequest,
    object: &Object,
    packets: (u16, u16),
) -> Result<LiftOptions, Error> {
    let contents = match &request.options.maps {
        Some(text) => contents::read(text, object)?,
        None => Default::default(),
    };
    let assumed_helpers = match &request.options.assume {
        Some(text) => assume::helpers(text)?,
        None => Default::default(),
    };
    Ok(LiftOptions {
        min_packet: packets.0,
        max_packet: packets.1,
        contents,
        assumed_helpers,
        handovers: request.object.handovers().to_vec(),
        kernel_types: request.kernel.as_deref().map(|kernel| kernel.shared()),
        ..LiftOptions::default()
    })
}

fn missing(program: usize) -> Error {
    Error::Input(format!("there is no program number {program}"))
}
