//! Searches for a model close to a given model. For each violated condition, the search computes
//! backwards from the required value to an input that can produce it, and changes this input.
//!
//! After Niemetz, Preiner and Biere, "Propagation based local search for bit-precise reasoning"
//! (FMSD 2017), but deterministic and with few rounds. The search suits models that violate few
//! conditions and usually need one or two changes. It cannot prove that no model exists.

mod descent;
mod input;
mod network;
#[cfg(test)]
mod tests;

use crate::domain::Domain;
use crate::model::Model;
use crate::pool::TermPool;
use crate::term::TermId;
use descent::Descent;
use network::Network;
use std::collections::BTreeSet;

/// Minimum number of rounds of the search, even if few conditions are violated.
const FEW_ROUNDS: usize = 16;

/// Tries to find a model of all `conditions` (1-bit terms) by changing few values of `start`. The
/// result assigns each input of the conditions. `domain` returns a set that contains the permitted
/// values of an unknown or a byte of an array. For inputs without a value in this set, the search
/// begins with the smallest member.
///
/// Returns `None` if no model is found within the number of rounds, or if the pool's stop condition
/// holds. The running time is linear in the size of the conditions. Each change also takes time
/// linear in the number of terms that depend on the changed input. The search first evaluates the
/// conditions from the last to the first, until one is violated. If it cannot satisfy this
/// condition, it ends without evaluating the earlier ones.
pub fn nearby_model(
    pool: &TermPool,
    start: &Model,
    conditions: &[TermId],
    domain: &dyn Fn(TermId) -> Domain,
) -> Option<Model> {
    if pool.stop().reason().is_some() {
        return None;
    }
    let mut network = Network::new(pool, start, domain);
    let changes = |network: &Network<'_>, condition, round| {
        (0..2).find_map(|other| {
            Descent { pool, domain, network, attempt: round + other }.descend(condition)
        })
    };
    // The last violated condition is the latest one on the path. Most searches fail at it.
    if let Some(&last) =
        conditions.iter().rev().find(|&&condition| network.evaluate(condition) != 1)
    {
        changes(&network, last, 0)?;
    }
    for &condition in conditions {
        network.evaluate(condition);
    }
    let holds = |network: &Network<'_>, at: usize| network.value_of(conditions[at]) == Some(1);
    let mut violated: BTreeSet<usize> =
        (0..conditions.len()).filter(|&at| !holds(&network, at)).collect();
    let mut positions: Vec<(TermId, usize)> = conditions.iter().copied().zip(0..).collect();
    positions.sort_unstable();
    let rounds = FEW_ROUNDS + 2 * violated.len();
    for round in 0..rounds {
        if pool.stop().reason().is_some() {
            return None;
        }
        let Some(&worst) = violated.last() else { return Some(network.into_model()) };
        for (input, value) in changes(&network, conditions[worst], round)? {
            for changed in network.change(input, value) {
                let first = positions.partition_point(|&(term, _)| term < changed);
                let same = positions[first..].iter().take_while(|&&(term, _)| term == changed);
                for &(_, condition) in same {
                    if holds(&network, condition) {
                        violated.remove(&condition);
                    } else {
                        violated.insert(condition);
                    }
                }
            }
        }
    }
    None
}
