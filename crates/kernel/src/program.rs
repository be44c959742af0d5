//! Loads one linked program: replaces indices of maps by file descriptors, and passes the BTF types
//! of its functions to the kernel. If the verifier rejects the program, extracts the reason from
//! the verifier's log.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use slowpath_bpf::btf::Kind;
use slowpath_bpf::insn::{Imm64, Insn, encode};
use slowpath_bpf::{BpfProgram, Btf, ProgramType, XDP};

use crate::Map;
use crate::error::LoadError;
use crate::sys::{LogLevel, ProgSpec, TypeInfo, load_program, load_program_with};
use crate::verdict::{Verdict, verdict};

/// `BPF_F_XDP_HAS_FRAGS`.
const HAS_FRAGS: u32 = 1 << 5;
/// Size of the verifier's log in bytes. It is the largest size that every kernel accepts.
const LOG: usize = (16 << 20) - 1;
/// Number of lines from the end of the verifier's log that an error shows.
const LOG_LINES: usize = 20;

/// Properties in which a program must agree with the programs that it tail-calls
/// (`__bpf_prog_map_compatible` of the kernel's `kernel/bpf/core.c`).
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Description of the program's type, an entry of the table of all program types.
    pub(crate) row: &'static ProgramType,
    /// Attach type (`enum bpf_attach_type`).
    attach: u32,
    /// True if the program accepts packets in several buffers (`SEC("xdp.frags")`).
    pub(crate) fragments: bool,
}

impl Variant {
    /// Returns the variant of XDP programs. With `fragments`, they accept packets in several
    /// buffers.
    pub fn xdp(fragments: bool) -> Variant {
        Variant { row: &XDP, attach: attach_type(&XDP, ""), fragments }
    }

    /// Returns the variant of a linked program.
    pub(crate) fn of(program: &BpfProgram) -> Variant {
        let row = ProgramType::of(program.kind).unwrap_or(&XDP);
        let attach = attach_type(row, &program.section);
        Variant { row, attach, fragments: program.accepts_fragments() }
    }
}

/// The types (BTF) of an object, and their copy in the kernel.
#[derive(Clone, Copy)]
pub struct Types<'a> {
    pub btf: &'a Btf,
    /// The types that were loaded into the kernel; `None` if the kernel rejected them.
    pub fd: Option<BorrowedFd<'a>>,
}

/// Loads a program that uses the given maps. `lines` contains records of `struct bpf_line_info`,
/// which can be used only together with `types`.
pub fn load(
    program: &BpfProgram,
    license: &str,
    maps: &BTreeMap<usize, Map>,
    types: Option<Types>,
    lines: &[u8],
) -> Result<OwnedFd, LoadError> {
    let code = encode(&with_fds(&program.insns, maps));
    let info = types.map_or_else(Vec::new, |types| function_info(program, types.btf));
    let fd = types.and_then(|types| types.fd);
    let untyped = types.is_some() && fd.is_none();
    let Variant { row, attach, fragments } = Variant::of(program);
    let spec = ProgSpec {
        name: &program.name,
        kind: row.number,
        attach,
        flags: if fragments { HAS_FRAGS } else { 0 },
        code: &code,
        license,
        types: fd.map(|fd| TypeInfo { fd, functions: &info, lines }),
    };
    load_program(&spec).or_else(|first| {
        let mut log = vec![0; LOG];
        // If this attempt succeeds, the program is loaded after all.
        let mut retry = |log_level, cause: io::Error| {
            log.fill(0);
            let tried = load_program_with(&spec, &mut log, log_level);
            tried.map_err(|_| refused(program, cause, &log, untyped))
        };
        let copy = |cause: &io::Error| match cause.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => cause.kind().into(),
        };
        // The program is too complex, and no log has room for all instructions that were visited.
        if first.kind() == io::ErrorKind::ArgumentListTooLong {
            return retry(LogLevel::Verdict, first);
        }
        match retry(LogLevel::Everything, copy(&first)) {
            Err(LoadError::Refused { .. }) => retry(LogLevel::Verdict, first),
            tried => tried,
        }
    })
}

/// Loads generated code as a program without BTF types.
pub fn load_generated(name: &str, code: &[u8], variant: Variant) -> io::Result<OwnedFd> {
    let spec = ProgSpec {
        name,
        kind: variant.row.number,
        attach: variant.attach,
        flags: if variant.fragments { HAS_FRAGS } else { 0 },
        code,
        license: "GPL",
        types: None,
    };
    load_program(&spec)
}

/// Replaces the indices of maps in the instructions by file descriptors.
fn with_fds(insns: &[Insn], maps: &BTreeMap<usize, Map>) -> Vec<Insn> {
    // A missing map becomes an invalid file descriptor, which the kernel rejects.
    let fd = |map: u32| maps.get(&(map as usize)).map_or(-1, |map| map.fd().as_raw_fd());
    let with_fd = |insn: &Insn| match *insn {
        Insn::LoadImm64 { dst, value: Imm64::Map(map) } => {
            Insn::LoadImm64 { dst, value: Imm64::MapFd(fd(map)) }
        }
        Insn::LoadImm64 { dst, value: Imm64::MapValue { map, offset } } => {
            Insn::LoadImm64 { dst, value: Imm64::MapFdValue { fd: fd(map), offset } }
        }
        insn => insn,
    };
    insns.iter().map(with_fd).collect()
}

/// Returns records of `struct bpf_func_info`, which state the first slot of each function and its
/// BTF type. Returns no records if a function has no type, because the kernel accepts records
/// either for all functions or for none.
fn function_info(program: &BpfProgram, btf: &Btf) -> Vec<u8> {
    let mut records = Vec::new();
    for function in &program.subprograms {
        let ty = btf.find(&function.name, |kind| matches!(kind, Kind::Func { .. }));
        let (Some(ty), Ok(first)) = (ty, u32::try_from(function.first)) else { return Vec::new() };
        records.extend_from_slice(&first.to_ne_bytes());
        records.extend_from_slice(&ty.0.to_ne_bytes());
    }
    records
}

/// Chooses the `enum bpf_attach_type` from the name of the section, in the same way as libbpf.
fn attach_type(row: &ProgramType, section: &str) -> u32 {
    let matches = |name: &&str| {
        let rest = row.sections.iter().find_map(|prefix| section.strip_prefix(prefix));
        rest.is_some_and(|rest| rest == *name || rest.starts_with(&format!("{name}/")))
    };
    let chosen = row.attach.iter().find(|(names, _)| names.iter().any(matches));
    chosen.or(row.attach.last()).map_or(0, |&(_, number)| number)
}

/// Builds the error for a program that the kernel rejected, with the end of the verifier's log.
fn refused(program: &BpfProgram, cause: io::Error, log: &[u8], untyped: bool) -> LoadError {
    let end = log.iter().position(|b| *b == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let program_name = program.name.clone();
    let Some(Verdict { reason, at, hint }) = verdict(&lines) else {
        return LoadError::Refused { program: program_name, cause };
    };
    let mut note = at.map_or_else(String::new, |slot| place(program, slot));
    match program.unresolved.first() {
        Some(first) => {
            note += &format!(" (instruction {} was not resolved: {})", first.insn, first.what);
        }
        None if untyped => note += " (the kernel does not take the object's types)",
        None => {}
    }
    LoadError::Rejected {
        program: program_name,
        reason,
        note,
        hint,
        log: lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"),
    }
}

/// Formats an instruction's slot and its source line, if known, in brackets.
fn place(program: &BpfProgram, slot: usize) -> String {
    match program.lines.get(slot) {
        Some(Some(line)) => format!(" (instruction {slot}, {}:{})", line.file, line.line),
        _ => format!(" (instruction {slot})"),
    }
}
