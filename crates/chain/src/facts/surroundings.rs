//! What lies around packets that leave: how far the program has moved their start, and how long their
//! metadata is. Read off packets that leave, then proved, as lengths are: each question finds a packet
//! outside of what was seen so far, or there is none.

use super::error::FactsError;
use super::proof::{Answer, Example, Proof};
use super::samples::Sampler;
use slowpath_bpf::lift::{MAX_METADATA, Receive, Surroundings, TailRoom};
use slowpath_smt::{Model, TermId};

/// No start of a packet moves farther, in bytes.
const FAR: u64 = 1 << 17;
/// Most questions for one end of a range before it is halved.
const STEPS: u32 = 4;

/// What lies around packets that leave, if they arrived like `arrived` and none that leaves is shorter
/// than `least` bytes. What cannot be told in time is anything.
///
/// The room in front of them is what there was, less what their start was moved by: which of them had
/// how much is not looked at.
pub(super) fn find(
    proof: &mut Proof,
    sampler: &Sampler,
    (arrived, least): (Receive, u16),
    found: &[Model],
) -> Result<Surroundings, FactsError> {
    let pool = &mut proof.unrolled.executor.pool;
    let far = pool.constant(64, FAR);
    // A number without a sign.
    let moved = pool.add(proof.departure.start, far);
    let metadata = proof.departure.metadata;
    let mut left = Surroundings::ANY;
    if let Some((inwards, outwards)) = range(proof, sampler, moved, (2 * FAR, found))? {
        let number = |room: u16, moved: u64| (u64::from(room) + moved).saturating_sub(FAR);
        let (low, high) = arrived.head;
        let most = match arrived.tail {
            // What is longer than a page is not in one, and leaves nothing of it.
            TailRoom::Buffer(bytes) => bytes.checked_sub(least).map_or(u64::MAX, u64::from),
            TailRoom::Bytes(..) | TailRoom::Cut => u64::MAX,
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

/// The least and greatest value of a term, none of which is above `most`, unless that cannot be told.
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
    // The least one, then, counted from the other end, the greatest.
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
    /// Nothing is below.
    proved: u64,
    /// The least that was seen.
    seen: u64,
}

impl LowerEnd {
    /// The number that is asked about next, whether there is anything up to it; `None` if all is known.
    fn guess(&self, step: u32) -> Option<u64> {
        let below = (self.proved < self.seen).then_some(self.seen.wrapping_sub(1))?;
        Some(if step < STEPS { below } else { self.proved + (below - self.proved) / 2 })
    }

    /// Asks for examples up to some number, until all is known or none can be told any more.
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
