//! Why programs do not become one.

use slowpath_bpf::{BpfProgram, ProgramKind};
use thiserror::Error;

/// Why programs do not become one. Numbers are places in the list of programs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FuseError {
    /// There is no program.
    #[error("there is no program to be fused")]
    Nothing,
    /// A handover names a program that is not there.
    #[error("a handover names program {number}, and there are {available}")]
    NoProgram {
        /// The number.
        number: usize,
        /// How many programs there are.
        available: usize,
    },
    /// A result is handed over twice.
    #[error("what program {program} returns as {result} is handed over twice")]
    Ambiguous {
        /// The name of the program.
        program: String,
        /// The result.
        result: u32,
    },
    /// A program would run again behind itself.
    #[error("program {program} comes behind itself; programs that are fused run once")]
    Circle {
        /// The name of the program.
        program: String,
    },
    /// A program never runs.
    #[error("program {program} is never reached: no handover leads there")]
    Unreached {
        /// The name of the program.
        program: String,
    },
    /// Programs of different types.
    #[error("program {program} is of type {kind}{}, {first} is not", frags(.fragments))]
    Different {
        /// The name of the program.
        program: String,
        /// Its type.
        kind: ProgramKind,
        /// Whether it is for packets in fragments.
        fragments: bool,
        /// The name of the first program.
        first: String,
    },
    /// A program is not what linking makes.
    #[error("program {program} is damaged: its functions, lines or calls do not fit")]
    Damaged {
        /// The name of the program.
        program: String,
    },
}

fn frags(fragments: &bool) -> &'static str {
    if *fragments { " for packets in fragments" } else { "" }
}

/// Whether a program can be fused with the first one.
pub(super) fn check(first: &BpfProgram, program: &BpfProgram) -> Result<(), FuseError> {
    let name = program.name.clone();
    if (program.kind, program.takes_fragments()) != (first.kind, first.takes_fragments()) {
        let (kind, fragments) = (program.kind, program.takes_fragments());
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
