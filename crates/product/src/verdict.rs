//! What comparing two programs comes to, path by path, and what stays open.

/// Most sentences about what could not be decided.
const MAX_REASONS: usize = 20;

/// Whether two programs do the same for the packets of a path.
pub enum Equivalence {
    /// They do.
    Proved,
    /// That is not known of all these packets.
    Undecided,
    /// They do not, for a packet that both have been run on.
    Differs,
    /// There was no time left to tell.
    Stopped,
}

/// Adds why something could not be decided to sentences that say so, each of them once, unless there
/// are many already.
pub fn leave_open(reasons: &mut Vec<String>, why: String) {
    if reasons.len() < MAX_REASONS && !reasons.contains(&why) {
        reasons.push(why);
    }
}
