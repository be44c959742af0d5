//! Names of programs, devices and nodes.

/// Form of names, for messages.
pub(crate) const NAME: &str = "letters, digits, `_`, `-` and `.`, 100 at most";

/// Maximum length: a file name can have two names and an extension (`NAME_MAX` of Linux is 255).
const LONGEST: usize = 100;

/// Returns true if a text is a name, which can be part of any file name.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}
