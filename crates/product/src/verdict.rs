//! What comparing two programs comes to, path by path, and what stays open.

use crate::queries::Answer;
use slowpath_smt::Model;

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

/// What the answer to the question means whether two programs can differ in something: not at all, or
/// in what both of them, run on the model, confirm.
///
/// # Errors
/// Why it stays open: the solver does not tell, or running them does not confirm it.
pub fn difference<C>(
    what: &str,
    answer: Answer,
    confirm: impl FnOnce(&Model) -> Result<C, String>,
) -> Result<Option<C>, String> {
    match answer {
        Answer::Unsat => Ok(None),
        Answer::Unknown(why) => {
            Err(format!("the solver cannot tell whether {what} differs: {why}"))
        }
        Answer::Sat(model) => confirm(&model)
            .map(Some)
            .map_err(|why| format!("the solver says that {what} differs, but {why}")),
    }
}

/// Adds why something could not be decided to sentences that say so, each of them once, unless there
/// are many already.
pub fn leave_open(reasons: &mut Vec<String>, why: String) {
    if reasons.len() < MAX_REASONS && !reasons.contains(&why) {
        reasons.push(why);
    }
}
