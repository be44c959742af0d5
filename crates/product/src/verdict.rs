//! Result of comparing two programs path by path, and the reasons why parts stay undecided.

use crate::queries::Answer;
use slowpath_smt::Model;

/// Maximum number of listed reasons.
const MAX_REASONS: usize = 20;

/// Result of comparing both programs on the packets of one path.
pub enum Equivalence {
    /// Both programs do the same.
    Proved,
    /// The solver cannot decide for all of these packets.
    Undecided,
    /// The programs differ on a packet; runs of both programs confirm it.
    Differs,
    /// The comparison was stopped early.
    Stopped,
}

/// Interprets the solver's answer to the question whether two programs can differ in `what`.
/// Returns `None` if they cannot differ. If they can, `confirm` runs both programs on the model,
/// and its result is returned.
///
/// # Errors
/// The reason why the question stays undecided: the solver does not decide, or the runs show no
/// difference.
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

/// Adds a reason, unless the list is full or already contains it.
pub fn add_reason(reasons: &mut Vec<String>, why: String) {
    if reasons.len() < MAX_REASONS && !reasons.contains(&why) {
        reasons.push(why);
    }
}
