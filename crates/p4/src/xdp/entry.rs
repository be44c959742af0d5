//! Entries of tables and members of value sets, as programs and files write them.

use num_bigint::BigInt;
use slowpath_codes as codes;
use thiserror::Error;

/// A key of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyValue {
    /// One value.
    Exact(BigInt),
    /// Values with the first bits of a value.
    Prefix(BigInt, u32),
    /// Values that are equal under a mask.
    Mask(BigInt, BigInt),
    /// Values between two limits, both included.
    Range(BigInt, BigInt),
    /// All values.
    Any,
}

/// An action with its arguments, each with the name of its parameter or in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// Name of the action.
    pub name: String,
    /// Arguments.
    pub args: Vec<(Option<String>, BigInt)>,
}

/// Effect of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// An action for keys, each with its name or in order.
    Entry {
        /// Keys.
        keys: Vec<(Option<String>, KeyValue)>,
        /// Priority; higher numbers win.
        priority: Option<u32>,
        /// The action; several ones form a group of a selector.
        actions: Vec<ActionCall>,
    },
    /// The action without a matching entry.
    Default(ActionCall),
    /// A member of a value set.
    Member(Vec<(Option<String>, KeyValue)>),
}

/// An entry of a table, or a member of a value set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Line of the file; 0 for an entry of the program.
    pub line: u32,
    /// Name of the table or value set.
    pub table: String,
    /// Effect of the entry.
    pub setting: Setting,
}

/// A fault in an entry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct EntryError {
    /// Code of the cause.
    pub code: codes::Code,
    /// Line of the file; 0 for an entry of the program.
    pub line: u32,
    /// One line: the fault, and what to do.
    pub message: String,
}

pub(super) type Result<T> = std::result::Result<T, EntryError>;

/// Most characters of a file that a message repeats.
const MOST_SHOWN: usize = 60;

/// Returns text of a file for a message: a long text ends in an ellipsis.
pub(super) fn brief(text: impl std::fmt::Display) -> String {
    let text = text.to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the error of an entry that does not fit.
pub(super) fn fault<T>(line: u32, message: String) -> Result<T> {
    Err(EntryError { code: codes::P4_ENTRY, line, message })
}
