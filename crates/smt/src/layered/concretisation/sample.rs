//! Generates pseudo-random values from a fixed sequence, and evaluates conditions with given
//! values.

use crate::domain::{Domain, mask};
use crate::eval::Evaluator;
use crate::model::{Model, mix};
use crate::pool::{FastMap, TermPool};
use crate::term::TermId;

/// Returns true if all conditions in `terms` hold when their inputs have these values.
pub(super) fn hold(pool: &TermPool, terms: &[TermId], values: &FastMap<TermId, u64>) -> bool {
    let nothing = Model::new();
    let known = values.iter().map(|(&input, &value)| (input, value));
    let mut evaluator = Evaluator::with_values(pool, &nothing, known);
    terms.iter().all(|&term| evaluator.value(term) == 1)
}

/// Returns a pseudo-random member of a domain. It depends only on the domain, the input and the
/// sample number. Some samples prefer the smallest member, because sizes and divisors tend to be
/// small.
pub(super) fn random(domain: Domain, input: TermId, sample: u64) -> u64 {
    let seed = mix(mix(sample + 1) ^ input.index() as u64);
    if seed >> 62 < sample % 4 {
        return domain.lo();
    }
    let size = (domain.hi() - domain.lo()).saturating_add(1);
    let value = domain.lo() + (seed >> 1) % size;
    let value = (value & !domain.zeros() | domain.ones()) & mask(domain.width());
    if domain.contains(value) { value } else { domain.lo() }
}
