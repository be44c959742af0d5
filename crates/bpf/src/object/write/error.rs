//! Why an object cannot be written. Each error is one line that names the place.

use thiserror::Error;

use crate::BpfProgram;
use crate::error::printable;

/// Why an object cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// There is no program to write.
    #[error("no program is to be written; an object has at least one")]
    NoProgram,
    /// A program is not what linking makes.
    #[error("program {program}: {what}")]
    Program {
        /// Its name.
        program: String,
        /// What is wrong.
        what: String,
    },
    /// An instruction cannot be written.
    #[error("program {program}, {place}: {what}")]
    Instruction {
        /// Name of the program.
        program: String,
        /// Its slot in the program.
        insn: usize,
        /// Section, instruction and source line.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// A map cannot be written.
    #[error("map {map}: {what}")]
    Map {
        /// Its name.
        map: String,
        /// What is wrong.
        what: String,
    },
    /// The file cannot be put together.
    #[error("the ELF file cannot be written: {what}")]
    File {
        /// What is wrong.
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
