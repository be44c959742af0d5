//! Reads symbolic memory. A read visits the stores before it, from the newest to the oldest.

use crate::alias::{Alias, ByteAlias};
use crate::executor::{Executor, PathVariable};
use crate::footprint::Footprint;
use crate::index::{ArcId, NodeId};
use crate::memory::{Location, MemId, MemNode};
use crate::read::{Missing, Read};
use slowpath_ir::{RegionId, RegionKind};
use slowpath_smt::{Domain, TermId};

/// Maximum number of stores that may have written the bytes of one read. With more stores, the
/// value of the read is computed only for single paths.
const MAX_CANDIDATES: usize = 8;
/// Maximum number of memory states that one read visits.
const MAX_LOOKED_AT: u32 = 256;

impl Executor {
    /// Returns the value of `bytes` bytes at `address`, little-endian.
    pub(crate) fn load(&mut self, memory: MemId, address: TermId, bytes: u8) -> TermId {
        let location = self.locate_access(address);
        let shared = |at: Location| self.program.regions[at.region.index()].kind == RegionKind::Map;
        if self.volatile && location.is_none_or(shared) {
            let name = format!("shared{}.{}", self.insn, self.pool.var_count());
            return self.pool.var(&name, Domain::full(8 * bytes));
        }
        let Some(location) = location else {
            return self.defer(memory, address, bytes);
        };
        match self.read(memory, location, Read::Slice(bytes)) {
            Ok(value) => return value,
            Err(Missing::Unknown) => return self.defer(memory, address, bytes),
            Err(Missing::Split) => {}
        }
        let mut value: Option<TermId> = None;
        for byte in 0..u32::from(bytes) {
            let at = self.offset_by(location, byte);
            // If reading one byte fails, the whole load is deferred: on each single path, one store
            // may have written all bytes.
            let Ok(read) = self.read(memory, at, Read::Byte) else {
                return self.defer(memory, address, bytes);
            };
            value = Some(value.map_or(read, |low| self.pool.concat(read, low)));
        }
        value.unwrap_or_else(|| self.pool.constant(8, 0))
    }

    /// Returns the footprint of an access to `bytes` bytes at a location: a set that contains at
    /// least the touched bytes.
    pub(crate) fn footprint(&self, at: Location, bytes: u8) -> Footprint {
        Footprint::at(at.region, &self.pool.domain(at.offset), bytes)
    }

    pub(crate) fn offset_by(&mut self, location: Location, byte: u32) -> Location {
        let width = self.pool.width(location.offset);
        let distance = self.pool.constant(width, u64::from(byte));
        Location { offset: self.pool.add(location.offset, distance), ..location }
    }

    fn defer(&mut self, memory: MemId, address: TermId, bytes: u8) -> TermId {
        let name = format!("load{}.{}", self.insn, self.path_variables.len());
        let term = self.pool.var(&name, Domain::full(8 * bytes));
        self.register_path_variable(
            term,
            PathVariable::Deferred { memory, address, bytes, insn: self.insn },
        );
        term
    }

    /// Reads one byte, or several bytes as one term if on every path a single store wrote all of
    /// them. A pointer that was reassembled from single bytes would lose its region.
    ///
    /// Where paths meet, the values on the arcs are read first and then merged. Uses a work list
    /// instead of recursion, because the number of nested merges can be as large as the number of
    /// block instances.
    fn read(&mut self, memory: MemId, at: Location, read: Read) -> Result<TermId, Missing> {
        let footprint = self.footprint(at, read.bytes());
        let memory = self.memory.skip(memory, &footprint);
        let mut work = vec![memory];
        let mut looked_at = 0;
        while let Some(&top) = work.last() {
            if self.reads.contains_key(&(top, at, read)) {
                work.pop();
                continue;
            }
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT {
                return Err(Missing::Unknown);
            }
            let found = match read {
                Read::Slice(bytes) => self.walk_slice(top, at, bytes, &footprint),
                Read::Byte => self.walk(top, at, &footprint),
            };
            let value = match found {
                Found::Value(value) => Ok(value),
                Found::Missing(why) => Err(why),
                Found::Merge { node, incoming, guarded } => {
                    let pending = work.len();
                    let (mut values, mut missing) = (Vec::with_capacity(incoming.len()), None);
                    for &(_, memory) in &incoming {
                        match self.reads.get(&(memory, at, read)) {
                            Some(&Ok(value)) => values.push(value),
                            Some(&Err(why)) => missing = missing.max(Some(why)),
                            None => work.push(memory),
                        }
                    }
                    if missing == Some(Missing::Unknown) {
                        work.truncate(pending);
                    }
                    if work.len() > pending {
                        continue;
                    }
                    let arcs: Vec<ArcId> = incoming.iter().map(|&(arc, _)| arc).collect();
                    match missing {
                        Some(why) => Err(why),
                        None => {
                            let merged = self.merge_values(node, &arcs, &values);
                            Ok(self.fold(guarded, merged))
                        }
                    }
                }
            };
            self.reads.insert((top, at, read), value);
            work.pop();
        }
        self.reads.get(&(memory, at, read)).copied().unwrap_or(Err(Missing::Unknown))
    }

    fn walk_slice(
        &mut self,
        mut memory: MemId,
        at: Location,
        bytes: u8,
        footprint: &Footprint,
    ) -> Found {
        let mut guarded: Vec<(TermId, TermId)> = Vec::new();
        loop {
            memory = self.memory.skip(memory, footprint);
            match self.memory.node(memory) {
                // Initial content is read byte by byte, unless this would split the values of newer
                // stores.
                MemNode::Initial if guarded.is_empty() => return Found::Missing(Missing::Split),
                MemNode::Initial => {
                    let initial = self.initial_slice(at, bytes);
                    return Found::Value(self.fold(guarded, initial));
                }
                &MemNode::Store { prev, location, value, .. } => {
                    let Some(to) = location else { return Found::Missing(Missing::Unknown) };
                    match self.alias(at, to, value, bytes) {
                        Alias::Must(value) => return Found::Value(self.fold(guarded, value)),
                        Alias::Guarded(condition, value) => guarded.push((condition, value)),
                        Alias::No => {}
                        Alias::Partial => return Found::Missing(Missing::Split),
                    }
                    if guarded.len() > MAX_CANDIDATES {
                        return Found::Missing(Missing::Unknown);
                    }
                    memory = prev;
                }
                &MemNode::Clear { prev, location, bytes: count, .. } => {
                    let Some(to) = location else { return Found::Missing(Missing::Unknown) };
                    match self.alias_cleared(at, to, count, bytes) {
                        Alias::Must(value) => return Found::Value(self.fold(guarded, value)),
                        Alias::No => memory = prev,
                        _ => return Found::Missing(Missing::Split),
                    }
                }
                MemNode::Merge { node, incoming } => {
                    let skip = |&(arc, memory)| (arc, self.memory.skip(memory, footprint));
                    let incoming = incoming.iter().map(skip).collect();
                    return Found::Merge { node: *node, incoming, guarded };
                }
            }
        }
    }

    fn walk(&mut self, mut memory: MemId, at: Location, footprint: &Footprint) -> Found {
        let mut guarded: Vec<(TermId, TermId)> = Vec::new();
        let value = loop {
            memory = self.memory.skip(memory, footprint);
            match self.memory.node(memory) {
                MemNode::Initial => break self.initial(at.region, at.offset),
                &MemNode::Store { prev, location, value, .. } => {
                    let Some(to) = location else { return Found::Missing(Missing::Unknown) };
                    match self.alias_byte(at, to, value) {
                        ByteAlias::No => {}
                        ByteAlias::Must(byte) => break byte,
                        ByteAlias::May(bytes) => guarded.extend(bytes),
                    }
                    if guarded.len() > MAX_CANDIDATES {
                        return Found::Missing(Missing::Unknown);
                    }
                    memory = prev;
                }
                &MemNode::Clear { prev, location, bytes, .. } => {
                    let Some(to) = location else { return Found::Missing(Missing::Unknown) };
                    match self.alias_cleared_byte(at, to, bytes) {
                        ByteAlias::No => {}
                        ByteAlias::Must(byte) => break byte,
                        ByteAlias::May(bytes) => guarded.extend(bytes),
                    }
                    if guarded.len() > MAX_CANDIDATES {
                        return Found::Missing(Missing::Unknown);
                    }
                    memory = prev;
                }
                MemNode::Merge { node, incoming } => {
                    let skip = |&(arc, memory)| (arc, self.memory.skip(memory, footprint));
                    let incoming = incoming.iter().map(skip).collect();
                    return Found::Merge { node: *node, incoming, guarded };
                }
            }
        };
        Found::Value(self.fold(guarded, value))
    }

    /// Returns the value of the first pair in `guarded` whose condition holds, or `oldest` if no
    /// condition holds. The pairs contain the values of stores that may have written the bytes,
    /// newest first.
    pub(crate) fn fold(&mut self, guarded: Vec<(TermId, TermId)>, oldest: TermId) -> TermId {
        guarded
            .into_iter()
            .rev()
            .fold(oldest, |older, (condition, byte)| self.pool.ite(condition, byte, older))
    }

    /// Returns the value that a byte has at the start of the program.
    pub(crate) fn initial(&mut self, region: RegionId, offset: TermId) -> TermId {
        match &self.initial[region.index()] {
            Some(given) => given(&mut self.pool, offset),
            None => self.pool.select(self.arrays[region.index()], offset),
        }
    }

    /// Returns the value that several bytes have at the start of the program.
    pub(crate) fn initial_slice(&mut self, at: Location, bytes: u8) -> TermId {
        let mut value = self.initial(at.region, at.offset);
        for byte in 1..u32::from(bytes) {
            let next = self.offset_by(at, byte);
            let read = self.initial(next.region, next.offset);
            value = self.pool.concat(read, value);
        }
        value
    }
}

/// Result of a read that follows the chain of stores, from the newest store to the oldest, up to
/// the first merge of memory states.
enum Found {
    Value(TermId),
    Missing(Missing),
    /// Several memory states merge here. The value depends on the incoming arc, unless one of the
    /// stores in `guarded` wrote the bytes.
    Merge {
        node: NodeId,
        incoming: Vec<(ArcId, MemId)>,
        /// Newer stores that may have written the bytes, newest first. Each has its condition and
        /// the stored value.
        guarded: Vec<(TermId, TermId)>,
    },
}
