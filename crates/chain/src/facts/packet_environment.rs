//! Finds the ranges of the headroom and metadata length of the packets that leave a program. Both
//! follow from the distance by which the program has moved the packet's start, and from the
//! metadata length in its state. Each query finds a packet outside the range seen so far, or shows
//! that there is no such packet.

use super::error::FactsError;
use super::proof::{Answer, Example, Proof};
use super::samples::Sampler;
use slowpath_bpf::lift::{MAX_METADATA, PacketEnvironment, Receive, TailRoom};
use slowpath_smt::{Model, TermId};

/// Maximum distance by which a program can move the start of a packet, in bytes.
const FAR: u64 = 1 << 17;
/// Number of first queries that ask for any value beyond those seen so far. Each later query halves
/// the remaining range.
const STEPS: u32 = 4;

/// Finds the headroom and metadata length of the packets that leave a program. `arrived` contains
/// the headroom and metadata of arriving packets. No packet that leaves is shorter than `least`
/// bytes. A range that is not found in time is unlimited.
///
/// The headroom is the headroom on arrival minus the distance by which the start has moved. The two
/// ranges are combined as if they were independent of each other.
pub(super) fn find(
    proof: &mut Proof,
    sampler: &Sampler,
    (arrived, least): (Receive, u16),
    found: &[Model],
) -> Result<PacketEnvironment, FactsError> {
    let pool = &mut proof.unrolled.executor.pool;
    let far = pool.constant(64, FAR);
    // With this offset, the sum is not negative.
    let moved = pool.add(proof.departure.start, far);
    let metadata = proof.departure.metadata;
    let mut left = PacketEnvironment::ANY;
    if let Some((inwards, outwards)) = range(proof, sampler, moved, (2 * FAR, found))? {
        let number = |room: u16, moved: u64| (u64::from(room) + moved).saturating_sub(FAR);
        let (low, high) = arrived.head;
        let most = match arrived.tail {
            // Packet and headroom share a buffer; longer packets set no limit.
            TailRoom::Buffer(bytes) => bytes.checked_sub(least).map_or(u64::MAX, u64::from),
            TailRoom::Bytes(..) | TailRoom::TrimOnly => u64::MAX,
        };
        let high = number(high, outwards).min(most);
        let low = number(low, inwards).min(high);
        let short = |bytes: u64| u16::try_from(bytes).unwrap_or(u16::MAX);
        left.head_room = (short(low), short(high));
    }
    let longest = MAX_METADATA.into();
    if let Some((low, high)) = range(proof, sampler, metadata, (longest, found))? {
        left.metadata = (low as u16, high as u16);
    }
    Ok(left)
}

/// Returns the minimum and maximum value of a term over the packets that leave a program. Returns
/// `None` unless the solver proves that no value is greater than `most`.
fn range(
    proof: &mut Proof,
    sampler: &Sampler,
    term: TermId,
    (most, found): (u64, &[Model]),
) -> Result<Option<(u64, u64)>, FactsError> {
    let pool = &mut proof.unrolled.executor.pool;
    if let Some(value) = pool.as_const(term) {
        return Ok((value <= most).then_some((value, value)));
    }
    let domain = pool.domain(term);
    if domain.hi() > most {
        let limit = pool.constant(pool.width(term), most);
        let above = pool.ult(limit, term);
        if !matches!(proof.ask(&[above])?, Answer::Unsat(_)) {
            return Ok(None);
        }
    }
    let seen: Vec<u64> = found.iter().map(|model| proof.value(sampler, term, model)).collect();
    let (least, greatest) = (domain.lo().min(most), domain.hi().min(most));
    let lowest = seen.iter().copied().min().unwrap_or(greatest).clamp(least, greatest);
    let highest = seen.iter().copied().max().unwrap_or(least).clamp(least, greatest);
    // Finds the lower end, then the upper end as the lower end of `most - value`.
    let mut low = LowerEnd { proved: least, seen: lowest };
    low.narrow(|below| {
        let pool = &mut proof.unrolled.executor.pool;
        let limit = pool.constant(pool.width(term), below);
        let at_most = pool.ule(term, limit);
        proof.example(sampler, term, at_most)
    })?;
    let mut high = LowerEnd { proved: most - greatest, seen: most - highest };
    high.narrow(|below| {
        let pool = &mut proof.unrolled.executor.pool;
        let limit = pool.constant(pool.width(term), most - below);
        let at_least = pool.ule(limit, term);
        Ok(match proof.example(sampler, term, at_least)? {
            Example::Of(value, model) => Example::Of(most - value.min(most), model),
            other => other,
        })
    })?;
    Ok(Some((low.proved, most - high.proved)))
}

/// The search for the minimum of a value over all packets that leave a program.
struct LowerEnd {
    /// Proved lower bound: no packet has a lower value.
    proved: u64,
    /// Lowest value among the packets that were found so far.
    seen: u64,
}

impl LowerEnd {
    /// Returns the limit of the next query, in which the solver searches for a packet with at most
    /// this value. Returns `None` if the minimum is found.
    fn guess(&self, step: u32) -> Option<u64> {
        let below = (self.proved < self.seen).then_some(self.seen.wrapping_sub(1))?;
        Some(if step < STEPS { below } else { self.proved + (below - self.proved) / 2 })
    }

    /// Asks the solver for packets with ever lower values, until the minimum is found or the solver
    /// cannot decide.
    fn narrow(
        &mut self,
        mut example: impl FnMut(u64) -> Result<Example, FactsError>,
    ) -> Result<(), FactsError> {
        for step in 0.. {
            let Some(below) = self.guess(step) else { break };
            match example(below)? {
                Example::Of(value, _) => self.seen = value.clamp(self.proved, below),
                Example::None => self.proved = below + 1,
                Example::Unknown => break,
            }
        }
        Ok(())
    }
}
