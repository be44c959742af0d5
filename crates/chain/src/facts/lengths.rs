//! Finds the minimum and maximum length of the packets that leave a program, by bisection: each
//! step proves a bound or finds a packet.

use super::error::FactsError;
use super::proof::{Example, Proof};
use super::samples::Sampler;
use slowpath_smt::Model;

/// Finds the minimum and maximum length in bytes of the packets that leave a program. The search
/// starts with the bounds `known` and the sample packets `found`. It adds the shortest and the
/// longest packet to `found`. If the solver cannot decide, the bounds are less exact.
pub(super) fn find(
    proof: &mut Proof,
    sampler: &Sampler,
    known: (u16, u16),
    found: &mut Vec<Model>,
) -> Result<(u16, u16), FactsError> {
    let (hint_least, hint_greatest) = hints(proof);
    let length = proof.packet.length;
    let (mut least, mut greatest) = known;
    let (mut shortest, mut longest) = (greatest, least);
    for model in found.iter() {
        let length = short(proof.value(sampler, length, model));
        (shortest, longest) = (shortest.min(length), longest.max(length));
    }
    // First tries the bounds that follow from the conditions of all paths, then those that were
    // known before. Mostly, they are exact.
    let mut guesses = vec![least, hint_least.saturating_sub(1).clamp(least, shortest)];
    let mut last = None;
    while least < shortest {
        let middle = guesses.pop().unwrap_or(least + (shortest - least) / 2);
        let middle = middle.clamp(least, shortest - 1);
        let longer = proof.packet.longer(&mut proof.unrolled.executor.pool, middle);
        let at_most = proof.unrolled.executor.pool.not(longer);
        match proof.example(sampler, length, at_most)? {
            Example::Of(length, model) => {
                (shortest, last) = (short(length).min(shortest), Some(model));
            }
            Example::None => {
                least = middle + 1;
                if guesses.len() == 1 {
                    guesses = vec![least];
                }
            }
            Example::Unknown => break,
        }
    }
    found.extend(last.take());
    let mut guesses = vec![greatest, hint_greatest.saturating_add(1).clamp(longest, greatest)];
    while longest < greatest {
        let middle = guesses.pop().unwrap_or(greatest - (greatest - longest) / 2);
        let middle = middle.clamp(longest + 1, greatest);
        let shorter = proof.packet.shorter(&mut proof.unrolled.executor.pool, middle);
        let at_least = proof.unrolled.executor.pool.not(shorter);
        match proof.example(sampler, length, at_least)? {
            Example::Of(length, model) => {
                (longest, last) = (short(length).max(longest), Some(model));
            }
            Example::None => {
                greatest = middle - 1;
                if guesses.len() == 1 {
                    guesses = vec![greatest];
                }
            }
            Example::Unknown => break,
        }
    }
    found.extend(last);
    Ok((least, greatest))
}

/// Converts a packet length to 16 bits. A length that does not fit becomes the maximum.
fn short(length: u64) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// Guesses the minimum and maximum length of the packets that leave a program, as a starting point
/// for the search. The guess is the range of received lengths on all paths, plus the number of
/// bytes that the program adds.
fn hints(proof: &mut Proof) -> (u16, u16) {
    let executor = &mut proof.unrolled.executor;
    let Some(received) = executor.packet_length() else { return (0, u16::MAX) };
    let low = executor.pool.extract(received, 0, 32);
    let grown = executor.pool.sub(proof.departure.length, low);
    let grown = executor.pool.as_const(grown).unwrap_or(0) as u32;
    let domain = proof.departure.gated.state.facts().domain(&executor.pool, received);
    let moved = |length: u64| short((length as u32).wrapping_add(grown).into());
    (moved(domain.lo()), moved(domain.hi()))
}
