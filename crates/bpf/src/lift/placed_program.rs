//! Describes the programs that were lifted together, with their instruction numbers in the lifted
//! program.

/// One of the programs that are lifted together, with its instruction numbers in the lifted
/// program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedProgram {
    /// Index of the program in [`crate::Object::programs`].
    pub program: usize,
    /// Number of the program's first instruction in the lifted program.
    pub first: usize,
    /// Functions of the program: for each, the number of its first instruction in the lifted
    /// program, and its name.
    pub functions: Vec<(usize, String)>,
}
