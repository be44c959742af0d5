//! BPF objects: which programs there are, and lifting one of them.

use super::lifted::{Functions, Lifted, Origins};
use crate::options::Request;
use crate::{Error, assume, contents, stages};
use slowpath_bpf::lift::{self, LiftOptions};
use slowpath_bpf::{BpfProgram, Btf, Object, ProgramEntry, ProgramKind};
use slowpath_stop::Stop;
use std::sync::Arc;

/// A program of an object, for choosing.
#[derive(Clone, Debug)]
pub struct ProgramInfo {
    /// Its number in the object.
    pub index: usize,
    /// Section of its entry function.
    pub section: String,
    /// Name of its entry function.
    pub name: String,
    /// `xdp`, `sched_cls`, ...; `unknown` when nothing tells.
    pub kind: String,
    /// Whether it depends on the types of the kernel that it runs on.
    pub needs_kernel: bool,
}

/// Types (BTF) of the kernel that programs are for.
#[derive(Clone, Debug)]
pub struct Kernel(Arc<Btf>);

impl Kernel {
    /// Reads them, as `/sys/kernel/btf/vmlinux` has them.
    ///
    /// # Errors
    /// What is wrong with them, behind `--btf: `.
    pub fn parse(data: &[u8]) -> Result<Kernel, Error> {
        let types = Btf::parse(data).map_err(|error| Error::Input(format!("--btf: {error}")))?;
        Ok(Kernel(Arc::new(types)))
    }

    pub(crate) fn btf(&self) -> &Btf {
        &self.0
    }
}

/// Whether this is the content of a BPF object.
pub(crate) fn is_object(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF")
}

/// The programs of the object in `data`; `None` when it is no object.
///
/// # Errors
/// When the object cannot be read.
pub fn programs(data: &[u8]) -> Result<Option<Vec<ProgramInfo>>, Error> {
    if !is_object(data) {
        return Ok(None);
    }
    let object = parse(data)?;
    let info = |(index, entry): (usize, &ProgramEntry)| ProgramInfo {
        index,
        section: entry.section.clone(),
        name: entry.name.clone(),
        kind: entry.kind.to_string(),
        needs_kernel: object.link(index, None).is_ok_and(|program| !program.unresolved.is_empty()),
    };
    Ok(Some(object.programs.iter().enumerate().map(info).collect()))
}

/// The object in `data`, for [`Request::object`]; `None` when it is none, or cannot be read.
pub fn read_object(data: &[u8]) -> Option<Object> {
    is_object(data).then(|| parse(data).ok())?
}

/// The program that a request is about.
pub(super) fn entry(request: &Request) -> Result<ProgramEntry, Error> {
    let entry = request.object()?.programs.get(request.program).cloned();
    entry.ok_or_else(|| missing(request.program))
}

/// The program of `object` that a request is about, with everything resolved.
pub(crate) fn link(request: &Request, object: &Object) -> Result<BpfProgram, Error> {
    let kind = object.programs.get(request.program).ok_or_else(|| missing(request.program))?.kind;
    if !matches!(kind, ProgramKind::Xdp | ProgramKind::Unknown) {
        let what = format!("a program of type {kind}; only XDP programs are analysed");
        return Err(Error::Input(what));
    }
    let kernel = request.kernel.as_deref().map(Kernel::btf);
    object.link(request.program, kernel).map_err(|error| Error::Input(error.to_string()))
}

/// Lifts the program of `object` that a request is about.
pub(crate) fn lift(
    request: &Request,
    object: &Object,
    packets: (u16, u16),
    stop: &Stop,
) -> Result<Lifted, Error> {
    let linked = link(request, object)?;
    stop.enter(stages::LIFTING);
    let options = LiftOptions { stop: stop.clone(), ..options(request, object, packets)? };
    let lifted = lift::lift(object, &linked, &options).map_err(|error| match error.stopped {
        Some(reason) => Error::stopped(reason, stop),
        None => Error::Input(error.to_string()),
    })?;
    Ok(Lifted {
        program: lifted.program,
        layout: Some(lifted.layout),
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
fn options(request: &Request, object: &Object, packets: (u16, u16)) -> Result<LiftOptions, Error> {
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
        kernel_types: request.kernel.as_deref().map(|kernel| Arc::clone(&kernel.0)),
        ..LiftOptions::default()
    })
}

pub(crate) fn parse(data: &[u8]) -> Result<Object, Error> {
    Object::parse(data).map_err(|error| Error::Input(error.to_string()))
}

fn missing(program: usize) -> Error {
    Error::Input(format!("there is no program number {program}"))
}
