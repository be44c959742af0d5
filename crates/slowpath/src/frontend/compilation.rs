//! Compiles a program of a BPF object for the SmartNIC.

use super::object;
use crate::options::ProgramRequest;
use crate::refusal::Refusal;
use crate::{Error, stages};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_codes as codes;
use slowpath_nfp::{CompileError, CompileOptions, Compiled, MapAbi};
use slowpath_stop::Stop;

/// A program compiled for the SmartNIC, with the BPF program that it was compiled from.
pub(crate) struct Compilation {
    pub linked: BpfProgram,
    pub compiled: Compiled,
    pub abi: MapAbi,
}

impl Compilation {
    /// Compiles, for the SmartNIC, the program that a request names.
    pub fn of(request: &ProgramRequest, object: &Object, stop: &Stop) -> Result<Self, Error> {
        let abi = map_abi(&request.options.map_abi)?;
        let linked = object::link(request, object)?;
        if !linked.kind.is_xdp() {
            let kind = linked.kind;
            let what = format!("the program is of type {kind}; the card runs only XDP programs");
            return Err(Error::Input(codes::UNSUPPORTED_PROGRAM_TYPE, what));
        }
        stop.enter(stages::COMPILING);
        let options = CompileOptions { map_abi: abi, stop: stop.clone() };
        let compiled = slowpath_nfp::compile(object, &linked, &options);
        let compiled = compiled.map_err(|error| refused(error, stop))?;
        Ok(Compilation { linked, compiled, abi })
    }
}

/// Converts an error of the compiler for the SmartNIC to an error of the analysis. Adds advice for
/// the user if the SmartNIC cannot run the program, but not if the program cannot be lifted.
fn refused(error: CompileError, stop: &Stop) -> Error {
    if let CompileError::Stopped(reason) = error {
        return Error::stopped(reason, stop);
    }
    let (code, mut text) = (error.code(), error.to_string());
    let CompileError::Refused(refusals) = error else { return Error::Input(code, text) };
    if !text.contains("--target ebpf") {
        text += " (the card cannot run this program; --target ebpf counts its instructions)";
    }
    Error::Refused { text, refusals: Refusal::all(&refusals) }
}

fn map_abi(name: &Option<String>) -> Result<MapAbi, Error> {
    match name.as_deref() {
        None | Some("array-pointer") => Ok(MapAbi::ArrayPointer),
        Some("call") => Ok(MapAbi::Call),
        Some(other) => Err(Error::Option(
            codes::INVALID_VALUE,
            format!("unknown map ABI {other}: it is array-pointer or call"),
        )),
    }
}
