//! Errors in the text of a listing, with their position and a hint.

use slowpath_codes as codes;
use thiserror::Error;

/// A listing that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}{}: {cause}{}", column_text(*.column), hint_text(.hint.as_deref()))]
pub struct ParseError {
    /// Number of the line, counted from 1.
    pub line: u32,
    /// Position, in characters and counted from 1, of the wrong text in the line. `None` if the
    /// error concerns the whole line.
    pub column: Option<u32>,
    /// Description of the error.
    pub cause: ParseCause,
    /// Advice for the user, if there is any.
    pub hint: Option<String>,
}

impl ParseError {
    /// Returns the code of the error's cause.
    pub fn code(&self) -> codes::Code {
        self.cause.code()
    }
}

fn column_text(column: Option<u32>) -> String {
    column.map_or(String::new(), |column| format!(", column {column}"))
}

fn hint_text(hint: Option<&str>) -> String {
    hint.map_or(String::new(), |hint| format!(" ({hint})"))
}

/// The errors that a listing can contain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseCause {
    /// The listing is empty.
    #[error("the listing is empty")]
    Empty,
    /// The listing contains only blank lines and comments.
    #[error("the listing has no instructions")]
    NoInstructions,
    /// The file is not a text file.
    #[error("not a text file: byte {offset} is not text")]
    Binary {
        /// Offset of the first byte that is not text.
        offset: usize,
    },
    /// The file is larger than any listing.
    #[error("{bytes} bytes are too many for a listing")]
    TooLarge {
        /// Size of the input in bytes.
        bytes: usize,
    },
    /// A line is longer than any instruction.
    #[error("a line of {bytes} bytes is too long for an instruction")]
    LongLine {
        /// Length of the line in bytes, without comment.
        bytes: usize,
    },
    /// The listing has more instructions than a program can have.
    #[error("more than 15000 instructions")]
    TooManyInstructions,
    /// A line does not begin with an address.
    #[error("the line lacks an instruction address, such as `1f8:`")]
    NoAddress,
    /// The address of a line does not match the number of its instruction.
    #[error("address {found:x} where {expected:x} is expected for instruction .{number}")]
    WrongAddress {
        /// The address that the listing contains.
        found: u64,
        /// The address that matches the number of the instruction.
        expected: usize,
        /// Number of the instruction.
        number: usize,
    },
    /// The number `.N` after the address is missing.
    #[error("no instruction number; `.{number}` is expected after the address")]
    NoNumber {
        /// The instruction number that is expected.
        number: usize,
    },
    /// The number of an instruction is not one more than that of the previous instruction.
    #[error("instruction .{found} where .{expected} is expected")]
    WrongNumber {
        /// The instruction number in the listing.
        found: u64,
        /// The instruction number that is expected.
        expected: usize,
    },
    /// There is no mnemonic after the instruction number.
    #[error("no mnemonic after the instruction number")]
    NoMnemonic,
    /// The compiler does not emit instructions with this mnemonic.
    #[error("unknown instruction `{0}`")]
    UnknownMnemonic(String),
    /// The parser expected another text at this position.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// Description of the expected text.
        expected: String,
        /// Description of the text at this position.
        found: String,
    },
    /// A register, command, operator or attribute with this name does not exist.
    #[error("unknown {what} `{found}`")]
    Unknown {
        /// Kind of the unknown word, such as `control register`.
        what: &'static str,
        /// The unknown word.
        found: String,
    },
    /// A number is too small or too large.
    #[error("{what} {value} is not {range}")]
    OutOfRange {
        /// Name of the number, such as `number of delay slots`.
        what: &'static str,
        /// The number as written in the listing.
        value: String,
        /// Description of the allowed range.
        range: String,
    },
    /// The instruction does not allow this operand at its position.
    #[error("`{operand}` cannot be {role}")]
    Misplaced {
        /// The operand as written in the listing.
        operand: String,
        /// Description of the use for which the operand is not allowed, such as `a source`.
        role: &'static str,
    },
    /// The instruction does not support an attribute.
    #[error("`{mnemonic}` has no attribute `{attribute}`")]
    WrongAttribute {
        /// Mnemonic of the instruction.
        mnemonic: String,
        /// The unsupported attribute.
        attribute: String,
    },
    /// An attribute is given twice.
    #[error("attribute `{0}` is given twice")]
    RepeatedAttribute(String),
}

impl ParseCause {
    /// Returns the code of the error's cause.
    pub fn code(&self) -> codes::Code {
        match self {
            ParseCause::Empty | ParseCause::NoInstructions => codes::LISTING_EMPTY,
            ParseCause::Binary { .. } => codes::LISTING_NOT_TEXT,
            ParseCause::TooLarge { .. }
            | ParseCause::LongLine { .. }
            | ParseCause::TooManyInstructions => codes::LISTING_TOO_LARGE,
            ParseCause::WrongAddress { .. }
            | ParseCause::NoNumber { .. }
            | ParseCause::WrongNumber { .. } => codes::LISTING_NUMBERING,
            ParseCause::NoAddress
            | ParseCause::NoMnemonic
            | ParseCause::Expected { .. }
            | ParseCause::Misplaced { .. }
            | ParseCause::RepeatedAttribute(_) => codes::LISTING_SYNTAX,
            ParseCause::UnknownMnemonic(_)
            | ParseCause::Unknown { .. }
            | ParseCause::WrongAttribute { .. } => codes::LISTING_UNKNOWN_WORD,
            ParseCause::OutOfRange { .. } => codes::LISTING_NUMBER_RANGE,
        }
    }
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

    /// Creates an error without the number of the line. The caller sets it with
    /// [`ParseError::in_line`].
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
