//! Names of programs, devices and nodes.

/// Form of valid names, for messages.
pub(crate) const NAME: &str = "letters, digits, `_`, `-` and `.`, 100 at most";

/// Maximum length of a name: a file name may consist of two names and an extension (`NAME_MAX` of
/// Linux is 255).
const LONGEST: usize = 100;

/// Returns true if a text is a valid name. Valid names can be parts of file names.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}
