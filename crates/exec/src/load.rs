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
                .and_then(|location| self.read_byte(memory, location));
            // All of it is deferred if a part is: on single paths it may be one store's again.
            let Some(read) = read else { return self.defer(memory, address, bytes) };
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

    pub(crate) fn offset_by(&mut self, location: Location, byte: u32) -> Location {
        let width = self.pool.width(location.offset);
        let distance = self.pool.constant(width, u64::from(byte));
        Location { offset: self.pool.add(location.offset, distance), ..location }
    }

    fn defer(&mut self, memory: MemId, address: TermId, bytes: u8) -> TermId {
        let name = format!("load{}.{}", self.insn, self.leaves.len());
        let term = self.pool.var(&name, Domain::full(8 * bytes));
        self.register_leaf(term, Leaf::Deferred { memory, address, bytes, insn: self.insn });
        term
    }

    /// Several bytes that one store wrote, on every way here, as one term: put together from single
    /// bytes, a pointer that was spilled would no longer look like one.
    fn read_slice(&mut self, memory: MemId, at: Location, bytes: u8) -> Option<TermId> {
        self.read(memory, at, Read::Slice(bytes))
    }

    /// One byte, or `None` when a store to an unknown region may have written it.
    fn read_byte(&mut self, memory: MemId, at: Location) -> Option<TermId> {
        self.read(memory, at, Read::Byte)
    }

    /// Reads what arrives at merges before the merges themselves. Not recursive: there can be as
    /// many merges behind each other as there are block instances.
    fn read(&mut self, memory: MemId, at: Location, read: Read) -> Option<TermId> {
        let mut work = vec![memory];
        while let Some(&top) = work.last() {
            if self.reads.contains_key(&(top, at, read)) {
                work.pop();
                continue;
            }
            let found = match read {
                Read::Slice(bytes) => self.walk_slice(top, at, bytes),
                Read::Byte => self.walk(top, at),
            };
            let value = match found {
                Found::Value(value) => Some(value),
                Found::Unknown => None,
                Found::Merge { point, incoming, maybe } => {
                    let pending = work.len();
                    let unread = |&(_, memory): &(u32, MemId)| {
                        (!self.reads.contains_key(&(memory, at, read))).then_some(memory)
                    };
                    work.extend(incoming.iter().filter_map(unread));
                    if work.len() > pending {
                        continue;
                    }
                    let values: Option<Vec<TermId>> = incoming
                        .iter()
                        .map(|&(_, memory)| self.reads[&(memory, at, read)])
                        .collect();
                    let arcs: Vec<ArcId> = incoming.iter().map(|&(arc, _)| ArcId(arc)).collect();
                    values.map(|values| {
                        let merged = self.merge_values(point, &arcs, &values);
                        self.fold(maybe, merged)
                    })
                }
            };
            self.reads.insert((top, at, read), value);
            work.pop();
        }
        self.reads.get(&(memory, at, read)).copied().flatten()
    }

    fn walk_slice(&mut self, mut memory: MemId, at: Location, bytes: u8) -> Found {
        let constant = self.constant_offset(at.offset, bytes.into());
        loop {
            memory = self.memory.skip(memory, at.region, constant, bytes.into());
            match self.memory.node(memory) {
                MemNode::Initial => return Found::Unknown,
                &MemNode::Store { prev, location, value, .. } => {
                    let Some(to) = location else { return Found::Unknown };
                    match self.cover(at, to, value, bytes) {
                        Cover::All(value) => return Found::Value(value),
                        Cover::None => {}
                        Cover::Perhaps => return Found::Unknown,
                    }
                    memory = prev;
                }
                MemNode::Merge { point, incoming } => {
                    let (point, incoming) = (PointId(*point), incoming.clone());
                    return Found::Merge { point, incoming, maybe: Vec::new() };
                }
            }
        }
    }

    fn walk(&mut self, mut memory: MemId, at: Location) -> Found {
        let mut maybe: Vec<(TermId, TermId)> = Vec::new();
        let constant = self.constant_offset(at.offset, 1);
        let value = loop {
            memory = self.memory.skip(memory, at.region, constant, 1);
            match self.memory.node(memory) {
                MemNode::Initial => break self.initial(at.region, at.offset),
                &MemNode::Store { prev, location, value, .. } => {
                    let Some(to) = location else { return Found::Unknown };
                    match self.hit(at, to, value) {
                        Hit::Never => {}
                        Hit::Always(byte) => break byte,
                        Hit::Perhaps(bytes) => maybe.extend(bytes),
                    }
                    memory = prev;
                }
                MemNode::Merge { point, incoming } => {
                    let (point, incoming) = (PointId(*point), incoming.clone());
                    return Found::Merge { point, incoming, maybe };
                }
            }
        };
        Found::Value(self.fold(maybe, value))
    }

    /// A byte over which stores, newest first, may have written others.
    pub(crate) fn fold(&mut self, maybe: Vec<(TermId, TermId)>, oldest: TermId) -> TermId {
        maybe
            .into_iter()
            .rev()
            .fold(oldest, |older, (condition, byte)| self.pool.ite(condition, byte, older))
    }

    /// The byte that a region held when the program started.
    pub(crate) fn initial(&mut self, region: RegionId, offset: TermId) -> TermId {
        self.pool.select(self.arrays[region.index()], offset)
    }

    /// How a store of `value` at `to` affects the `bytes` bytes from `at` on, taken together.
    pub(crate) fn cover(&mut self, at: Location, to: Location, value: TermId, bytes: u8) -> Cover {
        if at.region != to.region {
            return Cover::None;
        }
        let stored = u64::from(self.pool.width(value) / 8);
        let distance = self.pool.sub(at.offset, to.offset);
        if let Some(inside) = self.pool.as_const(distance)
            && inside.saturating_add(bytes.into()) <= stored
        {
            return Cover::All(self.pool.extract(value, 8 * inside as u8, 8 * bytes));
        }
        let domain = self.pool.domain(distance);
        let below = u64::MAX >> (64 - u32::from(self.pool.width(distance)));
        let apart = domain.lo() >= stored && domain.hi() <= below - u64::from(bytes) + 1;
        if apart { Cover::None } else { Cover::Perhaps }
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

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Read {
    /// So many bytes that one store wrote.
    Slice(u8),
    /// One byte, whoever wrote it.
    Byte,
}

/// What a walk from newer to older stores ends with.
enum Found {
    Value(TermId),
    /// Nothing can be said about all paths at once.
    Unknown,
    /// A merge: the value depends on the arc, unless one of the newer stores passed by wrote it.
    Merge {
        point: PointId,
        incoming: Vec<(u32, MemId)>,
        /// Bytes of stores that may or may not be the one read, newest first.
        maybe: Vec<(TermId, TermId)>,
    },
}

/// Whether a store wrote several bytes.
pub(crate) enum Cover {
    /// None of them.
    None,
    /// All of them, with this value.
    All(TermId),
    /// Some of them, or it depends.
    Perhaps,
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
