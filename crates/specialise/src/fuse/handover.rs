//! Handover from one program to the next.

/// A rule: the program to run after another one has returned certain results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Number of the program that returned, in the list of programs.
    pub from: usize,
    /// Results that trigger the handover: the low 32 bits, which XDP uses.
    pub results: Vec<u32>,
    /// Number of the program that runs next.
    pub to: usize,
}
