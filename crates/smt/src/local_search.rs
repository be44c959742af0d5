//! A model near another one: what is violated is mended by computing backwards from the wanted value
//! to an input that can give it, and changing that.
//!
//! After Niemetz, Preiner and Biere, "Propagation based local search for bit-precise reasoning"
//! (FMSD 2017), without randomness and with few rounds: it is for conditions that a model of all but
//! a few of them meets, more often than not, after a change or two. It never shows that there is no
//! model.

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

/// Rounds that are worth it however few conditions are violated.
const FEW_ROUNDS: usize = 16;

/// A model of all `conditions` (1-bit terms), each input of which it assigns, that differs little from `start`. `domain` says which
/// values an unknown or a byte of an array may have, or more of them; what `start` does not assign,
/// or not so, begins with the least of these.
///
/// None either when the pool's stop says so. The work is linear in the size of the conditions, and for every condition to be mended in the
/// size of what depends on the input that is changed.
pub fn nearby_model(
    pool: &TermPool,
    start: &Model,
    conditions: &[TermId],
    domain: &dyn Fn(TermId) -> Domain,
) -> Option<Model> {
    let mut network = Network::new(pool, start, conditions);
    for position in 0..network.len() {
        let term = network.term(position);
        let Some(input) = network.input(position) else { continue };
        let (allowed, now) = (domain(term), network.value(position));
        let free = allowed.lo() != 0 && !input.is_assigned(network.model());
        if free || !allowed.contains(now) {
            network.change(input, allowed.lo());
        }
    }
    let mut violated: BTreeSet<usize> =
        (0..conditions.len()).filter(|&at| network.value_of(conditions[at]) != Some(1)).collect();
    network.forget_changes();
    let rounds = FEW_ROUNDS + 2 * violated.len();
    for round in 0..rounds {
        if pool.stop().reason().is_some() {
            return None;
        }
        // Conditions late on a path are the ones that have just been added.
        let Some(&worst) = violated.last() else { return Some(network.into_model()) };
        let changes = (0..2).find_map(|other| {
            Descent { pool, domain, network: &network, first: round + other }
                .descend(conditions[worst])
        });
        for (input, value) in changes? {
            network.change(input, value);
        }
        for condition in network.changed_conditions() {
            if network.value_of(conditions[condition]) == Some(1) {
                violated.remove(&condition);
            } else {
                violated.insert(condition);
            }
        }
    }
    None
}
