//! Types of the reports about a chain and its programs, which are serialised for display.

mod program;
mod words;

pub(crate) use program::dropped_reports;
pub(crate) use words::{ends, explain_all, list};

use crate::equivalence::Proof;
use serde::{Deserialize, Serialize};
use slowpath_bpf::{BpfProgram, LineInfo, Object};
use slowpath_specialise::{Comparison, Guard};
use std::collections::BTreeSet;

/// Report about a chain.
#[derive(Debug, Default, Serialize)]
pub struct ChainReport {
    /// Total wall-clock time in seconds.
    pub seconds: f64,
    /// Reason why the work ended early; null if it did not.
    pub stopped: Option<String>,
    /// Reports about the programs, in the order of the chain's description.
    pub programs: Vec<ProgramReport>,
    /// Report about the fused program; null if fusing was not requested, or not possible.
    pub fused: Option<FusedReport>,
    /// Reason why the programs were not fused; null if they were, or if fusing was not requested.
    pub not_fused: Option<String>,
}

/// Report about the programs of a chain fused into one.
#[derive(Debug, Default, Serialize)]
pub struct FusedReport {
    /// Number of instructions of the original programs, in 8-byte slots.
    pub instructions_before: usize,
    /// Number of instructions of the programs that were fused, after rewriting where possible, in
    /// 8-byte slots.
    pub instructions_rewritten: usize,
    /// Number of instructions of the fused program, in 8-byte slots.
    pub instructions_fused: usize,
    /// Number of instructions of the fused program after duplicate work was removed, in 8-byte
    /// slots.
    pub instructions_after: usize,
    /// True if the program without duplicate work is proved to do the same as the fused program;
    /// null if no work was removed.
    pub proved: Option<bool>,
    /// Statistics of the proof about the fused program; null if no duplicate work was removed.
    pub proof: Option<ProofReport>,
    /// Other remarks, one sentence each.
    pub remarks: Vec<String>,
    /// Reason why the object with the fused program is not written; null if nothing prevents it.
    pub not_written: Option<String>,
    /// Total wall-clock time in seconds.
    pub seconds: f64,
}

/// Report about a program of a chain.
#[derive(Debug, Default, Serialize)]
pub struct ProgramReport {
    /// Name of the program in the chain.
    pub name: String,
    /// Name of the program in its object.
    pub program: String,
    /// True if some packet reaches the program.
    pub reached: bool,
    /// Reasons why no packet reaches the program: one sentence for each program before it.
    pub never: Vec<String>,
    /// Facts that hold for every packet that arrives at the program.
    pub facts: Vec<FactReport>,
    /// Maps of earlier programs whose content the facts depend on, each as `PROGRAM:MAP`; empty if
    /// the facts hold for any content.
    pub facts_with: Vec<String>,
    /// Conditions that the results depend on, one sentence each.
    pub assumptions: Vec<String>,
    /// Number of solver queries for the facts.
    pub queries: u64,
    /// Number of instructions of the original program, in 8-byte slots.
    pub instructions_before: usize,
    /// Number of instructions after rewriting, in 8-byte slots; equal to `instructions_before` if
    /// the program is unchanged.
    pub instructions_after: usize,
    /// Maps whose content the user has given before the analysis (frozen maps).
    pub frozen: Vec<FrozenReport>,
    /// Checks that the program makes before it relies on facts; null if it makes none.
    pub guard: Option<GuardReport>,
    /// True if the rewritten program is proved to do the same as the original; null if there is no
    /// rewritten program.
    pub proved: Option<bool>,
    /// Statistics of the proof; null if there is no proof.
    pub proof: Option<ProofReport>,
    /// Changed instructions, each with the facts that justify the change.
    pub dropped: Vec<DroppedReport>,
    /// Loops with bounds on the number of iterations that follow from the facts about packets.
    pub loops: Vec<LoopReport>,
    /// Helper calls with a return value that follows from the facts about packets.
    pub results: Vec<ResultReport>,
    /// Other remarks, one sentence each. They say, for example, why the program stays unchanged, or
    /// which facts are not used.
    pub remarks: Vec<String>,
    /// Wall-clock time for rewriting and proof, in seconds.
    pub seconds: f64,
}

/// A fact that holds for all packets that arrive at a program, with the source lines that establish
/// it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactReport {
    /// The fact itself.
    #[serde(flatten)]
    pub fact: FactText,
    /// Source lines that establish the fact.
    pub established: Vec<LineReport>,
    /// True if no source line establishes the fact, because it is assumed of packets that arrive at
    /// the first program.
    pub assumed: bool,
    /// True if some packets are too short to contain the bytes of the fact. The fact then holds
    /// only for packets that contain them.
    pub if_there: bool,
}

impl FactReport {
    fn of(fact: FactText, established: Vec<LineReport>) -> FactReport {
        FactReport { fact, established, assumed: false, if_there: false }
    }

    /// Sets `if_there` if a packet of `min_length` bytes, the minimum length, is too short to
    /// contain all bytes that the fact describes.
    fn among(self, min_length: u16) -> FactReport {
        let end = match &self.fact {
            FactText::Length { .. } | FactText::Headroom { .. } | FactText::Metadata { .. } => 0,
            FactText::Bytes { offset, value } => usize::from(*offset) + value.len() / 2,
            FactText::Bits { offset, .. } => usize::from(*offset) + 1,
            FactText::Values { offset, bytes, .. } => usize::from(*offset) + usize::from(*bytes),
            FactText::Equal { offset, other, bytes } => {
                usize::from(*offset.max(other)) + usize::from(*bytes)
            }
        };
        FactReport { if_there: end > usize::from(min_length), ..self }
    }
}

/// A fact that holds for all packets at some point of a chain, by its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum FactText {
    /// Range of the packet's length, in bytes.
    Length {
        /// Minimum length.
        min: u16,
        /// Maximum length.
        max: u16,
    },
    /// Range of the headroom (the free memory in front of the packet), in bytes.
    Headroom {
        /// Minimum headroom.
        min: u16,
        /// Maximum headroom.
        max: u16,
    },
    /// Range of the length of the metadata in front of the packet, in bytes.
    Metadata {
        /// Minimum length.
        min: u16,
        /// Maximum length.
        max: u16,
    },
    /// Consecutive packet bytes with constant values.
    Bytes {
        /// Offset of the first byte in the packet.
        offset: u16,
        /// The bytes in hexadecimal.
        value: String,
    },
    /// Bits with constant values in one byte of the packet.
    Bits {
        /// Offset of the byte in the packet.
        offset: u16,
        /// Mask of the constant bits within the byte, in hexadecimal.
        mask: String,
        /// Value of the constant bits within the byte, in hexadecimal.
        value: String,
    },
    /// A packet field that has one of a few values.
    Values {
        /// Offset of the field in the packet.
        offset: u16,
        /// Size of the field in bytes.
        bytes: u8,
        /// Values in hexadecimal, in network byte order.
        values: Vec<String>,
    },
    /// Two packet fields that have equal values.
    Equal {
        /// Offset of the first field in the packet.
        offset: u16,
        /// Offset of the second field in the packet.
        other: u16,
        /// Size of each field in bytes.
        bytes: u8,
    },
}

/// A line of a program's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "SourceLine"))]
pub struct LineReport {
    /// Name of the program in the chain or topology.
    pub program: String,
    /// Path of the source file.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
    /// Text of the line; empty if it is not known.
    pub text: String,
}

/// Checks that a rewritten program makes at its entry before it relies on facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Guard"))]
pub struct GuardReport {
    /// Minimum packet length that the guard accepts, in bytes.
    pub length: u16,
    /// Number of comparisons of packet bytes with constants.
    pub comparisons: usize,
    /// Number of packet bytes that the comparisons cover.
    pub bytes: usize,
    /// Name of the map that tells whether map contents are still as given: the rewritten code runs
    /// only if its content is zero. Null if the program relies on no map content.
    pub generation: Option<String>,
    /// Number of instructions of the program, in 8-byte slots. The copy of the original program
    /// that runs if a check fails is not counted.
    pub instructions: usize,
}

impl GuardReport {
    pub(crate) fn of(object: &Object, guard: &Guard) -> GuardReport {
        GuardReport {
            generation: guard.generation.and_then(|map| map_name(object, map)),
            length: guard.length,
            comparisons: guard.comparisons.len()
                + guard.values.values().map(BTreeSet::len).sum::<usize>(),
            bytes: guard.comparisons.iter().map(Comparison::compared).sum::<usize>()
                + guard.values.keys().map(|field| usize::from(field.bytes)).sum::<usize>(),
            instructions: guard.original,
        }
    }
}

/// A map whose content the user has given before the analysis, so that programs can be rewritten
/// for this content (a frozen map).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Frozen"))]
pub struct FrozenReport {
    /// Name of the map in the program's object.
    pub map: String,
    /// Number of entries whose content was given.
    pub entries: usize,
    /// True if the rewritten program relies on the given content.
    pub used: bool,
    /// Reason why programs cannot be rewritten for the given content of the map; null if they can.
    pub why_not: Option<String>,
}

/// Effort and assumptions of a proof.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Proof"))]
pub struct ProofReport {
    /// Number of paths of the original program that are proved.
    pub paths: u64,
    /// Number of compared pairs of paths; one path is of the original, the other of the rewritten
    /// program.
    pub pairs: u64,
    /// Number of solver queries.
    pub queries: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Conditions under which the proof holds, one sentence each.
    pub assumptions: Vec<String>,
}

impl From<Proof> for ProofReport {
    fn from(proof: Proof) -> ProofReport {
        let Proof { paths, pairs, queries, seconds, assumptions, .. } = proof;
        ProofReport { paths, pairs, queries, seconds, assumptions }
    }
}

/// A change to an instruction, with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Dropped"))]
pub struct DroppedReport {
    /// Number of the instruction in the original program, in 8-byte slots.
    pub slot: usize,
    /// Text of the instruction.
    pub instruction: String,
    /// Source line of the instruction, if known.
    pub line: Option<LineReport>,
    /// Kind of change: `always taken`, `never taken`, `decided by the way there` (a path on which
    /// the branch's outcome is known bypasses it), `always 0x..`, `operand always 0x..`, `no
    /// effect`, or `found by N comparisons` (a lookup in a frozen map).
    pub change: String,
    /// Offsets of the packet bytes that the change depends on, ascending.
    pub bytes: Vec<u16>,
    /// True if the change depends on the packet length.
    pub length: bool,
    /// True if the change depends on the memory around the packet: headroom and metadata.
    pub room: bool,
    /// Names of the maps whose content the change depends on.
    pub maps: Vec<String>,
}

/// Bounds on the iterations of a loop, for all packets and each time that control enters the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "LoopRounds"))]
pub struct LoopReport {
    /// Number of the loop's first instruction in the original program, in 8-byte slots.
    pub slot: usize,
    /// Source line of the first instruction, if known.
    pub line: Option<LineReport>,
    /// Minimum number of times that control reaches the first instruction. This includes a last,
    /// failing test of the loop condition if this instruction makes that test.
    pub least: usize,
    /// Maximum number of times that control reaches the first instruction.
    pub most: usize,
}

/// A helper call that returns the same result for all packets that arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "CallResult"))]
pub struct ResultReport {
    /// Number of the call in the original program, in 8-byte slots.
    pub slot: usize,
    /// Name of the helper.
    pub helper: String,
    /// Source line of the call, if known.
    pub line: Option<LineReport>,
    /// Return value; null if the call returns the address of a map entry.
    pub returns: Option<i64>,
}

/// Returns the source line of the instruction at a slot, if it is known. `name` is the name of the
/// program in the chain.
pub(crate) fn line(name: &str, program: &BpfProgram, slot: usize) -> Option<LineReport> {
    let LineInfo { file, line, text, .. } = program.lines.get(slot)?.as_ref()?;
    Some(LineReport {
        program: name.to_owned(),
        file: file.to_string(),
        line: *line,
        text: text.trim().to_owned(),
    })
}

fn map_name(object: &Object, number: u32) -> Option<String> {
    object.maps.get(number as usize).map(|map| map.name.clone())
}
