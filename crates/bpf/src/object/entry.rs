//! Programs of an object before they are linked.

use super::kind::ProgramKind;

/// A program that an object contains, before it is linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramEntry {
    /// Name of its entry function.
    pub name: String,
    /// Name of its section.
    pub section: String,
    /// Its type.
    pub kind: ProgramKind,
    pub(crate) function: usize,
}
