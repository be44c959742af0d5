//! Helpers that preprocess, check and translate P4 sources for tests.

use std::path::Path;

use slowpath_p4::P4Error;
use slowpath_p4::preprocess::{Options, preprocess};
use slowpath_p4::token::{Sources, Token, TokenKind};

/// Preprocesses a source text named `a.p4`, without include folders.
pub fn run(text: &str) -> Result<(Vec<Token>, Sources), (P4Error, Sources)> {
    preprocess(Path::new("a.p4"), text, &Options::default())
}

/// Returns the tokens of a source text, separated by spaces.
pub fn shown(text: &str) -> String {
    match run(text) {
        Ok((tokens, _)) => show(&tokens),
        Err((error, sources)) => panic!("{}", error.render(&sources)),
    }
}

/// Joins tokens with spaces; strings are in quotes.
pub fn show(tokens: &[Token]) -> String {
    let (last, tokens) = tokens.split_last().expect("the end is a token");
    assert_eq!(last.kind, TokenKind::End);
    let texts = tokens.iter().map(|token| match token.kind {
        TokenKind::Text => format!("{:?}", token.text),
        _ => token.text.to_string(),
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Returns the preprocessor's error message for a faulty source text, with the position of the
/// error.
pub fn fault(text: &str) -> String {
    let (error, sources) = run(text).expect_err("the program has a fault");
    error.render(&sources)
}

/// Reads, parses and checks a program. Returns the messages of its errors, with their positions.
pub fn checked(text: &str) -> Vec<String> {
    let (tokens, sources) = match run(text) {
        Ok(read) => read,
        Err((error, sources)) => return vec![error.render(&sources)],
    };
    let faults = match slowpath_p4::parse(&tokens) {
        Err(error) => vec![error],
        Ok(program) => slowpath_p4::check(&program).err().unwrap_or_default(),
    };
    faults.iter().map(|fault| fault.render(&sources)).collect()
}

/// Asserts that the checker accepts a program.
#[track_caller]
pub fn accepted(text: &str) {
    assert_eq!(checked(text), Vec::<String>::new(), "{text}");
}

/// Asserts the position (as `line:column`) and message of the first error in a program.
#[track_caller]
pub fn rejected(text: &str, expected: &str) {
    let faults = checked(text);
    assert_eq!(faults.first(), Some(&format!("a.p4:{expected}")), "{text}");
}

/// Translates a program to C.
///
/// # Errors
///
/// Returns the message of the first error, with its position.
pub fn translated(text: &str) -> Result<String, String> {
    let (tokens, sources) = run(text).map_err(|(error, sources)| error.render(&sources))?;
    let shown = |error: P4Error| error.render(&sources);
    let program = slowpath_p4::parse(&tokens).map_err(shown)?;
    let checked = slowpath_p4::check(&program).map_err(|faults| shown(faults[0].clone()))?;
    let options = slowpath_p4::xdp::Options::default();
    slowpath_p4::xdp::to_c(&program, &checked, &sources, options).map_err(shown).map(|made| made.c)
}
