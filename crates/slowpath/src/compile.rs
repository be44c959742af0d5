//! Programs of BPF objects as the SmartNIC runs them, for the analysis and for people.
//!
//! The format of [`compile`] is documented in `docs/json.md`.

use crate::Error;
use crate::frontend::link_object;
use crate::options::Request;
use crate::refusal::Refusal;
use crate::show::ShownLine;
use crate::stages;
use serde::Serialize;
use slowpath_bpf::insn::Insn;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_nfp::{CompileError, CompileOptions, Compiled, MapAbi};
use slowpath_stop::Stop;

/// A compiled program with what it was compiled from.
pub(crate) struct Compilation {
    pub linked: BpfProgram,
    pub compiled: Compiled,
    pub abi: MapAbi,
}

impl Compilation {
    /// Compiles the program of `object` that a request is about.
    pub fn of(request: &Request, object: &Object, stop: &Stop) -> Result<Self, Error> {
        let abi = map_abi(&request.options.map_abi)?;
        let linked = link_object(request, object)?;
        stop.enter(stages::COMPILING);
        let options = CompileOptions { map_abi: abi, stop: stop.clone() };
        let compiled = slowpath_nfp::compile(object, &linked, &options);
        let compiled = compiled.map_err(|error| refused(error, stop))?;
        Ok(Compilation { linked, compiled, abi })
    }
}

/// What may help a program that the card cannot run; not one that nothing here understands.
fn refused(error: CompileError, stop: &Stop) -> Error {
    if let CompileError::Stopped(reason) = error {
        return Error::stopped(reason, stop);
    }
    let mut text = error.to_string();
    let CompileError::Refused(refusals) = error else { return Error::Input(text) };
    if !text.contains("--target ebpf") {
        text += " (the card cannot run this program; --target ebpf counts its instructions)";
    }
    Error::Refused { text, refusals: Refusal::all(&refusals) }
}

fn map_abi(name: &Option<String>) -> Result<MapAbi, Error> {
    match name.as_deref() {
        None | Some("array-pointer") => Ok(MapAbi::ArrayPointer),
        Some("call") => Ok(MapAbi::Call),
        Some(other) => {
            Err(Error::Option(format!("unknown map ABI {other}: it is array-pointer or call")))
        }
    }
}

/// A program for the card, and where each instruction comes from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Compiled"))]
pub(crate) struct Shown {
    /// The file as the user named it.
    file: String,
    /// Section of the program in its object.
    section: String,
    /// Name of the program.
    program: String,
    /// How the program reaches maps: `array-pointer` or `call`.
    map_abi: &'static str,
    /// The program for the card, as `slowpath bound` reads it.
    listing: String,
    /// Its instructions in order.
    instructions: Vec<ShownInsn>,
    /// The BPF instructions in order.
    bpf: Vec<ShownBpf>,
    /// Where the card does something else than the kernel because of how the driver compiles, one
    /// sentence each.
    deviations: Vec<String>,
}

/// An instruction for the card.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "CardInstruction"))]
struct ShownInsn {
    /// 48 bits in hexadecimal, without error correction.
    word: String,
    /// How the listing has it.
    text: String,
    /// The slot of the BPF instruction that it is for; null for what the driver puts around the
    /// program.
    bpf: Option<usize>,
}

/// A BPF instruction.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "BpfInstruction"))]
struct ShownBpf {
    /// Its number, in 8-byte slots, as the kernel counts them.
    slot: usize,
    /// How it is written.
    text: String,
    /// Its source line; null where that is not known.
    source: Option<ShownLine>,
}

/// Compiles the program that a request is about; the result is JSON.
///
/// # Errors
/// When the object cannot be read, or the card cannot run the program; and the reason to stop.
pub fn compile(request: &Request, stop: &Stop) -> Result<String, Error> {
    stop.enter(stages::READING);
    let object = request.object()?;
    let Compilation { linked, compiled, abi } = Compilation::of(request, &object, stop)?;
    let instruction = |(insn, origin): (&slowpath_nfp::Insn, &Option<usize>)| {
        let word = slowpath_nfp::word::encode(insn);
        let word = word.map_err(|error| Error::Input(format!("{insn}: {error}")))?;
        Ok(ShownInsn { word: format!("{word:012x}"), text: insn.to_string(), bpf: *origin })
    };
    let instructions = compiled.listing.insns().zip(&compiled.origins).map(instruction);
    let instructions = instructions.collect::<Result<Vec<ShownInsn>, Error>>()?;
    let bpf = (0..linked.insns.len()).filter(|&slot| linked.insns[slot] != Insn::SecondSlot);
    let bpf = bpf.map(|slot| ShownBpf {
        slot,
        text: linked.disassemble(&object, slot),
        source: ShownLine::of(&linked, slot),
    });
    let shown = Shown {
        file: request.file.clone(),
        section: linked.section.clone(),
        program: linked.name.clone(),
        map_abi: match abi {
            MapAbi::ArrayPointer => "array-pointer",
            MapAbi::Call => "call",
        },
        listing: compiled.listing.to_string(),
        instructions,
        bpf: bpf.collect(),
        deviations: compiled.deviations.clone(),
    };
    serde_json::to_string(&shown).map_err(|error| Error::Input(error.to_string()))
}
