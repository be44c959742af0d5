//! Entries of tables and members of value sets, as programs and entry files state them.

use num_bigint::BigInt;
use slowpath_codes as codes;
use thiserror::Error;

/// Set of values that a key of an entry matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyValue {
    /// One value.
    Exact(BigInt),
    /// Values with a common prefix: a number that begins with the prefix, and the length of the
    /// prefix in bits.
    Prefix(BigInt, u32),
    /// Values that are equal to the first number in the bits of the second one, the mask.
    Mask(BigInt, BigInt),
    /// Values between two limits, inclusive.
    Range(BigInt, BigInt),
    /// All values.
    Any,
}

/// An action with its arguments. Either all arguments have parameter names, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// Control-plane name of the action.
    pub name: String,
    /// Arguments, each with the name of its parameter or `None`.
    pub args: Vec<(Option<String>, BigInt)>,
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// An action for packets that match the keys.
    Entry {
        /// Keys, each with its name or `None`.
        keys: Vec<(Option<String>, KeyValue)>,
        /// Priority; higher numbers win.
        priority: Option<u32>,
        /// The action. Several actions form a group of an action selector.
        actions: Vec<ActionCall>,
    },
    /// Default action, which runs if no entry matches.
    Default(ActionCall),
    /// A member of a value set: its keys, each with its name or `None`.
    Member(Vec<(Option<String>, KeyValue)>),
}

/// An entry of a table, or a member of a value set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Line in the file of entries; 0 for an entry of the program.
    pub line: u32,
    /// Name of the table or value set.
    pub table: String,
    /// Content of the entry.
    pub setting: Setting,
}

/// An error in an entry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct EntryError {
    /// Error code of the cause.
    pub code: codes::Code,
    /// Line in the file of entries; 0 for an entry of the program.
    pub line: u32,
    /// Message of one line: the fault, and how to correct it.
    pub message: String,
}

pub(super) type Result<T> = std::result::Result<T, EntryError>;

/// Largest number of characters of a file that a message quotes.
const MOST_SHOWN: usize = 60;

/// Shortens a text of a file for a message; an ellipsis marks a cut text.
pub(super) fn brief(text: impl std::fmt::Display) -> String {
    let text = text.to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns an error about an entry in a line of a file.
pub(super) fn fault<T>(line: u32, message: String) -> Result<T> {
    Err(EntryError { code: codes::P4_ENTRY, line, message })
}
