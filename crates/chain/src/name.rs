//! Names of programs, devices and nodes.

/// What names consist of.
pub(crate) const NAME: &str = "letters, digits, `_`, `-` and `.`, 100 at most";

/// Longest name: of two and an ending there can be a file (`NAME_MAX` of Linux is 255).
const LONGEST: usize = 100;

/// Whether a text is one: part of a file's name, whatever it is put together with.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}
