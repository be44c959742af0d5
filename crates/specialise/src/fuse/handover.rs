//! Defines handovers: rules by which another program runs on the same packet after a program has
//! returned.

/// A handover: after one program has returned certain values, another program runs on the same
/// packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Index of the program that runs first, in the list of programs.
    pub from: usize,
    /// Return values of that program (low 32 bits) after which the other program runs.
    pub results: Vec<u32>,
    /// Index of the program that runs next, in the list of programs.
    pub to: usize,
}
