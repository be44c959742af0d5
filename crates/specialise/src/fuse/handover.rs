//! Which program runs behind which.

/// What is done when a program has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The program that returned, by its number in the list.
    pub from: usize,
    /// The results, as XDP sees them: the low 32 bits.
    pub results: Vec<u32>,
    /// The program that runs then.
    pub to: usize,
}
