//! Reads a program and its headers as tokens: includes files, evaluates conditions, and replaces
//! macros as a C preprocessor does (P4_16 specification, section 6.2).
//!
//! Replacement follows GCC: each macro in use is a list of tokens on a stack, and a name that
//! occurs in its own replacement stays as it is.

mod condition;
mod directives;
mod files;
mod macros;
mod standard;
mod state;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use slowpath_codes as codes;

use crate::P4Error;
use crate::lexer::{self, Flaw, Kind, Lexeme, Lexer, Names};
use crate::token::{SourceFile, Sources, Span, Token, TokenKind};
use state::{Context, Frame, Key, Macro};

/// Largest number of tokens that the preprocessor handles, including replacements. Macros can
/// double the program with each line, so a limit is needed.
const MAX_TOKENS: usize = 4_000_000;

/// Largest nesting depth of included files, and of macros in arguments of macros.
const MAX_DEPTH: usize = 200;

/// Options of the preprocessor.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folders that are searched for included files, in order.
    pub include_folders: Vec<PathBuf>,
    /// Macros that are defined before the program starts, as names and replacements.
    pub defines: Vec<(String, String)>,
}

/// Reads a program as tokens. The last token has the kind [`TokenKind::End`].
///
/// `path` is the path of the program in messages. Its folder is searched for included files.
///
/// # Errors
///
/// Returns an error if a directive has a fault, an included file is missing, or a text is not a
/// token of P4. The sources show its position.
pub fn preprocess(
    path: &Path,
    text: &str,
    options: &Options,
) -> Result<(Vec<Token>, Sources), (P4Error, Sources)> {
    let mut preprocessor = Preprocessor::new(path, text, options);
    match preprocessor.run() {
        Ok(tokens) => Ok((tokens, preprocessor.sources)),
        Err(error) => Err((error, preprocessor.sources)),
    }
}

/// State of the preprocessor.
struct Preprocessor<'a> {
    options: &'a Options,
    names: Names,
    sources: Sources,
    /// Index of each file that was read, by its origin (path, or name of a standard header).
    numbers: HashMap<Key, u32>,
    /// Indices of the files with `#pragma once`.
    once: HashSet<u32>,
    /// Files that are being read; an included file comes after the file that includes it.
    frames: Vec<Frame>,
    macros: HashMap<Rc<str>, Rc<Macro>>,
    /// Macro replacements that are being read, innermost last.
    contexts: Vec<Context>,
    /// A lexeme to return again before further ones are read.
    unread: Option<Lexeme>,
    /// Current nesting depth of macros in arguments of macros.
    depth: usize,
    /// Number of tokens handled so far.
    handled: usize,
}

impl<'a> Preprocessor<'a> {
    fn new(path: &Path, text: &str, options: &'a Options) -> Preprocessor<'a> {
        let text: Rc<str> = text.into();
        let file = SourceFile {
            path: path.into(),
            text: text.clone(),
            is_standard: false,
            included_at: None,
        };
        Preprocessor {
            options,
            names: Names::default(),
            sources: Sources { files: vec![file] },
            numbers: HashMap::from([(Key::Read(state::tidy(path)), 0)]),
            once: HashSet::new(),
            frames: vec![Frame::new(Lexer::new(0, text), 0, path.parent().map(Path::to_path_buf))],
            macros: HashMap::new(),
            contexts: Vec::new(),
            unread: None,
            depth: 0,
            handled: 0,
        }
    }

    fn run(&mut self) -> Result<Vec<Token>, P4Error> {
        let options = self.options;
        self.charge(self.sources.files[0].text.len() / 4, Span::default())?;
        for (name, value) in &options.defines {
            self.define_option(name, value)?;
        }
        let mut tokens = Vec::new();
        loop {
            let lexeme = self.expanded()?;
            let token = token(lexeme)?;
            let is_end = token.kind == TokenKind::End;
            tokens.push(token);
            if is_end {
                return Ok(tokens);
            }
        }
    }

    /// Adds to the number of handled tokens. Returns an error above [`MAX_TOKENS`].
    fn charge(&mut self, tokens: usize, span: Span) -> Result<(), P4Error> {
        self.handled += tokens;
        if self.handled > MAX_TOKENS {
            return Err(fault(
                span,
                format_args!(
                    "macros and included files yield more than {MAX_TOKENS} tokens; make them \
                     shorter"
                ),
            ));
        }
        Ok(())
    }

    /// Returns the innermost file that is being read.
    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the program stays open")
    }
}

/// Creates an error about a directive or macro.
fn fault(span: Span, message: impl fmt::Display) -> P4Error {
    P4Error::new(codes::P4_PREPROCESSOR, span, message)
}

/// Converts a lexeme that no macro replaces to a token.
fn token(lexeme: Lexeme) -> Result<Token, P4Error> {
    let Lexeme { kind, text, span, .. } = lexeme;
    let syntax = |message: String| Err(P4Error::new(codes::P4_SYNTAX, span, message));
    let kind = match kind {
        Kind::Word => TokenKind::Word,
        Kind::Number if lexer::is_number(&text) => TokenKind::Number,
        Kind::Number => return syntax(format!("'{}' is not a number; correct it", short(&text))),
        Kind::Text => TokenKind::Text,
        Kind::Symbol if text.starts_with('#') => {
            return syntax("'#' must be the first character of a line; move or remove it".into());
        }
        Kind::Symbol => TokenKind::Symbol,
        Kind::Flaw(Flaw::Character) => {
            let character = text.escape_debug();
            return syntax(format!("P4 does not use the character '{character}'; remove it"));
        }
        Kind::Flaw(Flaw::Text) => return syntax("string has no closing '\"'; add it".into()),
        Kind::Flaw(Flaw::Comment) => return syntax("comment has no '*/'; add it".into()),
        Kind::LineEnd | Kind::End => TokenKind::End,
    };
    Ok(Token { kind, text, span })
}

/// Shortens a text of the program for a message, and escapes control characters.
fn short(text: &str) -> String {
    let mut start = String::new();
    for (i, character) in text.chars().enumerate() {
        if i == 80 {
            start.push('…');
            break;
        }
        match character.is_control() {
            true => start.extend(character.escape_default()),
            false => start.push(character),
        }
    }
    start
}
