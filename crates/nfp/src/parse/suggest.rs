//! Finds the known word that is closest to an unknown one by edit distance, for "did you mean"
//! hints.

/// Returns a hint with the candidate that is most similar to `word`. Returns `None` if no candidate
/// is similar enough.
pub(super) fn suggest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let limit = (word.chars().count() / 3).min(3);
    let best = candidates
        .into_iter()
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min();
    best.map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// Returns the edit distance: the minimum number of insertions, deletions and replacements that
/// turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_words_are_suggested_and_distant_ones_are_not() {
        let words = ["immed", "immed_w1", "alu", "alu_shf"];
        assert_eq!(suggest("imed", words).as_deref(), Some("did you mean `immed`?"));
        assert_eq!(suggest("ALU", words).as_deref(), Some("did you mean `alu`?"));
        assert_eq!(suggest("branch", words), None);
    }

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("alu", "alu"), 0);
    }
}
