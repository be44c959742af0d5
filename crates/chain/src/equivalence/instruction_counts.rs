//! Compares how many instructions two programs execute for the same packets.

/// Maximum numbers of executed instructions, over all pairs of paths that the same packet may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    /// Maximum over the paths of the original.
    pub before: u64,
    /// Maximum over the paths of the specialised program.
    pub after: u64,
    /// Maximum, over the pairs, of the instructions that the specialised program executes in
    /// addition to those of the original; zero if there are none.
    pub slower: u64,
}

impl InstructionCounts {
    /// Includes the instructions of one pair of paths.
    pub(super) fn note(&mut self, before: u64, after: u64) {
        self.before = self.before.max(before);
        self.after = self.after.max(after);
        self.slower = self.slower.max(after.saturating_sub(before));
    }
}
