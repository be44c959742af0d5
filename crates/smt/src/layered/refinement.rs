//! Abstraction refinement over the set of conditions (after Clarke et al., "Counterexample-guided
//! abstraction refinement", CAV 2000): of many conditions on few inputs, a few are asked for at a
//! time, and only what a model violates is added. Most follow from, or happen to hold with, a part.
//!
//! Conditions on many inputs are asked for at once: a part of them can be harder than the whole,
//! because what fixes the lengths and offsets that all others depend on is missing.

use super::budget::Budget;
use super::engine::Engine;
use super::inputs::{Inputs, complete};
use super::session::{Session, violated};
use crate::error::SolverError;
use crate::model::Model;
use crate::pool::TermPool;
use crate::solver::Outcome;
use crate::term::TermId;

/// Conditions asked for at first.
const FIRST: usize = 32;
/// Conditions per input from which on not all are asked for at once.
const MANY: usize = 4;

/// What a session makes of conditions.
pub(super) enum Answer {
    /// Values for all their inputs, and the positions of the conditions that do not hold with these
    /// because of terms that are opaque to the session.
    Candidate(Model, Vec<usize>),
    /// These positions cannot hold together.
    Unsat(Vec<usize>),
    /// Not decided, and why.
    Unknown(String),
}

/// Asks `session` for all of `terms`, none of them constant.
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
                // Only behind opaque terms can there be numbers that the engine did not choose.
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

/// Asks for up to `count` of the conditions at `positions`, spread evenly, the last included.
fn add(asked: &mut [bool], positions: &[usize], count: usize) {
    let count = count.min(positions.len());
    for n in 1..=count {
        asked[positions[n * positions.len() / count - 1]] = true;
    }
}
