//! Handover from one program to the next.

/// A handover: after one program has returned certain results, another program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Index of the program that returned, in the list of programs.
    pub from: usize,
    /// Results after which the other program runs: the low 32 bits, which XDP uses.
    pub results: Vec<u32>,
    /// Index of the program that runs next.
    pub to: usize,
}
