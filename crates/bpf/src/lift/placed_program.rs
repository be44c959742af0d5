//! Relates the instruction numbers of a lifted program to the programs that were lifted together.

/// A program among those that were lifted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedProgram {
    /// Index in [`crate::Object::programs`].
    pub program: usize,
    /// Number of the program's first instruction in the lifted program.
    pub first: usize,
    /// The number of the first instruction and the name of each function of the program.
    pub functions: Vec<(usize, String)>,
}
