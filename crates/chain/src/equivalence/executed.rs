//! How many instructions two programs execute for the same packets.

/// Of pairs of a path of the original and one of the specialised program, each of which some packet
/// may take: in instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// The most of any path of the original.
    pub before: u64,
    /// The most of any path of the specialised program.
    pub after: u64,
    /// By how many the specialised program executes more, in the pair for which that is most; zero if
    /// it is more in none.
    pub slower: u64,
}

impl Executed {
    /// Notes a pair.
    pub(super) fn note(&mut self, before: u64, after: u64) {
        self.before = self.before.max(before);
        self.after = self.after.max(after);
        self.slower = self.slower.max(after.saturating_sub(before));
    }
}
