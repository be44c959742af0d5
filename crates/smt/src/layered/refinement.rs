//! Checks large sets of conditions step by step (after Clarke et al., "Counterexample-guided
//! abstraction refinement", CAV 2000). If there are many conditions on few inputs, a check starts
//! with some of the conditions, and adds only conditions that a model violates. Most conditions
//! follow from a few others, or hold by chance.
//!
//! Conditions on many inputs are checked all at once. A subset of them can be harder than all of
//! them, because it may lack the conditions that determine lengths and offsets.

use super::budget::Budget;
use super::engine::Engine;
use super::inputs::{Inputs, complete};
use super::session::{Session, violated};
use crate::error::SolverError;
use crate::model::Model;
use crate::pool::TermPool;
use crate::solver::Outcome;
use crate::term::TermId;

/// Number of conditions in the first check, if the check starts with some of the conditions and
/// adds more step by step.
const FIRST: usize = 32;
/// Minimum ratio of conditions to inputs at which conditions are added step by step rather than all
/// at once.
const MANY: usize = 4;

/// Answer of a session to a set of conditions.
pub(super) enum Answer {
    /// Values for all inputs, and the indices of the conditions that are false with these values.
    /// These conditions contain opaque terms (such as hashes), which the session treats as
    /// unknowns.
    Candidate(Model, Vec<usize>),
    /// The conditions at these indices cannot hold together.
    Unsat(Vec<usize>),
    /// The conditions were not decided, for this reason.
    Unknown(String),
}

/// Decides with the engine of `session` whether all conditions in `terms` can hold; none of them is
/// constant.
pub(super) fn satisfy<E: Engine>(
    session: &mut Session<E>,
    inputs: &mut Inputs,
    pool: &TermPool,
    terms: &[TermId],
    budget: &Budget,
) -> Result<Answer, SolverError> {
    let all = inputs.all(pool, terms);
    let at_once = terms.len() < (2 * FIRST).max(MANY * all.len());
    let mut asked = vec![at_once; terms.len()];
    add(&mut asked, &(0..terms.len()).collect::<Vec<_>>(), FIRST);
    loop {
        let chosen: Vec<usize> = (0..terms.len()).filter(|&n| asked[n]).collect();
        let part: Vec<TermId> = chosen.iter().map(|&n| terms[n]).collect();
        let model = match session.check(pool, &part, budget)? {
            Outcome::Unsat(core) => {
                return Ok(Answer::Unsat(core.iter().map(|&position| chosen[position]).collect()));
            }
            Outcome::Unknown(why) => return Ok(Answer::Unknown(why)),
            Outcome::Sat(model) => model,
        };
        let Some(full) = complete(pool, &model, &all) else {
            if chosen.len() == terms.len() {
                // Numbers can conflict only inside opaque terms, because the engine did not choose
                // the numbers there.
                return Ok(Answer::Candidate(model, (0..terms.len()).collect()));
            }
            asked.fill(true);
            continue;
        };
        let wrong = violated(pool, &full, terms);
        let missing: Vec<usize> = wrong.iter().copied().filter(|&n| !asked[n]).collect();
        if missing.is_empty() {
            return Ok(Answer::Candidate(full, wrong));
        }
        add(&mut asked, &missing, chosen.len().max(FIRST));
    }
}

/// Marks up to `count` of the conditions with the indices in `positions` as part of the next check
/// (`asked`). The marked conditions are evenly spread and include the last one.
fn add(asked: &mut [bool], positions: &[usize], count: usize) {
    let count = count.min(positions.len());
    for n in 1..=count {
        asked[positions[n * positions.len() / count - 1]] = true;
    }
}
