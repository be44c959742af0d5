//! Checks the names that users give to programs, devices and nodes in descriptions of chains and
//! topologies.

/// Description of valid names, for error messages.
pub(crate) const NAME: &str = "letters, digits, `_`, `-` and `.`, 100 at most";

/// Maximum length of a name in bytes. File names (up to 255 bytes in Linux) contain two names and
/// an extension.
const LONGEST: usize = 100;

/// Returns true if a text is a valid name, which can be part of a file name.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}
