//! Finds out if packets can pass through a program several times (in several rounds), by
//! resubmission or recirculation.

use crate::ast::Annotation;
use crate::check::Type;
use crate::lexer::{Kind, Lexer, Names};
use crate::token::{SourceFile, Sources};

/// Largest number of rounds of a packet through the program, including the first. Translated
/// programs drop a packet that would need another round.
pub(crate) const MOST_ROUNDS: u32 = 5;

/// For each package, a sequence of tokens that every program contains if it resubmits packets.
const RESUBMITS: [(&str, &[&str]); 2] =
    [("V1Switch", &["resubmit_preserving_field_list"]), ("PSA_Switch", &[".", "resubmit"])];
/// For each package, a sequence of tokens that every program contains if it recirculates packets.
const RECIRCULATES: [(&str, &[&str]); 2] = [
    ("V1Switch", &["recirculate_preserving_field_list"]),
    ("PSA_Switch", &["PSA_PORT_RECIRCULATE"]),
];

/// Returns true if a source file, other than the standard headers, contains one of these words.
pub(crate) fn mentions(sources: &Sources, words: &[&str]) -> bool {
    let files = sources.files.iter().filter(|file| !file.is_standard);
    files.into_iter().any(|file| words.iter().any(|word| file.text.contains(word)))
}

/// Returns true if a file contains these tokens consecutively. Comments and strings do not count.
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

/// Returns the numbers in the annotation `@field_list` of a field, together with those of the
/// enclosing struct, `outer`.
pub(crate) fn field_lists(annotations: &[Annotation], outer: &[u32]) -> Vec<u32> {
    let marked = annotations.iter().filter(|one| &*one.name.text == "field_list");
    let own = marked.flat_map(|one| &one.body).filter_map(|token| token.text.parse().ok());
    own.chain(outer.iter().copied()).collect()
}

/// Returns true if a field of the struct, at any depth, has an annotation `@field_list`. `fields`
/// returns the types and annotations of the fields of a struct.
pub(crate) fn has_lists<'a>(
    ty: &Type,
    fields: &impl Fn(&Type) -> Vec<(Type, &'a [Annotation])>,
) -> bool {
    fields(ty)
        .iter()
        .any(|(of, annotations)| !field_lists(annotations, &[]).is_empty() || has_lists(of, fields))
}
