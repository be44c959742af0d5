//! The errors that occur when objects are read. Each message is one line with the place, the fault
//! and a remedy.

use slowpath_codes as codes;
use thiserror::Error;

/// Reason why an object, or one of its programs, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ObjectError {
    /// The file is not a BPF object that this crate supports.
    #[error("{what}; {hint}")]
    File {
        /// Code of the error's cause, such as `SP0301`.
        code: codes::Code,
        /// Description of the file or of the damage.
        what: String,
        /// Possible remedy.
        hint: &'static str,
    },
    /// A section cannot be read, for example because it reaches beyond the end of the file.
    #[error("section {section}: {what}; {hint}")]
    Section {
        /// Name of the section.
        section: String,
        /// Description of the fault.
        what: String,
        /// Possible remedy.
        hint: &'static str,
    },
    /// An instruction cannot be read or resolved.
    #[error("section {section}, instruction {insn}: {what}; {hint}")]
    Instruction {
        /// Name of the section.
        section: String,
        /// Index of the instruction's 8-byte slot in the section, counted from 0.
        insn: usize,
        /// Description of the fault.
        what: String,
        /// Possible remedy.
        hint: &'static str,
    },
    /// A map definition cannot be read.
    #[error("map {map}: {what}; {hint}")]
    Map {
        /// Name of the map.
        map: String,
        /// Description of the fault.
        what: String,
        /// Possible remedy.
        hint: &'static str,
    },
    /// BTF type information is malformed.
    #[error("BTF: {what}; {hint}")]
    Btf {
        /// Description of the fault.
        what: String,
        /// Possible remedy.
        hint: &'static str,
    },
    /// The object has no program with the requested index.
    #[error("no program number {number}; the object has {available}")]
    NoProgram {
        /// Requested index of a program.
        number: usize,
        /// Number of programs in the object.
        available: usize,
    },
}

impl ObjectError {
    /// Returns the code of the error's cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            ObjectError::File { code, .. } => *code,
            ObjectError::Section { .. } => codes::DAMAGED_OBJECT,
            ObjectError::Instruction { .. } => codes::UNRESOLVED_INSTRUCTION,
            ObjectError::Map { .. } => codes::BAD_MAP_DEFINITION,
            ObjectError::Btf { .. } => codes::BAD_BTF,
            ObjectError::NoProgram { .. } => codes::NO_SUCH_PROGRAM,
        }
    }
}

impl ObjectError {
    pub(crate) fn file(code: codes::Code, what: impl Into<String>, hint: &'static str) -> Self {
        ObjectError::File { code, what: one_line(what), hint }
    }

    pub(crate) fn section(
        section: impl Into<String>,
        what: impl Into<String>,
        hint: &'static str,
    ) -> Self {
        ObjectError::Section { section: one_line(section), what: one_line(what), hint }
    }

    pub(crate) fn insn(
        section: impl Into<String>,
        insn: usize,
        what: impl Into<String>,
        hint: &'static str,
    ) -> Self {
        ObjectError::Instruction { section: one_line(section), insn, what: one_line(what), hint }
    }

    pub(crate) fn map(map: impl Into<String>, what: impl Into<String>, hint: &'static str) -> Self {
        ObjectError::Map { map: one_line(map), what: one_line(what), hint }
    }

    pub(crate) fn btf(what: impl Into<String>, hint: &'static str) -> Self {
        ObjectError::Btf { what: one_line(what), hint }
    }
}

/// Escapes control characters, so that a message is one line even if a name contains line breaks.
fn one_line(text: impl Into<String>) -> String {
    printable(text.into().as_bytes())
}

/// Hint for errors about content that no compiler writes.
pub(crate) const DAMAGED: &str = "the file may be damaged or truncated";

/// Converts bytes from a file to text that can be printed on one line.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.chars().any(char::is_control) {
        text.chars().flat_map(|c| c.escape_default()).collect()
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{DAMAGED, ObjectError, codes};

    #[test]
    fn messages_are_one_line_whatever_names_hold() {
        let errors = [
            ObjectError::file(codes::DAMAGED_OBJECT, "a\nb", DAMAGED),
            ObjectError::section("x\ndp", "a\tb", DAMAGED),
            ObjectError::insn("x\ndp", 3, "a\nb", DAMAGED),
            ObjectError::map("ri\ngs", "unknown parameter `a\u{7}`", DAMAGED),
            ObjectError::btf("a\r\nb", DAMAGED),
        ];
        for error in errors {
            assert!(!error.to_string().chars().any(char::is_control), "{error}");
        }
    }
}
