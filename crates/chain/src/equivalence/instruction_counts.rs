//! Numbers of instructions that two programs execute for the same packets.

/// Maximum numbers of executed instructions, over pairs of a path of the original and a path of the
/// specialised program that some packet may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    /// Maximum over the paths of the original.
    pub before: u64,
    /// Maximum over the paths of the specialised program.
    pub after: u64,
    /// Maximum number of instructions that the specialised program executes more than the original,
    /// in one pair; zero if it never executes more.
    pub slower: u64,
}

impl InstructionCounts {
    /// Adds a pair.
    pub(super) fn note(&mut self, before: u64, after: u64) {
        self.before = self.before.max(before);
        self.after = self.after.max(after);
        self.slower = self.slower.max(after.saturating_sub(before));
    }
}
