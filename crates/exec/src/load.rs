//! Reading symbolic memory: walks the chain of stores from the newest to the oldest.

use crate::machine::{ArcId, Leaf, Machine, PointId};
use crate::memory::{Location, MemId, MemNode};
use slowpath_ir::RegionId;
use slowpath_smt::{Domain, TermId};

impl Machine {
    /// The value of `bytes` bytes at `address`, little-endian.
    pub(crate) fn load(&mut self, memory: MemId, address: TermId, bytes: u8) -> TermId {
        let location = self.locate(address);
        if let Some(location) = location
            && let Some(value) = self.read_slice(memory, location, bytes)
        {
            return value;
        }
        let mut value: Option<TermId> = None;
        for byte in 0..u32::from(bytes) {
            let read = location
                .map(|location| self.offset_by(location, byte))
                .and_then(|location| self.read_byte(memory, location))
                .unwrap_or_else(|| self.defer(memory, address, byte));
            value = Some(value.map_or(read, |low| self.pool.concat(read, low)));
        }
        value.unwrap_or_else(|| self.pool.constant(8, 0))
    }

    /// An offset that is constant and from which `bytes` bytes do not wrap around.
    pub(crate) fn constant_offset(&self, offset: TermId, bytes: u64) -> Option<u64> {
        let last = u64::MAX >> (64 - u32::from(self.pool.width(offset)));
        let constant = self.pool.as_const(offset)?;
        (constant.checked_add(bytes)? <= last).then_some(constant)
    }

    fn offset_by(&mut self, location: Location, byte: u32) -> Location {
        let width = self.pool.width(location.offset);
        let distance = self.pool.constant(width, u64::from(byte));
        Location { offset: self.pool.add(location.offset, distance), ..location }
    }

    fn defer(&mut self, memory: MemId, address: TermId, byte: u32) -> TermId {
        let name = format!("load{}.{}", self.insn, self.leaves.len());
        let term = self.pool.var(&name, Domain::full(8));
        self.register_leaf(term, Leaf::Deferred { memory, address, byte, insn: self.insn });
        term
    }

    /// Several bytes that one store wrote, on every way here, as one term: put together from single
    /// bytes, a pointer that was spilled would no longer look like one.
    fn read_slice(&mut self, memory: MemId, at: Location, bytes: u8) -> Option<TermId> {
        let key = (memory, at, bytes);
        if let Some(&known) = self.slices.get(&key) {
            return known;
        }
        let value = self.walk_slice(memory, at, bytes);
        self.slices.insert(key, value);
        value
    }

    fn walk_slice(&mut self, mut memory: MemId, at: Location, bytes: u8) -> Option<TermId> {
        let constant = self.constant_offset(at.offset, bytes.into());
        loop {
            memory = self.memory.skip(memory, at.region, constant, bytes.into());
            match self.memory.node(memory) {
                MemNode::Initial => return None,
                &MemNode::Store { prev, location, value, .. } => {
                    let to = location?;
                    if at.region == to.region {
                        let stored = u64::from(self.pool.width(value) / 8);
                        let distance = self.pool.sub(at.offset, to.offset);
                        if let Some(inside) = self.pool.as_const(distance)
                            && inside.saturating_add(bytes.into()) <= stored
                        {
                            return Some(self.pool.extract(value, 8 * inside as u8, 8 * bytes));
                        }
                        let domain = self.pool.domain(distance);
                        let below = u64::MAX >> (64 - u32::from(self.pool.width(distance)));
                        let apart =
                            domain.lo() >= stored && domain.hi() <= below - u64::from(bytes) + 1;
                        if !apart {
                            return None;
                        }
                    }
                    memory = prev;
                }
                MemNode::Merge { point, incoming } => {
                    let (point, incoming) = (PointId(*point), incoming.clone());
                    let arcs: Vec<ArcId> = incoming.iter().map(|&(arc, _)| ArcId(arc)).collect();
                    let mut values = Vec::with_capacity(incoming.len());
                    for (_, memory) in incoming {
                        values.push(self.read_slice(memory, at, bytes)?);
                    }
                    return Some(self.merge_values(point, &arcs, &values));
                }
            }
        }
    }

    /// One byte, or `None` when a store to an unknown region may have written it.
    fn read_byte(&mut self, memory: MemId, at: Location) -> Option<TermId> {
        let key = (memory, at);
        if let Some(&known) = self.bytes.get(&key) {
            return known;
        }
        let value = self.walk(memory, at);
        self.bytes.insert(key, value);
        value
    }

    fn walk(&mut self, mut memory: MemId, at: Location) -> Option<TermId> {
        // Bytes of stores that may or may not be the one read, newest first.
        let mut maybe: Vec<(TermId, TermId)> = Vec::new();
        let constant = self.constant_offset(at.offset, 1);
        let value = loop {
            memory = self.memory.skip(memory, at.region, constant, 1);
            match self.memory.node(memory) {
                MemNode::Initial => break self.initial(at.region, at.offset),
                &MemNode::Store { prev, location, value, .. } => {
                    match self.hit(at, location?, value) {
                        Hit::Never => {}
                        Hit::Always(byte) => break byte,
                        Hit::Perhaps(bytes) => maybe.extend(bytes),
                    }
                    memory = prev;
                }
                MemNode::Merge { point, incoming } => {
                    let (point, incoming) = (PointId(*point), incoming.clone());
                    let arcs: Vec<ArcId> = incoming.iter().map(|&(arc, _)| ArcId(arc)).collect();
                    let mut values = Vec::with_capacity(incoming.len());
                    for (_, memory) in incoming {
                        values.push(self.read_byte(memory, at)?);
                    }
                    break self.merge_values(point, &arcs, &values);
                }
            }
        };
        let folded = maybe
            .into_iter()
            .rev()
            .fold(value, |older, (condition, byte)| self.pool.ite(condition, byte, older));
        Some(folded)
    }

    /// The byte that a region held when the program started.
    pub(crate) fn initial(&mut self, region: RegionId, offset: TermId) -> TermId {
        self.pool.select(self.arrays[region.index()], offset)
    }

    /// How a store of `value` at `to` affects the byte `at`.
    pub(crate) fn hit(&mut self, at: Location, to: Location, value: TermId) -> Hit {
        if at.region != to.region {
            return Hit::Never;
        }
        let bytes = self.pool.width(value) / 8;
        let distance = self.pool.sub(at.offset, to.offset);
        if let Some(distance) = self.pool.as_const(distance) {
            return match u8::try_from(distance) {
                Ok(byte) if byte < bytes => Hit::Always(self.pool.extract(value, 8 * byte, 8)),
                _ => Hit::Never,
            };
        }
        let domain = self.pool.domain(distance);
        let width = self.pool.width(distance);
        let mut hits = Vec::new();
        for byte in (0..bytes).filter(|&byte| domain.contains(u64::from(byte))) {
            let here = self.pool.constant(width, u64::from(byte));
            let condition = self.pool.eq(distance, here);
            hits.push((condition, self.pool.extract(value, 8 * byte, 8)));
        }
        if hits.is_empty() { Hit::Never } else { Hit::Perhaps(hits) }
    }
}

/// Whether a store wrote a byte.
pub(crate) enum Hit {
    /// It wrote elsewhere.
    Never,
    /// It wrote this value.
    Always(TermId),
    /// It wrote the value under the condition, for each of the pairs.
    Perhaps(Vec<(TermId, TermId)>),
}
