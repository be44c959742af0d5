//! Names of programs, devices and nodes.

/// What names consist of.
pub(crate) const NAME: &str = "letters, digits, `_`, `-` and `.`";

/// Whether a text is one: part of a file's name, whatever it is put together with.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}
