//! Errors of reading objects. Each is one line that names the place, what is wrong there, and a way
//! out.

use thiserror::Error;

/// Why an object, or one program of it, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ObjectError {
    /// The file is no BPF object that this crate reads.
    #[error("{what}; {hint}")]
    File {
        /// What it is instead, or what is damaged.
        what: String,
        /// What may help.
        hint: &'static str,
    },
    /// A section cannot be read.
    #[error("section {section}: {what}; {hint}")]
    Section {
        /// Its name.
        section: String,
        /// What is wrong.
        what: String,
        /// What may help.
        hint: &'static str,
    },
    /// An instruction cannot be read or resolved.
    #[error("section {section}, instruction {insn}: {what}; {hint}")]
    Instruction {
        /// Name of the section.
        section: String,
        /// 8-byte slot in the section, from 0.
        insn: usize,
        /// What is wrong.
        what: String,
        /// What may help.
        hint: &'static str,
    },
    /// A map definition cannot be read.
    #[error("map {map}: {what}; {hint}")]
    Map {
        /// Its name.
        map: String,
        /// What is wrong.
        what: String,
        /// What may help.
        hint: &'static str,
    },
    /// BTF type information is malformed.
    #[error("BTF: {what}; {hint}")]
    Btf {
        /// What is wrong.
        what: String,
        /// What may help.
        hint: &'static str,
    },
    /// The object has no such program.
    #[error("no program number {number}; the object has {available}")]
    NoProgram {
        /// What was asked for.
        number: usize,
        /// How many there are.
        available: usize,
    },
}

impl ObjectError {
    pub(crate) fn file(what: impl Into<String>, hint: &'static str) -> Self {
        ObjectError::File { what: one_line(what), hint }
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

/// Names from files can hold anything; messages are one line.
fn one_line(text: impl Into<String>) -> String {
    printable(text.into().as_bytes())
}

/// Hint for contents that no compiler writes.
pub(crate) const DAMAGED: &str = "the file may be damaged or truncated";

/// A name from a file as it can be printed on one line.
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
    use super::{DAMAGED, ObjectError};

    #[test]
    fn messages_are_one_line_whatever_names_hold() {
        let errors = [
            ObjectError::file("a\nb", DAMAGED),
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
