//! Annotations that control planes know: names and priorities.

use crate::ast::{Annotation, Decl, Entry};

/// Returns the number in the annotation `@priority` of a table entry; `None` if it is missing or
/// not a number.
pub(crate) fn annotated_priority(entry: &Entry) -> Option<u32> {
    let annotation = entry.annotations.iter().find(|one| &*one.name.text == "priority")?;
    match &annotation.body[..] {
        [token] => token.text.parse().ok(),
        _ => None,
    }
}

/// Returns the control-plane name of a declaration (its `@name`, or else its P4 name), without the
/// names of the enclosing controls.
pub(crate) fn control_name(decl: &Decl) -> String {
    let name = name_of(&decl.annotations);
    name.as_deref().map_or(&*decl.name.text, |name| name.trim_start_matches('.')).to_owned()
}

/// Returns the string in the annotation `@name`; `None` without this annotation.
pub(crate) fn name_of(annotations: &[Annotation]) -> Option<String> {
    let annotation = annotations.iter().find(|one| &*one.name.text == "name")?;
    match &annotation.body[..] {
        [token] if token.kind == crate::token::TokenKind::Text => Some(token.text.to_string()),
        _ => None,
    }
}
