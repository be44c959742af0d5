//! Programs of BPF objects as the SmartNIC runs them, as data.
//!
//! The format of [`compile`] is documented in `docs/json.md`.

use crate::Error;
use crate::frontend::Compilation;
use crate::options::ProgramRequest;
use crate::source_line::ShownLine;
use crate::stages;
use serde::Serialize;
use slowpath_bpf::insn::Insn;
use slowpath_nfp::MapAbi;
use slowpath_stop::Stop;

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
pub fn compile(request: &ProgramRequest, stop: &Stop) -> Result<String, Error> {
    stop.enter(stages::READING);
    let object = request.object.bpf()?;
    let Compilation { linked, compiled, abi } = Compilation::of(request, object, stop)?;
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
        text: linked.disassemble(object, slot),
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
