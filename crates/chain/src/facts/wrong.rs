//! When a candidate does not hold of the packet that leaves, as a term.

use super::candidates::Candidates;
use slowpath_ir::{Field, KnownBits};
use slowpath_smt::{TermId, TermPool};
use std::collections::BTreeSet;

/// The packet that leaves, as terms.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    /// 32 bits.
    pub length: TermId,
    /// Its first bytes, those it is too short for included.
    pub bytes: Vec<TermId>,
    /// No packet that leaves is shorter, in bytes.
    pub min_length: u16,
}

impl Packet {
    /// Whether it is shorter than so many bytes.
    pub fn shorter(&self, pool: &mut TermPool, length: u16) -> TermId {
        let length = pool.constant(pool.width(self.length), length.into());
        pool.ult(self.length, length)
    }

    /// Whether it is longer than so many bytes.
    pub fn longer(&self, pool: &mut TermPool, length: u16) -> TermId {
        let length = pool.constant(pool.width(self.length), length.into());
        pool.ult(length, self.length)
    }

    /// Whether it has a byte at an offset, and a condition holds.
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

    /// Whether bits of a byte are others.
    pub fn wrong_bits(&self, pool: &mut TermPool, offset: u16, bits: KnownBits) -> Option<TermId> {
        let &byte = self.bytes.get(usize::from(offset))?;
        let mask = pool.constant(8, bits.mask.into());
        let value = pool.constant(8, bits.value.into());
        let masked = pool.and(byte, mask);
        let equal = pool.eq(masked, value);
        let wrong = pool.not(equal);
        Some(self.there(pool, offset.into(), wrong))
    }

    /// Whether a field has none of these values.
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

    /// Whether two fields differ.
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

    /// When each candidate is wrong.
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
        // What is about bytes that nobody looks at is never proved.
        let always = pool.bool(true);
        wrong.into_iter().map(|term| term.unwrap_or(always)).collect()
    }
}
