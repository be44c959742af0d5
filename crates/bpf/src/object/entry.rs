//! Describes the programs of an object before they are linked.

use super::kind::ProgramKind;

/// A program of an object, before linking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramEntry {
    /// Name of the entry function.
    pub name: String,
    /// Name of the section.
    pub section: String,
    /// Program type.
    pub kind: ProgramKind,
    pub(crate) function: usize,
}
