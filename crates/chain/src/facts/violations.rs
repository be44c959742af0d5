//! Builds the conditions under which a packet that leaves the program violates a candidate (a
//! proposed fact), as terms for the solver.

use super::candidates::Candidates;
use slowpath_ir::{Field, KnownBits};
use slowpath_smt::{TermId, TermPool};
use std::collections::BTreeSet;

/// The packet that leaves a program, as terms for the solver.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    /// Length of the packet in bytes, as a term of 32 bits.
    pub length: TermId,
    /// First bytes of the packet, one term each. If a packet is shorter than this list, the terms
    /// beyond its end have no meaning.
    pub bytes: Vec<TermId>,
    /// Minimum length in bytes of the packets that leave the program.
    pub min_length: u16,
}

impl Packet {
    /// Returns the condition that the packet is shorter than `length` bytes.
    pub fn shorter(&self, pool: &mut TermPool, length: u16) -> TermId {
        let length = pool.constant(pool.width(self.length), length.into());
        pool.ult(self.length, length)
    }

    /// Returns the condition that the packet is longer than `length` bytes.
    pub fn longer(&self, pool: &mut TermPool, length: u16) -> TermId {
        let length = pool.constant(pool.width(self.length), length.into());
        pool.ult(length, self.length)
    }

    /// Restricts a condition to packets that are long enough to have a byte at the offset: for
    /// shorter packets, the returned condition is false.
    fn there(&self, pool: &mut TermPool, offset: usize, condition: TermId) -> TermId {
        let offset = u16::try_from(offset).unwrap_or(u16::MAX);
        if offset < self.min_length {
            return condition;
        }
        let has = self.longer(pool, offset);
        pool.and(has, condition)
    }

    fn field(&self, pool: &mut TermPool, field: Field) -> Option<TermId> {
        let bytes = self.bytes.get(usize::from(field.offset)..field.end())?;
        let (&first, others) = bytes.split_first()?;
        Some(others.iter().fold(first, |high, &low| pool.concat(high, low)))
    }

    /// Returns the condition that a packet byte differs from its proposed known bits (`bits`).
    /// Returns `None` if there is no term for the byte.
    pub fn wrong_bits(&self, pool: &mut TermPool, offset: u16, bits: KnownBits) -> Option<TermId> {
        let &byte = self.bytes.get(usize::from(offset))?;
        let mask = pool.constant(8, bits.mask.into());
        let value = pool.constant(8, bits.value.into());
        let masked = pool.and(byte, mask);
        let equal = pool.eq(masked, value);
        let wrong = pool.not(equal);
        Some(self.there(pool, offset.into(), wrong))
    }

    /// Returns the condition that a packet field has none of these values. Returns `None` if there
    /// is no term for one of its bytes.
    pub fn wrong_values(
        &self,
        pool: &mut TermPool,
        field: Field,
        values: &BTreeSet<u64>,
    ) -> Option<TermId> {
        let read = self.field(pool, field)?;
        let mut any = pool.bool(false);
        for &value in values {
            let value = pool.constant(8 * field.bytes, value);
            let equal = pool.eq(read, value);
            any = pool.or(any, equal);
        }
        let wrong = pool.not(any);
        Some(self.there(pool, field.end() - 1, wrong))
    }

    /// Returns the condition that two packet fields differ. Returns `None` if there is no term for
    /// one of their bytes.
    pub fn wrong_equal(
        &self,
        pool: &mut TermPool,
        (first, second): (Field, Field),
    ) -> Option<TermId> {
        let (a, b) = (self.field(pool, first)?, self.field(pool, second)?);
        let equal = pool.eq(a, b);
        let wrong = pool.not(equal);
        Some(self.there(pool, first.end().max(second.end()) - 1, wrong))
    }

    /// Returns, for each candidate, the condition that the packet violates it.
    pub fn wrong(&self, pool: &mut TermPool, candidates: &Candidates) -> Vec<TermId> {
        let mut wrong = Vec::new();
        for (&offset, &bits) in &candidates.bits {
            wrong.push(self.wrong_bits(pool, offset, bits));
        }
        for (&field, values) in &candidates.values {
            wrong.push(self.wrong_values(pool, field, values));
        }
        for &pair in &candidates.equal {
            wrong.push(self.wrong_equal(pool, pair));
        }
        // Candidates about bytes without a term are violated, so they are never proved.
        let always = pool.bool(true);
        wrong.into_iter().map(|term| term.unwrap_or(always)).collect()
    }
}
