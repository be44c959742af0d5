//! The result of comparing two programs path by path, with the reasons why parts stay undecided.

use crate::queries::Answer;
use slowpath_smt::Model;

/// Maximum number of reasons that are listed.
const MAX_REASONS: usize = 20;

/// Result of comparing two programs for the packets that take one path.
pub enum Equivalence {
    /// Both programs provably have the same effects for all packets of the path.
    Proved,
    /// The solver could not decide for all packets of the path.
    Undecided,
    /// The programs differ for some packet; runs of both programs confirm it.
    Differs,
    /// The stop request ended the comparison before it was decided.
    Stopped,
}

/// Interprets the solver's answer to the question whether two programs can differ. `what` names the
/// part of the state that may differ. Returns `None` if the programs cannot differ. If they can,
/// calls `confirm`, which runs both programs with the values of the model, and returns its result.
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

/// Adds a reason to a list, unless the list is full or already contains the reason.
pub fn add_reason(reasons: &mut Vec<String>, why: String) {
    if reasons.len() < MAX_REASONS && !reasons.contains(&why) {
        reasons.push(why);
    }
}
