//! What is reported about a chain and its programs: documents, which others display.

mod program;
mod words;

pub(crate) use program::dropped_reports;
pub(crate) use words::{ends, explain_all, list};

use crate::equivalence::Proof;
use serde::{Deserialize, Serialize};
use slowpath_bpf::{BpfProgram, LineInfo, Object};
use slowpath_specialise::{Comparison, Guard};
use std::collections::BTreeSet;

/// About a chain.
#[derive(Debug, Default, Serialize)]
pub struct ChainReport {
    /// Wall-clock time of all in seconds.
    pub seconds: f64,
    /// Why it ended early, if it did.
    pub stopped: Option<String>,
    /// In the order of the chain's description.
    pub programs: Vec<ProgramReport>,
    /// The programs as one; null where that is not asked for, or not possible.
    pub fused: Option<FusedReport>,
    /// Why the programs are not one, if that is asked for.
    pub not_fused: Option<String>,
}

/// About the programs of a chain as one.
#[derive(Debug, Default, Serialize)]
pub struct FusedReport {
    /// How many instructions the programs have as they were written, in 8-byte slots.
    pub instructions_before: usize,
    /// How many those have that were fused: rewritten, as far as they were.
    pub instructions_rewritten: usize,
    /// How many the fused program has.
    pub instructions_fused: usize,
    /// How many it has when what is there twice is left out.
    pub instructions_after: usize,
    /// Whether it is proved that it does then what it did as it was fused; null if nothing was left
    /// out.
    pub proved: Option<bool>,
    /// How much work that was; null if nothing was left out.
    pub proof: Option<ProofReport>,
    /// What else there is to say, one sentence each.
    pub remarks: Vec<String>,
    /// Why its object is not written; null where nothing is in the way.
    pub not_written: Option<String>,
    /// Wall-clock time for all of it, in seconds.
    pub seconds: f64,
}

/// About a program of a chain.
#[derive(Debug, Default, Serialize)]
pub struct ProgramReport {
    /// Its name in the chain.
    pub name: String,
    /// Its name in its object.
    pub program: String,
    /// Whether any packet gets to it.
    pub reached: bool,
    /// If none does, why: one sentence for each program before it.
    pub never: Vec<String>,
    /// What holds of every packet that arrives.
    pub facts: Vec<FactReport>,
    /// The maps of programs in front that they are found with the content of, each as `PROGRAM:MAP`;
    /// none where they hold for any content.
    pub facts_with: Vec<String>,
    /// Conditions that this depends on, one sentence each.
    pub assumptions: Vec<String>,
    /// Questions to the solver, for the facts.
    pub queries: u64,
    /// How many instructions it has, in 8-byte slots.
    pub instructions_before: usize,
    /// How many it has when rewritten; as before if it is not.
    pub instructions_after: usize,
    /// The maps whose content was given.
    pub frozen: Vec<FrozenReport>,
    /// What it checks itself before it relies on it; null if it does not.
    pub guard: Option<GuardReport>,
    /// Whether it is proved that the rewritten program does the same; null if there is none.
    pub proved: Option<bool>,
    /// How much work the proof was; null if there is none.
    pub proof: Option<ProofReport>,
    /// What became of instructions, and for which facts.
    pub dropped: Vec<DroppedReport>,
    /// The loops of which it is known how many rounds they have, if the facts hold.
    pub loops: Vec<LoopReport>,
    /// The calls of helpers of which it is known what they return, if the facts hold.
    pub results: Vec<ResultReport>,
    /// What else there is to say, one sentence each: why it stays as it was, which facts were not used.
    pub remarks: Vec<String>,
    /// Wall-clock time for rewriting and proof, in seconds.
    pub seconds: f64,
}

/// What holds of packets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactReport {
    /// What it is about.
    #[serde(flatten)]
    pub fact: FactText,
    /// The lines that establish it.
    pub established: Vec<LineReport>,
    /// Whether nothing does, and it is taken for granted of packets that arrive at the first program.
    pub assumed: bool,
    /// Whether packets can be too short to have these bytes: it holds of those that have them.
    pub if_there: bool,
}

impl FactReport {
    fn of(fact: FactText, established: Vec<LineReport>) -> FactReport {
        FactReport { fact, established, assumed: false, if_there: false }
    }

    /// The same for packets of at least so many bytes.
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

/// What a fact says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum FactText {
    /// The length is between these, in bytes.
    Length {
        /// The least.
        min: u16,
        /// The greatest.
        max: u16,
    },
    /// How much room there is in front is between these, in bytes.
    Headroom {
        /// The least.
        min: u16,
        /// The greatest.
        max: u16,
    },
    /// How long the metadata in front is is between these, in bytes.
    Metadata {
        /// The least.
        min: u16,
        /// The greatest.
        max: u16,
    },
    /// Bytes are always the same.
    Bytes {
        /// Where they begin.
        offset: u16,
        /// In hexadecimal.
        value: String,
    },
    /// Some bits of a byte are always the same.
    Bits {
        /// Where it is.
        offset: u16,
        /// Which bits, in hexadecimal.
        mask: String,
        /// What they are, in hexadecimal.
        value: String,
    },
    /// A field has one of a few values.
    Values {
        /// Where it begins.
        offset: u16,
        /// How many bytes it has.
        bytes: u8,
        /// In hexadecimal, network byte order.
        values: Vec<String>,
    },
    /// Two fields are equal.
    Equal {
        /// Where the first one begins.
        offset: u16,
        /// Where the second one begins.
        other: u16,
        /// How many bytes each has.
        bytes: u8,
    },
}

/// A line of a program's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineReport {
    /// The program's name in the chain.
    pub program: String,
    /// The file.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// The line's text; empty if it is not known.
    pub text: String,
}

/// What a program checks itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardReport {
    /// The least length of packets, in bytes.
    pub length: u16,
    /// How many comparisons of bytes there are.
    pub comparisons: usize,
    /// How many bytes they compare.
    pub bytes: usize,
    /// The name of the map whose content has to be zero; null if nothing of maps is relied on.
    pub generation: Option<String>,
    /// How many instructions there are without the original, in 8-byte slots.
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

/// A map whose content was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrozenReport {
    /// Its name in the program's object.
    pub map: String,
    /// How many entries were given.
    pub entries: usize,
    /// Whether the rewritten program relies on it.
    pub used: bool,
    /// Why it is not frozen; null if it is.
    pub why_not: Option<String>,
}

/// How much work a proof was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProofReport {
    /// Paths of the original that were proved.
    pub paths: u64,
    /// Pairs of paths that were compared.
    pub pairs: u64,
    /// Questions to the solver.
    pub queries: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// What it relies on, one sentence each.
    pub assumptions: Vec<String>,
}

impl From<Proof> for ProofReport {
    fn from(proof: Proof) -> ProofReport {
        let Proof { paths, pairs, queries, seconds, assumptions, .. } = proof;
        ProofReport { paths, pairs, queries, seconds, assumptions }
    }
}

/// What became of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedReport {
    /// Its slot in the original program.
    pub slot: usize,
    /// The instruction.
    pub instruction: String,
    /// Its source line, if known.
    pub line: Option<LineReport>,
    /// `always taken`, `never taken`, `decided by the way there`, `always 0x..`, `operand always
    /// 0x..`, `no effect`, `found by N comparisons`.
    pub change: String,
    /// Offsets of the bytes of the packet that are the reason, ascending: of their known bits, or of
    /// the few values that a field has.
    pub bytes: Vec<u16>,
    /// Whether the packet's length is part of the reason.
    pub length: bool,
    /// Whether what lies around the packet is part of the reason: room and metadata.
    pub room: bool,
    /// Names of the maps whose content is part of the reason.
    pub maps: Vec<String>,
}

/// How many rounds a loop has, whenever control gets there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoopReport {
    /// The slot of its first instruction in the original program.
    pub slot: usize,
    /// The source line of that, if known.
    pub line: Option<LineReport>,
    /// How often control gets to that instruction at least.
    pub least: usize,
    /// How often at most.
    pub most: usize,
}

/// What a call of a helper returns, whenever control gets there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultReport {
    /// The slot of the call in the original program.
    pub slot: usize,
    /// The name of the helper.
    pub helper: String,
    /// The source line, if known.
    pub line: Option<LineReport>,
    /// What it returns; null if that is the address of an entry of a map.
    pub returns: Option<i64>,
}

/// The source line of a slot of a program, which the chain calls so.
pub(crate) fn line(name: &str, program: &BpfProgram, slot: usize) -> Option<LineReport> {
    let LineInfo { file, line, text, .. } = program.lines.get(slot)?.as_ref()?;
    Some(LineReport {
        program: name.to_owned(),
        file: file.to_string(),
        line: *line,
        text: text.trim().to_owned(),
    })
}

/// The name of a map.
fn map_name(object: &Object, number: u32) -> Option<String> {
    object.maps.get(number as usize).map(|map| map.name.clone())
}
