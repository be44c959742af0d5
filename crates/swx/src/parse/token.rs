//! Splits a file into lines of tokens, and parses single tokens.

use std::fmt;
use std::sync::Arc;

use slowpath_codes as codes;

use crate::error::SpecError;
use crate::print::ORIGIN;
use crate::spec::{FieldRef, Line, Origin, SourceLine};

/// Size of a name in DPDK, including its final zero byte.
const NAME_BYTES: usize = 64;
/// Number of characters of a too long name that a message shows.
const SHOWN: usize = 40;
/// Largest number of tokens in a line.
const MAX_TOKENS: usize = 256;

/// Creates an error about a line that does not follow the grammar.
pub fn syntax(line: Line, message: impl fmt::Display) -> SpecError {
    SpecError::new(codes::SWX_SYNTAX, line, message)
}

/// The tokens of a line. A line has at least one.
pub struct Tokens<'a> {
    pub line: Line,
    pub words: Vec<&'a str>,
}

impl Tokens<'_> {
    /// Compares the words of the line with `shape`, in which empty strings stand for any word.
    /// Returns the words at the empty strings, except the first word of the line. Returns an error
    /// if another word differs from `shape`, or the number of words differs.
    pub fn shape<const N: usize>(
        &self,
        shape: &[&str],
        form: &str,
    ) -> Result<[String; N], SpecError> {
        let fits = self.words.len() == shape.len()
            && shape.iter().zip(&self.words).all(|(want, word)| want.is_empty() || want == word);
        let free = shape.iter().zip(&self.words).skip(1).filter(|(want, _)| want.is_empty());
        let free: Vec<String> = free.map(|(_, word)| (*word).to_owned()).collect();
        match free.try_into() {
            Ok(free) if fits => Ok(free),
            _ => Err(self.unlike(form)),
        }
    }

    /// Returns an error unless the line is a single keyword followed by `{`.
    pub fn opens(&self, form: &str) -> Result<(), SpecError> {
        if self.words[1..] == ["{"] { Ok(()) } else { Err(self.unlike(form)) }
    }

    /// Creates an error about a line that does not have the form `form` of its statement.
    pub fn unlike(&self, form: &str) -> SpecError {
        syntax(self.line, format!("'{}' does not have the form '{form}'", self.words.join(" ")))
    }
}

/// Reader of the lines in a file, which skips lines without tokens.
pub struct Lines<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    longest: usize,
    last: Line,
    /// Source line that the next instructions of the block were compiled from.
    origin: Origin,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str, longest: usize) -> Lines<'a> {
        Lines { lines: text.lines().enumerate(), longest, last: Line(1), origin: Origin::default() }
    }

    /// Returns the number of the line that was read last.
    pub fn last(&self) -> Line {
        self.last
    }

    /// Returns the source line that the line read last was compiled from.
    pub fn origin(&self) -> Origin {
        self.origin.clone()
    }

    /// Returns the next line that has tokens; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<Tokens<'a>>, SpecError> {
        for (index, text) in self.lines.by_ref() {
            let line = Line(u32::try_from(index + 1).unwrap_or(u32::MAX));
            self.last = line;
            if text.len() > self.longest {
                let limit = self.longest;
                return Err(syntax(line, format!("the line is longer than {limit} bytes; cut it")));
            }
            if text.contains('\0') {
                return Err(syntax(line, "the line has a zero byte; the file is not text"));
            }
            if let Some(origin) = text.trim_start().strip_prefix(ORIGIN) {
                self.origin = Origin(source_line(origin).map(Arc::new));
                continue;
            }
            let blank = |letter| matches!(letter, ' ' | '\t' | '\r' | '\x0b' | '\x0c');
            let words = text.split(blank).filter(|word| !word.is_empty());
            let comment = |word: &&str| {
                word.starts_with('#') || word.starts_with(';') || word.starts_with("//")
            };
            let words: Vec<&str> = words.take_while(|word| !comment(word)).collect();
            if let Some(word) = words.iter().find(|word| word.len() >= NAME_BYTES) {
                let begin: String = word.chars().take(SHOWN).collect();
                let what = format!("the word '{begin}…' is longer than 63 bytes; shorten it");
                return Err(syntax(line, what));
            }
            if words.len() > MAX_TOKENS {
                return Err(syntax(line, format!("the line has over {MAX_TOKENS} words; cut it")));
            }
            if !words.is_empty() {
                return Ok(Some(Tokens { line, words }));
            }
        }
        Ok(None)
    }

    /// Returns the next line of a block; `None` after its closing `}`. Returns an error if the file
    /// ends inside the block.
    pub fn in_block(&mut self, block: &str, opened: Line) -> Result<Option<Tokens<'a>>, SpecError> {
        match self.next()? {
            Some(tokens) if tokens.words == ["}"] => {
                self.origin = Origin::default();
                Ok(None)
            }
            Some(tokens) => Ok(Some(tokens)),
            None => Err(syntax(
                self.last,
                format!("the block '{block}' of line {} does not end; add a line '}}'", opened.0),
            )),
        }
    }
}

/// Parses the rest of a `//line` comment: ` LINE "FILE" TEXT`. Returns `None` for other texts.
fn source_line(text: &str) -> Option<SourceLine> {
    let (line, rest) = text.strip_prefix(' ')?.split_once(' ')?;
    let (mut file, mut letters) = (String::new(), rest.strip_prefix('"')?.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                let text = rest[at + 2..].strip_prefix(' ').unwrap_or_default().into();
                let line = line.parse().ok().filter(|line| *line > 0)?;
                return Some(SourceLine { file: file.into(), line, text }).filter(|_| at > 0);
            }
            '\\' => file.push(letters.next()?.1),
            letter => file.push(letter),
        }
    }
    None
}

/// Parses a number like C's `strtoull` with base 0: hexadecimal, octal or decimal, with an optional
/// sign. Numbers above 64 bits become the largest 64-bit number.
pub fn number(text: &str) -> Option<u64> {
    let (text, negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, base) = match (hexadecimal, text.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some("")) => return Some(0),
        (None, Some(digits)) => (digits, 8),
        (None, None) => (text, 10),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    match u64::from_str_radix(digits, base) {
        Ok(value) => Some(if negative { value.wrapping_neg() } else { value }),
        Err(_) => Some(u64::MAX), // only overflow is left
    }
}

/// Parses a number of more than 64 bits as DPDK does: two hexadecimal digits per byte, in memory
/// order.
pub fn in_memory_order(text: &str, size: usize) -> Option<Vec<u8>> {
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let number = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?;
        u8::from_str_radix(pair, 16).ok()
    };
    (text.len() == 2 * size).then(|| text.as_bytes().chunks(2).map(number).collect())?
}

/// Parses a number of at most 32 bits. `what` names it in the error.
pub fn small(line: Line, text: &str, what: &str) -> Result<u32, SpecError> {
    number(text).and_then(|value| u32::try_from(value).ok()).ok_or_else(|| {
        syntax(line, format!("{what} '{text}' is not a number from 0 to 4294967295; correct it"))
    })
}

/// Parses the name of a field, such as `h.ipv4.ttl`.
pub fn field(text: &str) -> Option<FieldRef> {
    let (kind, rest) = text.split_once('.')?;
    let pair = || {
        let (owner, field) = rest.split_once('.')?;
        Some((owner.to_owned(), field.to_owned()))
    };
    Some(match kind {
        "h" => {
            let (header, field) = pair()?;
            FieldRef::Header { header, field }
        }
        "m" => FieldRef::Meta(rest.to_owned()),
        "t" => FieldRef::Data(rest.to_owned()),
        "e" => {
            let (object, field) = pair()?;
            FieldRef::Object { object, field }
        }
        "f" => {
            let (function, field) = pair()?;
            FieldRef::Function { function, field }
        }
        _ => return None,
    })
}

/// Parses a metadata field, and returns its name.
pub fn meta(line: Line, text: &str) -> Result<String, SpecError> {
    text.strip_prefix("m.")
        .map(str::to_owned)
        .ok_or_else(|| syntax(line, format!("'{text}' is not a metadata field; write m.FIELD")))
}
