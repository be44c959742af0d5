//! The reasons why programs cannot be fused.

use slowpath_bpf::{BpfProgram, ProgramKind};
use thiserror::Error;

/// Reason why programs cannot be fused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FuseError {
    /// The list of programs is empty.
    #[error("there is no program to be fused")]
    Nothing,
    /// A handover refers to a program that does not exist.
    #[error("a handover names program {number}, and there are {available}")]
    NoProgram {
        /// The index of the program in the handover.
        number: usize,
        /// Number of programs in the list.
        available: usize,
    },
    /// Two handovers are for the same result of the same program.
    #[error("what program {program} returns as {result} is handed over twice")]
    Ambiguous {
        /// Name of the program.
        program: String,
        /// The result.
        result: u32,
    },
    /// Handovers form a cycle, so that a program would run twice.
    #[error("program {program} comes behind itself; programs that are fused run once")]
    Circle {
        /// Name of a program on the cycle.
        program: String,
    },
    /// The program never runs, because no handovers lead from the first program to it.
    #[error("program {program} is never reached: no handover leads there")]
    Unreached {
        /// Name of the program.
        program: String,
    },
    /// A program's type differs from that of the first one.
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
    /// A program does not have the form that linking produces.
    #[error("program {program} is damaged: its functions, lines or calls do not fit")]
    Damaged {
        /// Name of the program.
        program: String,
    },
}

fn frags(fragments: &bool) -> &'static str {
    if *fragments { " for packets in fragments" } else { "" }
}

/// Checks that a program can be fused with the first one. Both must have the same type, and the
/// program must have the form that linking produces.
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
