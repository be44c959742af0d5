//! Determines the effect of an earlier write on a load: whether the load reads the written bytes,
//! and the value that it reads. The earlier operation either stores a value or sets bytes to zero
//! ("clears" them). The result is as precise as the terms of the addresses allow.

use crate::executor::Executor;
use crate::memory::Location;
use slowpath_smt::{Node, TermId};

impl Executor {
    /// Returns the effect of storing `value` at `to` on a later load of `bytes` bytes at `at`.
    pub(crate) fn alias(&mut self, at: Location, to: Location, value: TermId, bytes: u8) -> Alias {
        if at.region != to.region {
            return Alias::No;
        }
        let stored = self.pool.width(value) / 8;
        let distance = self.pool.sub(at.offset, to.offset);
        if let Some(inside) = self.pool.as_const(distance)
            && inside.saturating_add(bytes.into()) <= stored.into()
        {
            return Alias::Must(self.pool.extract(value, 8 * inside as u8, 8 * bytes));
        }
        let domain = self.pool.domain(distance);
        let below = u64::MAX >> (64 - u32::from(domain.width()));
        if domain.lo() >= stored.into() && domain.hi() <= below - u64::from(bytes) + 1 {
            return Alias::No;
        }
        // Try all distances at which the accesses overlap.
        let mut possible = None;
        for byte in 1 - i16::from(bytes)..i16::from(stored) {
            if !domain.contains(byte as u64 & below) {
                continue;
            }
            let condition = self.at_distance(at, to, distance, byte);
            let inside = u8::try_from(byte).ok().filter(|inside| inside + bytes <= stored);
            match (self.pool.as_const(condition), inside) {
                (Some(0), _) => {}
                (Some(_), Some(inside)) => {
                    return Alias::Must(self.pool.extract(value, 8 * inside, 8 * bytes));
                }
                (None, Some(inside)) if possible.is_none() => possible = Some((condition, inside)),
                _ => return Alias::Partial,
            }
        }
        match possible {
            None => Alias::No,
            Some((condition, inside)) => {
                Alias::Guarded(condition, self.pool.extract(value, 8 * inside, 8 * bytes))
            }
        }
    }

    /// Returns the effect of storing `value` at `to` on a later load of one byte at `at`.
    pub(crate) fn alias_byte(&mut self, at: Location, to: Location, value: TermId) -> ByteAlias {
        if at.region != to.region {
            return ByteAlias::No;
        }
        let bytes = self.pool.width(value) / 8;
        let distance = self.pool.sub(at.offset, to.offset);
        if let Some(distance) = self.pool.as_const(distance) {
            return match u8::try_from(distance) {
                Ok(byte) if byte < bytes => ByteAlias::Must(self.pool.extract(value, 8 * byte, 8)),
                _ => ByteAlias::No,
            };
        }
        let domain = self.pool.domain(distance);
        let mut possible = Vec::new();
        for byte in (0..bytes).filter(|&byte| domain.contains(u64::from(byte))) {
            let condition = self.at_distance(at, to, distance, byte.into());
            match self.pool.as_const(condition) {
                Some(0) => {}
                Some(_) => return ByteAlias::Must(self.pool.extract(value, 8 * byte, 8)),
                None => possible.push((condition, self.pool.extract(value, 8 * byte, 8))),
            }
        }
        if possible.is_empty() { ByteAlias::No } else { ByteAlias::May(possible) }
    }

    /// Returns the effect of setting `count` bytes at `to` to zero on a later load of one byte at
    /// `at`.
    pub(crate) fn alias_cleared_byte(
        &mut self,
        at: Location,
        to: Location,
        count: TermId,
    ) -> ByteAlias {
        if at.region != to.region {
            return ByteAlias::No;
        }
        let distance = self.pool.sub(at.offset, to.offset);
        let inside = self.pool.ult(distance, count);
        let zero = self.pool.constant(8, 0);
        match self.pool.as_const(inside) {
            Some(0) => ByteAlias::No,
            Some(_) => ByteAlias::Must(zero),
            None => ByteAlias::May(vec![(inside, zero)]),
        }
    }

    /// Returns the effect of setting `count` bytes at `to` to zero on a later load of `bytes` bytes
    /// at `at`. If the load certainly reads only cleared bytes, its value is zero.
    pub(crate) fn alias_cleared(
        &mut self,
        at: Location,
        to: Location,
        count: TermId,
        bytes: u8,
    ) -> Alias {
        let (mut inside, mut outside) = (0, 0);
        for byte in 0..bytes {
            let at = self.offset_by(at, byte.into());
            match self.alias_cleared_byte(at, to, count) {
                ByteAlias::Must(_) => inside += 1,
                ByteAlias::No => outside += 1,
                ByteAlias::May(_) => return Alias::Partial,
            }
        }
        match (inside, outside) {
            (0, _) => Alias::No,
            (_, 0) => Alias::Must(self.pool.constant(8 * bytes, 0)),
            _ => Alias::Partial,
        }
    }

    /// Returns the condition that `at` lies `byte` bytes after `to`. `distance` is the term `at -
    /// to`. An offset can consist of several parts, such as an element number and a position within
    /// the element. If separate comparisons of the parts give a simpler condition, returns that
    /// condition.
    fn at_distance(&mut self, at: Location, to: Location, distance: TermId, byte: i16) -> TermId {
        let wanted = self.pool.constant(self.pool.width(distance), byte as u64);
        let by_distance = self.pool.eq(distance, wanted);
        if self.compared(by_distance) == 0 {
            return by_distance;
        }
        let place = self.pool.add(to.offset, wanted);
        let by_parts = self.pool.eq(at.offset, place);
        if self.compared(by_parts) < self.compared(by_distance) { by_parts } else { by_distance }
    }

    /// Returns the number of bits that the comparisons in a condition compare; 0 if the condition
    /// is a constant.
    fn compared(&self, condition: TermId) -> u8 {
        match *self.pool.node(condition) {
            Node::Const(_) => 0,
            Node::Eq(a, _) => self.pool.width(a),
            _ => 1,
        }
    }
}

/// The way in which an earlier write affects a load of several bytes.
pub(crate) enum Alias {
    /// The load reads none of the written bytes.
    No,
    /// The load reads only written bytes, and this term is its result.
    Must(TermId),
    /// The load reads only written bytes if the first term, a condition, holds; the second term is
    /// then its result. Otherwise, the load reads none of the written bytes.
    Guarded(TermId, TermId),
    /// The load may read some of the written bytes together with other bytes. Or it may read
    /// different written bytes in different runs.
    Partial,
}

/// The way in which an earlier write affects a load of one byte.
pub(crate) enum ByteAlias {
    /// The load does not read a written byte.
    No,
    /// The load reads a written byte with this value.
    Must(TermId),
    /// The load may read a written byte. Each pair contains a condition and the value that the load
    /// reads if the condition holds.
    May(Vec<(TermId, TermId)>),
}
