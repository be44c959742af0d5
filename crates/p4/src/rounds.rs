//! Further rounds of a packet through a program: resubmission and recirculation.

use crate::ast::Annotation;
use crate::check::Type;
use crate::lexer::{Kind, Lexer, Names};
use crate::token::{SourceFile, Sources};

/// Largest number of rounds of a packet, the first one included. The translations drop a packet that
/// asks for one more.
pub(crate) const MOST_ROUNDS: u32 = 5;

/// Tokens of programs that resubmit packets, by package.
const RESUBMITS: [(&str, &[&str]); 2] =
    [("V1Switch", &["resubmit_preserving_field_list"]), ("PSA_Switch", &[".", "resubmit"])];
/// Tokens of programs that recirculate packets, by package.
const RECIRCULATES: [(&str, &[&str]); 2] = [
    ("V1Switch", &["recirculate_preserving_field_list"]),
    ("PSA_Switch", &["PSA_PORT_RECIRCULATE"]),
];

/// Returns true if the program names one of these words.
pub(crate) fn mentions(sources: &Sources, words: &[&str]) -> bool {
    let files = sources.files.iter().filter(|file| !file.is_standard);
    files.into_iter().any(|file| words.iter().any(|word| file.text.contains(word)))
}

/// Returns true if a file has these tokens in a row. Comments and strings do not count.
fn has_tokens(file: &SourceFile, wanted: &[&str]) -> bool {
    let (mut lexer, mut names) = (Lexer::new(0, file.text.clone()), Names::default());
    let mut found = 0;
    while found < wanted.len() {
        let lexeme = lexer.next(&mut names, false);
        if lexeme.kind == Kind::End {
            return false;
        }
        // Only the first token may start a row, since the wanted tokens are different.
        found = match lexeme.is(wanted[found]) {
            true => found + 1,
            false => usize::from(lexeme.is(wanted[0])),
        };
    }
    true
}

fn names_tokens(sources: &Sources, package: &str, tokens: &[(&str, &[&str])]) -> bool {
    let mut files = sources.files.iter().filter(|file| !file.is_standard);
    files.any(|file| tokens.iter().any(|(of, row)| *of == package && has_tokens(file, row)))
}

/// Returns true if a program with this package may resubmit packets.
pub(crate) fn resubmits(sources: &Sources, package: &str) -> bool {
    names_tokens(sources, package, &RESUBMITS)
}

/// Returns true if a program with this package may recirculate packets.
pub(crate) fn recirculates(sources: &Sources, package: &str) -> bool {
    names_tokens(sources, package, &RECIRCULATES)
}

/// Returns the lists that an annotation `@field_list` gives for a field, with those of the struct
/// around it.
pub(crate) fn field_lists(annotations: &[Annotation], outer: &[u32]) -> Vec<u32> {
    let marked = annotations.iter().filter(|one| &*one.name.text == "field_list");
    let own = marked.flat_map(|one| &one.body).filter_map(|token| token.text.parse().ok());
    own.chain(outer.iter().copied()).collect()
}

/// Returns true if fields of a struct have annotations `@field_list`, at any depth. `fields` returns
/// the fields of a struct: their types and annotations.
pub(crate) fn has_lists<'a>(
    ty: &Type,
    fields: &impl Fn(&Type) -> Vec<(Type, &'a [Annotation])>,
) -> bool {
    fields(ty)
        .iter()
        .any(|(of, annotations)| !field_lists(annotations, &[]).is_empty() || has_lists(of, fields))
}
