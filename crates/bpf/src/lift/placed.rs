//! Where the instructions of programs are that were lifted together.

/// A program of an object, among those that were lifted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its number in [`crate::Object::programs`].
    pub program: usize,
    /// The number of its first instruction.
    pub first: usize,
    /// Its functions: the number of the first instruction of each, and its name.
    pub functions: Vec<(usize, String)>,
}
