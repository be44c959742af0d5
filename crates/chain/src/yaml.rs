//! Reads YAML files that describe chains and topologies. Error messages state the expected text,
//! not the parser's complaint.

use crate::ChainError;
use serde::de::DeserializeOwned;
use serde_saphyr::{Error, Spanned};

/// A kind of YAML file, such as the description of a chain, for error messages.
pub(crate) struct Kind {
    /// Name of this kind of file, with an article.
    pub name: &'static str,
    /// Keys that exist only in the `other` kind of file. If one of them occurs, the user has
    /// probably confused both kinds.
    pub foreign: &'static [&'static str],
    /// Name of another kind of file with which users may confuse this kind, and the command that
    /// reads it.
    pub other: &'static str,
}

/// Reads a description of the given kind from YAML text.
pub(crate) fn read<T: DeserializeOwned>(text: &str, kind: &Kind) -> Result<T, ChainError> {
    serde_saphyr::from_str(text).map_err(|error| {
        let what = in_words(&error, kind);
        match error.location() {
            Some(place) => ChainError::at(place.line(), what),
            None => ChainError::Whole(what),
        }
    })
}

/// Returns the number of the line that contains a value.
pub(crate) fn line<T>(value: &Spanned<T>) -> u64 {
    value.referenced.line()
}

/// Returns a message for users about an error of the YAML parser, without the line number.
fn in_words(error: &Error, kind: &Kind) -> String {
    let Kind { name, foreign, other } = kind;
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => in_words(error, kind),
        Error::Eof { .. } => format!("is empty; {name} begins with `schema: 1`"),
        Error::MultipleDocuments { .. } => {
            format!("another document begins here, but a file contains only one: {name}")
        }
        Error::Unexpected { expected: "mapping start", .. } => {
            "keys are expected here, each with a value: `key: value`".to_owned()
        }
        Error::Unexpected { expected: "sequence start", .. } => {
            "a list is expected here: `[one, another]`".to_owned()
        }
        Error::Unexpected { expected: "string scalar", .. } => "a text is expected here".to_owned(),
        Error::NullIntoString { .. } => "a value is missing here".to_owned(),
        Error::InvalidScalar { ty, .. } => {
            number(ty).map_or_else(|| error_line(error), str::to_owned)
        }
        Error::SerdeInvalidLength { len, .. } => {
            format!("unexpected number of values: {len}")
        }
        Error::SerdeUnknownField { field, .. } if foreign.contains(&field.as_str()) => {
            format!("`{field}` belongs to {other}, but the file is read as {name}")
        }
        Error::SerdeUnknownField { field, expected, .. } => {
            // A key can be any text, even of several lines.
            let field = field.escape_debug();
            format!("unknown key `{field}`; choose one of {}", expected.join(", "))
        }
        Error::SerdeMissingField { field, .. } => format!("`{field}` is missing here"),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("`{}` is defined twice", key.escape_debug())
        }
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            format!("{name} is too large or too deeply nested here (with expanded aliases)")
        }
        other => error_line(other),
    }
}

/// Returns the message for a value that is not a number of the type named `of`, such as `u32`.
/// Returns `None` if `of` is not the name of a numeric type.
fn number(of: &str) -> Option<&'static str> {
    Some(match of {
        "u16" => "a number from 0 to 65535 is expected here",
        "u32" => "a number from 0 to 4294967295 is expected here",
        "floating point" => "a number is expected here",
        _ => return None,
    })
}

/// Returns the first line of the parser's message, without the position. The other lines only quote
/// the file.
fn error_line(error: &Error) -> String {
    let what = error.to_string();
    let what = what.lines().next().unwrap_or_default();
    let place = what.strip_prefix("error: line ").and_then(|rest| rest.split_once(": "));
    place.map_or(what, |(_, what)| what).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    const KIND: Kind = Kind { name: "a list", foreign: &["far"], other: "a map, which `ls` reads" };

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only whether it is read counts")]
    struct Shape {
        schema: u32,
        #[serde(default)]
        name: String,
        #[serde(default)]
        share: f64,
        #[serde(default)]
        pairs: Vec<(u16, u16)>,
        #[serde(default)]
        names: Vec<Vec<String>>,
    }

    fn said(text: &str) -> String {
        read::<Shape>(text, &KIND).expect_err(text).to_string()
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, expected) in [
            ("", "line 1: is empty; a list begins with `schema: 1`"),
            ("# only this\n", "line 2: is empty; a list begins with `schema: 1`"),
            ("- 1\n", "line 1: keys are expected here, each with a value: `key: value`"),
            ("--- ~\n", "line 1: keys are expected here, each with a value: `key: value`"),
            (
                "schema: 1\n---\nschema: 1\n",
                "another document begins here, but a file contains only one: a list",
            ),
            ("schema: 1\nschema: 1\n", "line 2: `schema` is defined twice"),
            (
                "schema: 1\n\"a\\nb\": 1\n",
                "line 2: unknown key `a\\nb`; choose one of schema, name, share, pairs, names",
            ),
            ("name: a\n", "line 1: `schema` is missing here"),
            ("schema: -1\n", "line 1: a number from 0 to 4294967295 is expected here"),
            ("schema: 1.0\n", "line 1: a number from 0 to 4294967295 is expected here"),
            ("schema: 1\nname:\n", "line 2: a value is missing here"),
            ("schema: 1\nname: [a]\n", "line 2: a text is expected here"),
            ("schema: 1\nshare: many\n", "line 2: a number is expected here"),
            ("schema: 1\npairs: 1\n", "line 2: a list is expected here: `[one, another]`"),
            (
                "schema: 1\npairs: [[0, 65536]]\n",
                "line 2: a number from 0 to 65535 is expected here",
            ),
            (
                "schema: 1\nnear: 1\n",
                "line 2: unknown key `near`; choose one of schema, name, share, pairs, names",
            ),
            (
                "schema: 1\nfar: 1\n",
                "line 2: `far` belongs to a map, which `ls` reads, but the file is read as a list",
            ),
        ] {
            let said = said(text);
            assert!(said.ends_with(expected), "{text:?}: {said}");
        }
    }

    #[test]
    fn nothing_grows_without_limit() {
        let many = format!("[{}]", vec!["x"; 1000].join(", "));
        let aliases = vec!["*a"; 20_000].join(", ");
        let wide = format!("schema: 1\nnames: [&a {many}, {aliases}]\n");
        let long = "y".repeat(1 << 20);
        let aliased = format!("schema: 1\nnames: [[&a {long}, {aliases}]]\n");
        let deep = format!("schema: 1\nnames: {}", "[".repeat(100_000));
        for text in [wide, aliased] {
            let said = said(&text);
            assert_eq!(
                said,
                "line 2: a list is too large or too deeply nested here (with expanded aliases)"
            );
        }
        assert!(said(&deep).starts_with("line 2: "));
    }
}
