//! A handover, after which another program runs on the same packet.

/// A handover: after one program has returned certain results, another program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Index in the list of programs of the program that runs first.
    pub from: usize,
    /// Results of that program (low 32 bits) after which the other program runs.
    pub results: Vec<u32>,
    /// Index in the list of programs of the program that runs next.
    pub to: usize,
}
