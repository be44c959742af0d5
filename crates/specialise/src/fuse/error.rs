//! Defines the errors of fusing several programs into one.

use slowpath_bpf::{BpfProgram, ProgramKind};
use slowpath_codes as codes;
use thiserror::Error;

/// The reason why several programs cannot be fused into one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FuseError {
    /// The list of programs is empty.
    #[error("there is no program to fuse")]
    Nothing,
    /// A handover refers to a program that does not exist.
    #[error("a handover names program {number}, but there are only {available}")]
    NoProgram {
        /// Index of the program that the handover names.
        number: usize,
        /// Number of programs in the list; valid indices are smaller.
        available: usize,
    },
    /// Two handovers name the same return value of the same program.
    #[error("the result {result} of program {program} has two successors")]
    Ambiguous {
        /// Name of the program.
        program: String,
        /// Return value for which two handovers exist.
        result: u32,
    },
    /// Handovers form a cycle, so that a program would run twice.
    #[error("program {program} runs after itself; a fused program runs each program once")]
    Circle {
        /// Name of a program on the cycle.
        program: String,
    },
    /// A program never runs, because no handovers lead from the first program to it.
    #[error("program {program} is never reached: no handover leads there")]
    Unreached {
        /// Name of the program that never runs.
        program: String,
    },
    /// The type of a program differs from that of the first program.
    #[error("program {program} is of type {kind}{}, {first} is not", frags(.fragments))]
    Different {
        /// Name of the program.
        program: String,
        /// Type of the program.
        kind: ProgramKind,
        /// True if the program accepts packets in fragments.
        fragments: bool,
        /// Name of the first program.
        first: String,
    },
    /// A program does not have the form that the linker produces: its functions, source lines or
    /// calls are inconsistent.
    #[error("program {program} is damaged: its functions, lines or calls are inconsistent")]
    Damaged {
        /// Name of the program.
        program: String,
    },
}

impl FuseError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            FuseError::Nothing
            | FuseError::NoProgram { .. }
            | FuseError::Ambiguous { .. }
            | FuseError::Circle { .. }
            | FuseError::Unreached { .. } => codes::NOT_FUSABLE,
            FuseError::Different { .. } => codes::CHAIN_OBJECTS_UNFIT,
            FuseError::Damaged { .. } => codes::INTERNAL_ERROR,
        }
    }
}

fn frags(fragments: &bool) -> &'static str {
    if *fragments { " for packets in fragments" } else { "" }
}

/// Checks that a program has the same type as the first program, and the form that the linker
/// produces.
pub(super) fn check(first: &BpfProgram, program: &BpfProgram) -> Result<(), FuseError> {
    let name = program.name.clone();
    if (program.kind, program.accepts_fragments()) != (first.kind, first.accepts_fragments()) {
        let (kind, fragments) = (program.kind, program.accepts_fragments());
        let first = first.name.clone();
        return Err(FuseError::Different { program: name, kind, fragments, first });
    }
    let firsts: Vec<usize> = program.subprograms.iter().map(|of| of.first).collect();
    let fits = firsts.first() == Some(&0)
        && firsts.is_sorted_by(|a, b| a < b)
        && firsts.last().is_some_and(|last| *last < program.insns.len())
        && program.lines.len() == program.insns.len();
    if fits { Ok(()) } else { Err(FuseError::Damaged { program: name }) }
}
