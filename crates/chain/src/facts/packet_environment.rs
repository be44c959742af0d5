//! Headroom and metadata of packets that leave: the distance by which the program has moved their
//! start, and the length of their metadata. Both ranges come from packets that leave, and are then
//! proved, as lengths are. Each query finds a packet outside the range seen so far, or shows that
//! there is none.

use super::error::FactsError;
use super::proof::{Answer, Example, Proof};
use super::samples::Sampler;
use slowpath_bpf::lift::{MAX_METADATA, PacketEnvironment, Receive, TailRoom};
use slowpath_smt::{Model, TermId};

/// Maximum distance by which the start of a packet moves, in bytes.
const FAR: u64 = 1 << 17;
/// Maximum number of queries for one end of a range before the range is halved.
const STEPS: u32 = 4;

/// Finds the headroom and metadata of packets that leave, if they arrived like `arrived` and none
/// that leaves is shorter than `least` bytes. Ranges that are not found in time are unlimited.
///
/// The headroom is the initial headroom less the distance by which the start moved. The two ranges
/// are combined as if they were independent, regardless of the values of single packets.
pub(super) fn find(
    proof: &mut Proof,
    sampler: &Sampler,
    (arrived, least): (Receive, u16),
    found: &[Model],
) -> Result<PacketEnvironment, FactsError> {
    let pool = &mut proof.unrolled.executor.pool;
    let far = pool.constant(64, FAR);
    // The sum is not negative.
    let moved = pool.add(proof.departure.start, far);
    let metadata = proof.departure.metadata;
    let mut left = PacketEnvironment::ANY;
    if let Some((inwards, outwards)) = range(proof, sampler, moved, (2 * FAR, found))? {
        let number = |room: u16, moved: u64| (u64::from(room) + moved).saturating_sub(FAR);
        let (low, high) = arrived.head;
        let most = match arrived.tail {
            // Packet and headroom share a buffer; a packet longer than the buffer sets no limit.
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

/// Returns the minimum and maximum of a term if no value exceeds `most`; `None` if that is not
/// known.
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
    // The lower end, then the upper end, counted down from `most`.
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

/// The lower end of a range.
struct LowerEnd {
    /// Proved lower bound.
    proved: u64,
    /// Least value seen.
    seen: u64,
}

impl LowerEnd {
    /// Returns the next number up to which an example is asked for; `None` if the end is known.
    fn guess(&self, step: u32) -> Option<u64> {
        let below = (self.proved < self.seen).then_some(self.seen.wrapping_sub(1))?;
        Some(if step < STEPS { below } else { self.proved + (below - self.proved) / 2 })
    }

    /// Asks for examples up to some number, until the end is known or a query is undecided.
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
