//! Reading symbolic memory: walks the chain of stores from the newest to the oldest.

use crate::machine::{ArcId, Leaf, Machine, PointId};
use crate::memory::{Location, MemId, MemNode};
use slowpath_ir::RegionId;
use slowpath_smt::{Domain, Node, TermId};

impl Machine {
    /// The value of `bytes` bytes at `address`, little-endian.
    pub(crate) fn load(&mut self, memory: MemId, address: TermId, bytes: u8) -> TermId {
        let location = self.locate_access(address);
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
        let mut maybe: Vec<(TermId, TermId)> = Vec::new();
        loop {
            memory = self.memory.skip(memory, at.region, constant, bytes.into());
            match self.memory.node(memory) {
                // Read byte by byte, unless that would take the words of stores apart.
                MemNode::Initial if maybe.is_empty() => return Found::Unknown,
                MemNode::Initial => {
                    let initial = self.initial_slice(at, bytes);
                    return Found::Value(self.fold(maybe, initial));
                }
                &MemNode::Store { prev, location, value, .. } => {
                    let Some(to) = location else { return Found::Unknown };
                    match self.cover(at, to, value, bytes) {
                        Cover::All(value) => return Found::Value(self.fold(maybe, value)),
                        Cover::When(condition, value) => maybe.push((condition, value)),
                        Cover::None => {}
                        Cover::Perhaps => return Found::Unknown,
                    }
                    memory = prev;
                }
                MemNode::Merge { point, incoming } => {
                    let (point, incoming) = (PointId(*point), incoming.clone());
                    return Found::Merge { point, incoming, maybe };
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

    /// A value over which stores, newest first, may have written others.
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

    /// The bytes that a region held when the program started, as one value.
    pub(crate) fn initial_slice(&mut self, at: Location, bytes: u8) -> TermId {
        let mut value = self.initial(at.region, at.offset);
        for byte in 1..u32::from(bytes) {
            let next = self.offset_by(at, byte);
            let read = self.initial(next.region, next.offset);
            value = self.pool.concat(read, value);
        }
        value
    }

    /// How a store of `value` at `to` affects the `bytes` bytes from `at` on, taken together.
    pub(crate) fn cover(&mut self, at: Location, to: Location, value: TermId, bytes: u8) -> Cover {
        if at.region != to.region {
            return Cover::None;
        }
        let stored = self.pool.width(value) / 8;
        let distance = self.pool.sub(at.offset, to.offset);
        if let Some(inside) = self.pool.as_const(distance)
            && inside.saturating_add(bytes.into()) <= stored.into()
        {
            return Cover::All(self.pool.extract(value, 8 * inside as u8, 8 * bytes));
        }
        let domain = self.pool.domain(distance);
        let below = u64::MAX >> (64 - u32::from(domain.width()));
        if domain.lo() >= stored.into() && domain.hi() <= below - u64::from(bytes) + 1 {
            return Cover::None;
        }
        // They overlap at these distances only.
        let mut possible = None;
        for byte in 1 - i16::from(bytes)..i16::from(stored) {
            if !domain.contains(byte as u64 & below) {
                continue;
            }
            let condition = self.meets(at, to, distance, byte);
            let inside = u8::try_from(byte).ok().filter(|inside| inside + bytes <= stored);
            match (self.pool.as_const(condition), inside) {
                (Some(0), _) => {}
                (Some(_), Some(inside)) => {
                    return Cover::All(self.pool.extract(value, 8 * inside, 8 * bytes));
                }
                (None, Some(inside)) if possible.is_none() => possible = Some((condition, inside)),
                _ => return Cover::Perhaps,
            }
        }
        match possible {
            None => Cover::None,
            Some((condition, inside)) => {
                Cover::When(condition, self.pool.extract(value, 8 * inside, 8 * bytes))
            }
        }
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
        let mut hits = Vec::new();
        for byte in (0..bytes).filter(|&byte| domain.contains(u64::from(byte))) {
            let condition = self.meets(at, to, distance, byte.into());
            match self.pool.as_const(condition) {
                Some(0) => {}
                Some(_) => return Hit::Always(self.pool.extract(value, 8 * byte, 8)),
                None => hits.push((condition, self.pool.extract(value, 8 * byte, 8))),
            }
        }
        if hits.is_empty() { Hit::Never } else { Hit::Perhaps(hits) }
    }

    /// Whether `at` is `byte` bytes behind `to`, given the distance between them. Of offsets with
    /// parts (the number of a map's element, the place in it) the parts are compared, where that
    /// says more than the distance does.
    fn meets(&mut self, at: Location, to: Location, distance: TermId, byte: i16) -> TermId {
        let wanted = self.pool.constant(self.pool.width(distance), byte as u64);
        let by_distance = self.pool.eq(distance, wanted);
        if self.compared(by_distance) == 0 {
            return by_distance;
        }
        let place = self.pool.add(to.offset, wanted);
        let by_parts = self.pool.eq(at.offset, place);
        if self.compared(by_parts) < self.compared(by_distance) { by_parts } else { by_distance }
    }

    /// How many bits a comparison still compares at once: none, if it is decided.
    fn compared(&self, condition: TermId) -> u8 {
        match *self.pool.node(condition) {
            Node::Const(_) => 0,
            Node::Eq(a, _) => self.pool.width(a),
            _ => 1,
        }
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
        /// Values of stores that may or may not be the one read, newest first.
        maybe: Vec<(TermId, TermId)>,
    },
}

/// Whether a store wrote several bytes.
pub(crate) enum Cover {
    /// None of them.
    None,
    /// All of them, with this value.
    All(TermId),
    /// All of them with the value under the condition, else none of them.
    When(TermId, TermId),
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
