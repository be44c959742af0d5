//! Defines the errors that occur when objects are written. Each message is one line that names the
//! program, instruction or map.

use thiserror::Error;

use crate::BpfProgram;
use crate::error::printable;

/// Reason why an object cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// There is no program to write.
    #[error("no program to write; an object needs at least one")]
    NoProgram,
    /// A program does not have the form that linking produces.
    #[error("program {program}: {what}")]
    Program {
        /// Name of the faulty program.
        program: String,
        /// Description of the fault.
        what: String,
    },
    /// An instruction cannot be written.
    #[error("program {program}, {place}: {what}")]
    Instruction {
        /// Name of the program.
        program: String,
        /// Slot of the instruction in the program.
        insn: usize,
        /// Position of the instruction in the source, as text: section, slot and source line.
        place: String,
        /// Description of the fault.
        what: String,
    },
    /// A map cannot be written.
    #[error("map {map}: {what}")]
    Map {
        /// Name of the map.
        map: String,
        /// Description of the fault.
        what: String,
    },
    /// The ELF file cannot be generated.
    #[error("the ELF file cannot be written: {what}")]
    File {
        /// Description of the fault.
        what: String,
    },
}

impl WriteError {
    pub(super) fn program(program: &BpfProgram, what: impl Into<String>) -> Self {
        WriteError::Program { program: line(&program.name), what: what.into() }
    }

    pub(super) fn insn(program: &BpfProgram, insn: usize, what: impl AsRef<str>) -> Self {
        WriteError::Instruction {
            program: line(&program.name),
            insn,
            place: line(&program.place_text(insn)),
            what: line(what.as_ref()),
        }
    }

    pub(super) fn map(map: &str, what: impl Into<String>) -> Self {
        WriteError::Map { map: line(map), what: what.into() }
    }

    pub(super) fn file(what: impl ToString) -> Self {
        WriteError::File { what: line(&what.to_string()) }
    }
}

fn line(text: &str) -> String {
    printable(text.as_bytes())
}
