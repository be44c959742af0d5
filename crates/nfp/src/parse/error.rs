//! What can be wrong with a listing, where, and what to do about it.

use thiserror::Error;

/// A listing that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}{}: {cause}{}", column_text(*.column), hint_text(.hint.as_deref()))]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column of the offending token in characters, from 1, where one token is to blame.
    pub column: Option<u32>,
    /// What is wrong.
    pub cause: ParseCause,
    /// What to do about it.
    pub hint: Option<String>,
}

fn column_text(column: Option<u32>) -> String {
    column.map_or(String::new(), |column| format!(", column {column}"))
}

fn hint_text(hint: Option<&str>) -> String {
    hint.map_or(String::new(), |hint| format!(" ({hint})"))
}

/// Why a listing cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseCause {
    /// No bytes at all.
    #[error("the listing is empty")]
    Empty,
    /// Only blank lines and comments.
    #[error("the listing has no instruction")]
    NoInstructions,
    /// Not text.
    #[error("not a text file: byte {offset} is no text")]
    Binary {
        /// The first such byte.
        offset: usize,
    },
    /// More bytes than any listing has.
    #[error("{bytes} bytes are too many for a listing")]
    TooLarge {
        /// Size of the input.
        bytes: usize,
    },
    /// A line longer than any instruction.
    #[error("a line of {bytes} bytes is too long for an instruction")]
    LongLine {
        /// Its length without comment.
        bytes: usize,
    },
    /// More instructions than branches can tell from ways out.
    #[error("more than 15000 instructions")]
    TooManyInstructions,
    /// The line does not start with an address.
    #[error("no instruction address, such as `1f8:`")]
    NoAddress,
    /// The address does not fit the instruction's number.
    #[error("address {found:x} where {expected:x} is expected for instruction .{number}")]
    WrongAddress {
        /// The address in the listing.
        found: u64,
        /// The right one.
        expected: usize,
        /// The instruction's number.
        number: usize,
    },
    /// No `.N` behind the address.
    #[error("no instruction number; `.{number}` is expected behind the address")]
    NoNumber {
        /// The right one.
        number: usize,
    },
    /// Instructions are not numbered consecutively from 0.
    #[error("instruction .{found} where .{expected} is expected")]
    WrongNumber {
        /// The number in the listing.
        found: u64,
        /// The right one.
        expected: usize,
    },
    /// No mnemonic behind the number.
    #[error("no mnemonic behind the instruction number")]
    NoMnemonic,
    /// A mnemonic that the compiler does not emit.
    #[error("unknown instruction `{0}`")]
    UnknownMnemonic(String),
    /// Something else than the token that must stand here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What must stand here.
        expected: String,
        /// What does.
        found: String,
    },
    /// A word that is not one of the spellings possible here.
    #[error("unknown {what} `{found}`")]
    Unknown {
        /// What kind of word.
        what: &'static str,
        /// The word.
        found: String,
    },
    /// A number outside its range.
    #[error("{what} {value} is not {range}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// Its value as written.
        value: String,
        /// The range, in words.
        range: String,
    },
    /// An operand of a kind that cannot stand here.
    #[error("`{operand}` cannot be {role}")]
    Misplaced {
        /// The operand.
        operand: String,
        /// What it would be.
        role: &'static str,
    },
    /// An attribute that the instruction does not have.
    #[error("`{mnemonic}` has no attribute `{attribute}`")]
    WrongAttribute {
        /// The instruction.
        mnemonic: String,
        /// The attribute.
        attribute: String,
    },
    /// An attribute given twice.
    #[error("attribute `{0}` is given twice")]
    RepeatedAttribute(String),
}

impl ParseError {
    pub(super) fn at_line(line: u32, cause: ParseCause) -> Self {
        let hint = match &cause {
            ParseCause::Empty | ParseCause::NoInstructions => {
                Some("expected lines such as `60: .12  bcc[.152]`".into())
            }
            ParseCause::Binary { .. } => {
                Some("expected the listing that the NFP disassembler prints".into())
            }
            ParseCause::TooLarge { .. } | ParseCause::LongLine { .. } => {
                Some("is this the listing of one program?".into())
            }
            ParseCause::TooManyInstructions => {
                Some("branch targets from .15000 on leave the program".into())
            }
            _ => None,
        };
        ParseError { line, column: None, cause, hint }
    }

    /// An error in a line that is not known yet; [`ParseError::in_line`] sets it.
    pub(super) fn at_column(column: u32, cause: ParseCause) -> Self {
        let hint = match &cause {
            ParseCause::NoAddress => {
                Some("comments start with `;`, `//` or `#`; disassembler headings must go".into())
            }
            ParseCause::WrongAddress { .. } => Some("instructions are 8 bytes long".into()),
            ParseCause::WrongNumber { .. } => {
                Some("numbers are consecutive from .0; is a line missing?".into())
            }
            _ => None,
        };
        ParseError { line: 0, column: Some(column), cause, hint }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(super) fn in_column(mut self, column: u32) -> Self {
        self.column = Some(column);
        self
    }

    pub(super) fn in_line(mut self, line: u32) -> Self {
        self.line = line;
        self
    }
}
