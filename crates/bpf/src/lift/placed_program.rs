//! Position of the instructions of programs that were lifted together.

/// A program among those that were lifted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedProgram {
    /// Index in [`crate::Object::programs`].
    pub program: usize,
    /// Number of its first instruction.
    pub first: usize,
    /// Functions of the program: number of the first instruction, and name.
    pub functions: Vec<(usize, String)>,
}
