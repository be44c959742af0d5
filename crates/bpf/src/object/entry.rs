//! Describes the programs of an object before they are linked.

use super::kind::ProgramKind;

/// A program of a BPF object, as described by the object file before linking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramEntry {
    /// Name of the entry function.
    pub name: String,
    /// Name of the section that contains the entry function.
    pub section: String,
    /// Type of the program, guessed from names and types.
    pub kind: ProgramKind,
    pub(crate) function: usize,
}
