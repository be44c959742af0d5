//! Compares how many instructions two programs execute for the same packets.

/// Maximum numbers of instructions that two programs execute. Each maximum is taken over all pairs
/// of paths (one path of each program) that the same packet may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    /// Maximum number of instructions that the original program executes.
    pub before: u64,
    /// Maximum number of instructions that the specialised program executes.
    pub after: u64,
    /// Maximum number of instructions that the specialised program executes in addition to the
    /// original, for the same packet. Zero if it never executes more.
    pub slower: u64,
}

impl InstructionCounts {
    /// Raises the maxima if a pair of paths exceeds them. The path of the original executes
    /// `before` instructions, and the path of the specialised program `after`.
    pub(super) fn note(&mut self, before: u64, after: u64) {
        self.before = self.before.max(before);
        self.after = self.after.max(after);
        self.slower = self.slower.max(after.saturating_sub(before));
    }
}
