//! Errors in the text of a listing, with their position and a hint.

use thiserror::Error;

/// A listing that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}{}: {cause}{}", column_text(*.column), hint_text(.hint.as_deref()))]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column of the offending token in characters, from 1. `None` if the error concerns the whole
    /// line.
    pub column: Option<u32>,
    /// Cause.
    pub cause: ParseCause,
    /// Suggestion for a fix.
    pub hint: Option<String>,
}

fn column_text(column: Option<u32>) -> String {
    column.map_or(String::new(), |column| format!(", column {column}"))
}

fn hint_text(hint: Option<&str>) -> String {
    hint.map_or(String::new(), |hint| format!(" ({hint})"))
}

/// The cause of a parse error.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseCause {
    /// Empty input.
    #[error("the listing is empty")]
    Empty,
    /// Input with only blank lines and comments.
    #[error("the listing has no instruction")]
    NoInstructions,
    /// Input that is not text.
    #[error("not a text file: byte {offset} is no text")]
    Binary {
        /// Offset of the first byte that is not text.
        offset: usize,
    },
    /// Input larger than any listing.
    #[error("{bytes} bytes are too many for a listing")]
    TooLarge {
        /// Size of the input.
        bytes: usize,
    },
    /// A line longer than any instruction.
    #[error("a line of {bytes} bytes is too long for an instruction")]
    LongLine {
        /// Length of the line in bytes, without comment.
        bytes: usize,
    },
    /// More instructions than fit below the first branch target that leaves the program.
    #[error("more than 15000 instructions")]
    TooManyInstructions,
    /// A line that does not start with an address.
    #[error("no instruction address, such as `1f8:`")]
    NoAddress,
    /// An address that does not match the number of the instruction.
    #[error("address {found:x} where {expected:x} is expected for instruction .{number}")]
    WrongAddress {
        /// The address in the listing.
        found: u64,
        /// Expected address.
        expected: usize,
        /// Number of the instruction.
        number: usize,
    },
    /// A missing `.N` after the address.
    #[error("no instruction number; `.{number}` is expected behind the address")]
    NoNumber {
        /// Expected number.
        number: usize,
    },
    /// An instruction number that does not continue the sequence from 0.
    #[error("instruction .{found} where .{expected} is expected")]
    WrongNumber {
        /// The number in the listing.
        found: u64,
        /// Expected number.
        expected: usize,
    },
    /// A missing mnemonic after the instruction number.
    #[error("no mnemonic behind the instruction number")]
    NoMnemonic,
    /// A mnemonic that the compiler does not emit.
    #[error("unknown instruction `{0}`")]
    UnknownMnemonic(String),
    /// A token other than the expected one.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// Expected token, in words.
        expected: String,
        /// Token found, in words.
        found: String,
    },
    /// An unknown word.
    #[error("unknown {what} `{found}`")]
    Unknown {
        /// Kind of word.
        what: &'static str,
        /// The word.
        found: String,
    },
    /// A number outside its range.
    #[error("{what} {value} is not {range}")]
    OutOfRange {
        /// Description of the number.
        what: &'static str,
        /// Value as written in the listing.
        value: String,
        /// Allowed range, in words.
        range: String,
    },
    /// An operand that is not allowed in its place.
    #[error("`{operand}` cannot be {role}")]
    Misplaced {
        /// The operand.
        operand: String,
        /// Role of the operand in this place.
        role: &'static str,
    },
    /// An attribute that the instruction does not support.
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

    /// Returns an error without a line; the caller sets the line with [`ParseError::in_line`].
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
