//! Result of comparing two programs path by path, and the reasons why parts stay undecided.

use crate::queries::Answer;
use slowpath_smt::Model;

/// Maximum number of reasons that are kept.
const MAX_REASONS: usize = 20;

/// Result of a comparison for the packets of one path.
pub enum Equivalence {
    /// Both programs do the same.
    Proved,
    /// Not known for all of these packets.
    Undecided,
    /// The programs differ for a packet, on which both have been run.
    Differs,
    /// The comparison was stopped early.
    Stopped,
}

/// Interprets the answer to the question whether two programs can differ in `what`. Returns `None`
/// if they cannot, or the difference that running both programs on the model confirms.
///
/// # Errors
/// The reason why it stays undecided: the solver does not decide, or the runs do not confirm it.
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

/// Adds the reason why something stays undecided, unless it is there already or there are too many.
pub fn add_reason(reasons: &mut Vec<String>, why: String) {
    if reasons.len() < MAX_REASONS && !reasons.contains(&why) {
        reasons.push(why);
    }
}
