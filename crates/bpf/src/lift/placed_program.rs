//! Instruction numbers of programs that were lifted together.

/// A program among those that were lifted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedProgram {
    /// Index in [`crate::Object::programs`].
    pub program: usize,
    /// Number of the program's first instruction in the lifted program.
    pub first: usize,
    /// Functions of the program: number of the first instruction, and name.
    pub functions: Vec<(usize, String)>,
}
