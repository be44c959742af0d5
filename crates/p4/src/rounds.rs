//! Further rounds of a packet through a program: resubmission and recirculation.

use crate::ast::Annotation;
use crate::token::Sources;

/// Largest number of rounds of a packet, the first one included. The translations drop a packet that
/// asks for one more.
pub(crate) const MOST_ROUNDS: u32 = 5;

/// Words of programs that resubmit packets, by package.
const RESUBMITS: [(&str, &str); 2] =
    [("V1Switch", "resubmit_preserving_field_list"), ("PSA_Switch", ".resubmit")];
/// Words of programs that recirculate packets, by package.
const RECIRCULATES: [(&str, &str); 2] =
    [("V1Switch", "recirculate_preserving_field_list"), ("PSA_Switch", "PSA_PORT_RECIRCULATE")];

/// Returns true if the program names one of these words.
pub(crate) fn mentions(sources: &Sources, words: &[&str]) -> bool {
    let files = sources.files.iter().filter(|file| !file.is_standard);
    files.into_iter().any(|file| words.iter().any(|word| file.text.contains(word)))
}

fn names_word(sources: &Sources, package: &str, words: &[(&str, &str)]) -> bool {
    words.iter().any(|(of, word)| *of == package && mentions(sources, &[*word]))
}

/// Returns true if a program with this package may resubmit packets.
pub(crate) fn resubmits(sources: &Sources, package: &str) -> bool {
    names_word(sources, package, &RESUBMITS)
}

/// Returns true if a program with this package may recirculate packets.
pub(crate) fn recirculates(sources: &Sources, package: &str) -> bool {
    names_word(sources, package, &RECIRCULATES)
}

/// Returns the lists that an annotation `@field_list` gives for a field.
pub(crate) fn field_lists(annotations: &[Annotation]) -> Vec<u32> {
    let marked = annotations.iter().filter(|one| &*one.name.text == "field_list");
    marked.flat_map(|one| &one.body).filter_map(|token| token.text.parse().ok()).collect()
}
