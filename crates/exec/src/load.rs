//! Reading symbolic memory: walks the chain of stores from the newest to the oldest.

use crate::machine::{ArcId, Leaf, Machine, PointId};
use crate::memory::{Location, MemId, MemNode};
use crate::written::Written;
use slowpath_ir::RegionId;
use slowpath_smt::{Domain, Node, TermId};

/// Most stores that one read may or may not see; with more, every path has its own value.
const MAX_CANDIDATES: usize = 8;
/// Most states of memory that one read looks at.
const MAX_LOOKED_AT: u32 = 256;

impl Machine {
    /// The value of `bytes` bytes at `address`, little-endian.
    pub(crate) fn load(&mut self, memory: MemId, address: TermId, bytes: u8) -> TermId {
        let Some(location) = self.locate_access(address) else {
            return self.defer(memory, address, bytes);
        };
        match self.read(memory, location, Read::Slice(bytes)) {
            Ok(value) => return value,
            Err(Missing::Hopeless) => return self.defer(memory, address, bytes),
            Err(Missing::Apart) => {}
        }
        let mut value: Option<TermId> = None;
        for byte in 0..u32::from(bytes) {
            let at = self.offset_by(location, byte);
            // All of it is deferred if a part is: on single paths it may be one store's again.
            let Ok(read) = self.read(memory, at, Read::Byte) else {
                return self.defer(memory, address, bytes);
            };
            value = Some(value.map_or(read, |low| self.pool.concat(read, low)));
        }
        value.unwrap_or_else(|| self.pool.constant(8, 0))
    }

    /// The places that `bytes` bytes from a location on can be.
    pub(crate) fn places(&self, at: Location, bytes: u8) -> Written {
        Written::at(at.region, &self.pool.domain(at.offset), bytes)
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

    /// One byte; or several that one store wrote, on every way here, as one term: put together from
    /// single bytes, a pointer that was spilled would no longer look like one.
    ///
    /// Reads what arrives at merges before the merges themselves. Not recursive: there can be as
    /// many merges behind each other as there are block instances.
    fn read(&mut self, memory: MemId, at: Location, read: Read) -> Result<TermId, Missing> {
        let places = self.places(at, read.bytes());
        let memory = self.memory.skip(memory, &places);
        let mut work = vec![memory];
        let mut looked_at = 0;
        while let Some(&top) = work.last() {
            if self.reads.contains_key(&(top, at, read)) {
                work.pop();
                continue;
            }
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT {
                return Err(Missing::Hopeless);
            }
            let found = match read {
                Read::Slice(bytes) => self.walk_slice(top, at, bytes, &places),
                Read::Byte => self.walk(top, at, &places),
            };
            let value = match found {
                Found::Value(value) => Ok(value),
                Found::Missing(why) => Err(why),
                Found::Merge { point, incoming, maybe } => {
                    let pending = work.len();
                    let (mut values, mut missing) = (Vec::with_capacity(incoming.len()), None);
                    for &(_, memory) in &incoming {
                        match self.reads.get(&(memory, at, read)) {
                            Some(&Ok(value)) => values.push(value),
                            Some(&Err(why)) => missing = missing.max(Some(why)),
                            None => work.push(memory),
                        }
                    }
                    if missing == Some(Missing::Hopeless) {
                        work.truncate(pending);
                    }
                    if work.len() > pending {
                        continue;
                    }
                    let arcs: Vec<ArcId> = incoming.iter().map(|&(arc, _)| arc).collect();
                    match missing {
                        Some(why) => Err(why),
                        None => {
                            let merged = self.merge_values(point, &arcs, &values);
                            Ok(self.fold(maybe, merged))
                        }
                    }
                }
            };
            self.reads.insert((top, at, read), value);
            work.pop();
        }
        self.reads.get(&(memory, at, read)).copied().unwrap_or(Err(Missing::Hopeless))
    }

    fn walk_slice(
        &mut self,
        mut memory: MemId,
        at: Location,
        bytes: u8,
        places: &Written,
    ) -> Found {
        let mut maybe: Vec<(TermId, TermId)> = Vec::new();
        loop {
            memory = self.memory.skip(memory, places);
            match self.memory.node(memory) {
                // Read byte by byte, unless that would take the words of stores apart.
                MemNode::Initial if maybe.is_empty() => return Found::Missing(Missing::Apart),
                MemNode::Initial => {
                    let initial = self.initial_slice(at, bytes);
                    return Found::Value(self.fold(maybe, initial));
                }
                &MemNode::Store { prev, location, value, .. } => {
                    let Some(to) = location else { return Found::Missing(Missing::Hopeless) };
                    match self.cover(at, to, value, bytes) {
                        Cover::All(value) => return Found::Value(self.fold(maybe, value)),
                        Cover::When(condition, value) => maybe.push((condition, value)),
                        Cover::None => {}
                        Cover::Perhaps => return Found::Missing(Missing::Apart),
                    }
                    if maybe.len() > MAX_CANDIDATES {
                        return Found::Missing(Missing::Hopeless);
                    }
                    memory = prev;
                }
                &MemNode::Clear { prev, location, bytes: count, .. } => {
                    let Some(to) = location else { return Found::Missing(Missing::Hopeless) };
                    match self.cover_cleared(at, to, count, bytes) {
                        Cover::All(value) => return Found::Value(self.fold(maybe, value)),
                        Cover::None => memory = prev,
                        _ => return Found::Missing(Missing::Apart),
                    }
                }
                MemNode::Merge { point, incoming } => {
                    let point = PointId(*point);
                    let skip = |&(arc, memory)| (ArcId(arc), self.memory.skip(memory, places));
                    let incoming = incoming.iter().map(skip).collect();
                    return Found::Merge { point, incoming, maybe };
                }
            }
        }
    }

    fn walk(&mut self, mut memory: MemId, at: Location, places: &Written) -> Found {
        let mut maybe: Vec<(TermId, TermId)> = Vec::new();
        let value = loop {
            memory = self.memory.skip(memory, places);
            match self.memory.node(memory) {
                MemNode::Initial => break self.initial(at.region, at.offset),
                &MemNode::Store { prev, location, value, .. } => {
                    let Some(to) = location else { return Found::Missing(Missing::Hopeless) };
                    match self.hit(at, to, value) {
                        Hit::Never => {}
                        Hit::Always(byte) => break byte,
                        Hit::Perhaps(bytes) => maybe.extend(bytes),
                    }
                    if maybe.len() > MAX_CANDIDATES {
                        return Found::Missing(Missing::Hopeless);
                    }
                    memory = prev;
                }
                &MemNode::Clear { prev, location, bytes, .. } => {
                    let Some(to) = location else { return Found::Missing(Missing::Hopeless) };
                    match self.hit_cleared(at, to, bytes) {
                        Hit::Never => {}
                        Hit::Always(byte) => break byte,
                        Hit::Perhaps(bytes) => maybe.extend(bytes),
                    }
                    if maybe.len() > MAX_CANDIDATES {
                        return Found::Missing(Missing::Hopeless);
                    }
                    memory = prev;
                }
                MemNode::Merge { point, incoming } => {
                    let point = PointId(*point);
                    let skip = |&(arc, memory)| (ArcId(arc), self.memory.skip(memory, places));
                    let incoming = incoming.iter().map(skip).collect();
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
        match &self.given[region.index()] {
            Some(given) => given(&mut self.pool, offset),
            None => self.pool.select(self.arrays[region.index()], offset),
        }
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

    /// How the clearing of so many bytes at `to` affects the byte `at`.
    pub(crate) fn hit_cleared(&mut self, at: Location, to: Location, count: TermId) -> Hit {
        if at.region != to.region {
            return Hit::Never;
        }
        let distance = self.pool.sub(at.offset, to.offset);
        let inside = self.pool.ult(distance, count);
        let zero = self.pool.constant(8, 0);
        match self.pool.as_const(inside) {
            Some(0) => Hit::Never,
            Some(_) => Hit::Always(zero),
            None => Hit::Perhaps(vec![(inside, zero)]),
        }
    }

    /// How the clearing of so many bytes at `to` affects the `bytes` bytes from `at` on, taken
    /// together: all of them, none, or perhaps some.
    pub(crate) fn cover_cleared(
        &mut self,
        at: Location,
        to: Location,
        count: TermId,
        bytes: u8,
    ) -> Cover {
        let (mut hit, mut missed) = (0, 0);
        for byte in 0..bytes {
            let at = self.offset_by(at, byte.into());
            match self.hit_cleared(at, to, count) {
                Hit::Always(_) => hit += 1,
                Hit::Never => missed += 1,
                Hit::Perhaps(_) => return Cover::Perhaps,
            }
        }
        match (hit, missed) {
            (0, _) => Cover::None,
            (_, 0) => Cover::All(self.pool.constant(8 * bytes, 0)),
            _ => Cover::Perhaps,
        }
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

impl Read {
    fn bytes(self) -> u8 {
        match self {
            Read::Slice(bytes) => bytes,
            Read::Byte => 1,
        }
    }
}

/// Why a read has no value for all paths at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missing {
    /// Several stores wrote parts of it, or none did: its bytes may have values.
    Apart,
    /// Stores to unknown regions, or too many stores, may have written it.
    Hopeless,
}

/// What a walk from newer to older stores ends with.
enum Found {
    Value(TermId),
    Missing(Missing),
    /// A merge: the value depends on the arc, unless one of the newer stores passed by wrote it.
    Merge {
        point: PointId,
        incoming: Vec<(ArcId, MemId)>,
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
