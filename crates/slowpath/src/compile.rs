//! Compiles programs of BPF objects for the SmartNIC, and returns the result as JSON.
//!
//! `docs/reference/json.md` documents the output format of [`compile`].

use crate::Error;
use crate::frontend::Compilation;
use crate::options::ProgramRequest;
use crate::source_line::ShownLine;
use crate::stages;
use serde::Serialize;
use slowpath_bpf::Object;
use slowpath_bpf::insn::Insn;
use slowpath_codes as codes;
use slowpath_nfp::MapAbi;
use slowpath_stop::Stop;

/// A BPF program compiled for the SmartNIC. Each of its instructions refers to the BPF instruction
/// that it implements.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Compiled"))]
pub(crate) struct Shown {
    /// The file name of the object, as the user stated it.
    file: String,
    /// Section of the program in its object.
    section: String,
    /// Name of the program.
    program: String,
    /// Convention by which the program accesses maps: `array-pointer` or `call`.
    map_abi: &'static str,
    /// Listing of the compiled program, in the format that `slowpath bound` reads.
    listing: String,
    /// Instructions of the compiled program, in order.
    instructions: Vec<ShownInsn>,
    /// Instructions of the BPF program, in order.
    bpf: Vec<ShownBpf>,
    /// Differences between SmartNIC and kernel that the driver's compiler causes, one sentence
    /// each.
    deviations: Vec<String>,
}

/// An instruction of the compiled program for the SmartNIC.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "CardInstruction"))]
struct ShownInsn {
    /// Encoding of the instruction, 48 bits in hexadecimal, without error-correcting code.
    word: String,
    /// Text of the instruction in the listing.
    text: String,
    /// Slot of the BPF instruction that this instruction implements; null for instructions that the
    /// driver adds around the program.
    bpf: Option<usize>,
}

/// An instruction of the BPF program.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "BpfInstruction"))]
struct ShownBpf {
    /// Number of the instruction, in 8-byte slots as in the kernel.
    slot: usize,
    /// Text of the instruction in assembly language.
    text: String,
    /// Source line of the instruction; null if not known.
    source: Option<ShownLine>,
}

/// Compiles the program of a request for the SmartNIC, and returns the compiled program as JSON.
///
/// # Errors
/// If the object cannot be read, the SmartNIC cannot run the program, or `stop` ends the
/// compilation.
pub fn compile(request: &ProgramRequest, stop: &Stop) -> Result<String, Error> {
    stop.enter(stages::READING);
    let object = request.object.bpf()?;
    json(&request.file, object, &Compilation::of(request, object, stop)?)
}

/// Formats a compiled program as JSON. `file` is the file name as the user stated it.
pub(crate) fn json(
    file: &str,
    object: &Object,
    compilation: &Compilation,
) -> Result<String, Error> {
    let Compilation { linked, compiled, abi } = compilation;
    let instruction = |(insn, origin): (&slowpath_nfp::Insn, &Option<usize>)| {
        let word = slowpath_nfp::word::encode(insn);
        let word =
            word.map_err(|error| Error::Input(codes::INTERNAL_ERROR, format!("{insn}: {error}")))?;
        Ok(ShownInsn { word: format!("{word:012x}"), text: insn.to_string(), bpf: *origin })
    };
    let instructions = compiled.listing.insns().zip(&compiled.origins).map(instruction);
    let instructions = instructions.collect::<Result<Vec<ShownInsn>, Error>>()?;
    let bpf = (0..linked.insns.len()).filter(|&slot| linked.insns[slot] != Insn::SecondSlot);
    let bpf = bpf.map(|slot| ShownBpf {
        slot,
        text: linked.disassemble(object, slot),
        source: ShownLine::of(linked, slot),
    });
    let shown = Shown {
        file: file.to_owned(),
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
    serde_json::to_string(&shown)
        .map_err(|error| Error::Input(codes::INTERNAL_ERROR, error.to_string()))
}
