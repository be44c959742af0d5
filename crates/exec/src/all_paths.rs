//! Execution along all paths at once: every phi becomes a choice between what arrives over the arcs,
//! by the conditions under which each is taken (gated single assignment: Ottenstein, Ballance and
//! MacCabe, "The program dependence web", PLDI 1990).
//!
//! One term then says what a value is on every path, so that one question is about all of them. Terms
//! are shared, so that they stay about as large as the program; memory is read byte by byte where no
//! single store tells.
//!
//! Whoever owns the graph says over which arcs states arrive at a node, and when each is taken; arcs
//! that it leaves out are taken for impossible. A value is right for every run that comes to where it
//! is defined, and means nothing for others.

mod reading;
mod written;

use crate::ExecError;
use crate::alias::ByteAlias;
use crate::executor::{Executor, PathVariable, SymbolicState};
use crate::index::{ArcId, NodeId};
use crate::memory::{Location, MemId, MemNode};
use rustc_hash::FxHashMap as HashMap;
use slowpath_ir::RegionId;
use slowpath_smt::{Node, TermId};
use slowpath_stop::Ticker;
use std::collections::BTreeSet;

/// Constants below this are null, or null plus the offset of a field, which nobody accesses.
const NULL_PAGE: u64 = 4096;
/// Most places that one access may go to.
const MAX_PLACES: usize = 32;
/// Turns between two looks at whether to stop.
const TURNS: u32 = 32;

/// Resolves terms for all paths together.
#[derive(Debug)]
pub struct AllPaths {
    /// The arcs over which states arrive at a node, each with the condition for it, given that the
    /// node is reached.
    arrivals: HashMap<NodeId, Vec<(ArcId, TermId)>>,
    resolved: HashMap<TermId, TermId>,
    /// What was read: `None` if no single store tells what so many bytes together are.
    read: HashMap<(MemId, Location, u8), Option<TermId>>,
    ticker: Ticker,
}

/// Something to be found out.
#[derive(Clone, Copy, Debug)]
enum Need {
    /// The value of a term.
    Term(TermId),
    /// So many bytes of memory, together.
    Read(MemId, Location, u8),
}

/// What was written.
#[derive(Clone, Copy)]
enum Written {
    Value(TermId),
    /// So many zeros.
    Zeros(TermId),
}

/// Where an access goes, and when; the last place if no condition holds.
type Places = Vec<(TermId, Location)>;

impl Default for AllPaths {
    fn default() -> Self {
        AllPaths::new()
    }
}

impl AllPaths {
    /// Nothing is known of any node yet.
    pub fn new() -> Self {
        AllPaths {
            arrivals: HashMap::default(),
            resolved: HashMap::default(),
            read: HashMap::default(),
            ticker: Ticker::new(TURNS),
        }
    }

    /// Says over which arcs states arrive at a node, with the resolved 1-bit condition under which
    /// each is taken in runs that come to the node; no two hold in the same run. To be said of a node
    /// before anything that depends on it is resolved.
    pub fn arrive(&mut self, node: NodeId, arcs: Vec<(ArcId, TermId)>) {
        self.arrivals.insert(node, arcs);
    }

    /// The value of `term` on all paths.
    ///
    /// # Errors
    /// [`ExecError::UnknownRegion`] when an access may go to a place that no term shows.
    pub fn resolve(&mut self, executor: &mut Executor, term: TermId) -> Result<TermId, ExecError> {
        self.find(executor, Need::Term(term))?;
        Ok(self.resolved[&term])
    }

    /// The value of `bytes` bytes of a region, little-endian, 1 to 8, at a resolved offset; `None` if
    /// the region has no address.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn content(
        &mut self,
        executor: &mut Executor,
        state: &SymbolicState,
        region: RegionId,
        offset: TermId,
        bytes: u8,
    ) -> Result<Option<TermId>, ExecError> {
        if executor.base(region).is_none() {
            return Ok(None);
        }
        let at = Location { region, offset };
        loop {
            let mut work = Vec::new();
            if let Some(value) = self.together(executor, state.memory, at, bytes, &mut work)? {
                return Ok(Some(value));
            }
            for need in work {
                self.find(executor, need)?;
            }
        }
    }

    /// The instructions that may have been the last to write the byte of a region at a resolved
    /// offset, in ascending order, and whether it may be as it was at the start.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn writers(
        &mut self,
        executor: &mut Executor,
        state: &SymbolicState,
        region: RegionId,
        offset: TermId,
    ) -> Result<(Vec<u32>, bool), ExecError> {
        let at = Location { region, offset };
        let footprint = executor.footprint(at, 1);
        let (mut writers, mut initial) = (BTreeSet::new(), false);
        let (mut open, mut seen) = (vec![state.memory], BTreeSet::new());
        while let Some(memory) = open.pop() {
            self.ticker.tick(executor.pool.stop()).map_err(ExecError::Stopped)?;
            let memory = executor.memory.skip(memory, &footprint);
            if !seen.insert(memory.0) {
                continue;
            }
            let (prev, written, places, insn) = match executor.memory.node(memory) {
                MemNode::Initial => {
                    initial = true;
                    continue;
                }
                MemNode::Merge { node, incoming } => {
                    let arcs = self.arrivals.get(node).ok_or_else(off_path)?;
                    let taken = |&&(arc, _): &&(ArcId, MemId)| arcs.iter().any(|a| a.0 == arc);
                    open.extend(incoming.iter().filter(taken).map(|&(_, memory)| memory));
                    continue;
                }
                &MemNode::Store { prev, address, value, insn, .. } => {
                    let places = self.place_of(executor, address, insn)?;
                    (prev, Written::Value(value), places, insn)
                }
                &MemNode::Clear { prev, address, bytes, insn, .. } => {
                    let places = self.place_of(executor, address, insn)?;
                    (prev, Written::Zeros(self.resolve(executor, bytes)?), places, insn)
                }
            };
            let mut whole = false;
            for (condition, to) in places {
                let alias = match written {
                    Written::Value(value) => executor.alias_byte(at, to, value),
                    Written::Zeros(count) => executor.alias_cleared_byte(at, to, count),
                };
                if !matches!(alias, ByteAlias::No) {
                    writers.insert(insn);
                }
                whole |= matches!(alias, ByteAlias::Must(_))
                    && executor.pool.as_const(condition) == Some(1);
            }
            if !whole {
                open.push(prev);
            }
        }
        Ok((writers.into_iter().collect(), initial))
    }

    /// Where an access through an address goes.
    fn place_of(
        &mut self,
        executor: &mut Executor,
        address: TermId,
        insn: u32,
    ) -> Result<Places, ExecError> {
        self.find(executor, Need::Term(address))?;
        let places = self.places(executor, address, insn, &mut Vec::new())?;
        places.ok_or_else(off_path)
    }

    /// Finds something out, and first what it depends on.
    fn find(&mut self, executor: &mut Executor, root: Need) -> Result<(), ExecError> {
        let mut work = vec![root];
        while let Some(&need) = work.last() {
            self.ticker.tick(executor.pool.stop()).map_err(ExecError::Stopped)?;
            if self.knows(need) {
                work.pop();
                continue;
            }
            let before = work.len();
            match need {
                Need::Term(term) => {
                    if let Some(value) = self.term(executor, term, &mut work)? {
                        self.resolved.insert(term, value);
                        self.resolved.insert(value, value);
                    }
                }
                Need::Read(memory, at, bytes) => {
                    let found = if bytes == 1 {
                        self.byte(executor, memory, at, &mut work)?.map(Some)
                    } else {
                        self.slice(executor, memory, at, bytes, &mut work)?
                    };
                    if let Some(found) = found {
                        self.read.insert((memory, at, bytes), found);
                        self.resolved.extend(found.map(|value| (value, value)));
                    }
                }
            }
            // Each turn ends with an answer, or with what has to be known first.
            if work.len() == before && !self.knows(need) {
                return Err(off_path());
            }
        }
        Ok(())
    }

    fn knows(&self, need: Need) -> bool {
        match need {
            Need::Term(term) => self.resolved.contains_key(&term),
            Need::Read(memory, at, bytes) => self.read.contains_key(&(memory, at, bytes)),
        }
    }

    /// The value of a term if all that it depends on is known; else that is added to `work`.
    fn term(
        &mut self,
        executor: &mut Executor,
        term: TermId,
        work: &mut Vec<Need>,
    ) -> Result<Option<TermId>, ExecError> {
        if let Node::Var(var) = *executor.pool.node(term)
            && let Some(leaf) = executor.path_variables.get(&var)
        {
            return match *leaf {
                PathVariable::Phi { node, ref incoming } => {
                    let arcs = self.arrivals.get(&node).ok_or_else(off_path)?;
                    let mut values = Vec::with_capacity(arcs.len());
                    for &(arc, condition) in arcs {
                        let value = incoming.iter().find(|(from, _)| *from == arc);
                        values.push((condition, value.ok_or_else(off_path)?.1));
                    }
                    Ok(self.choose(executor, &values, work))
                }
                PathVariable::Deferred { memory, address, bytes, insn } => {
                    self.load(executor, memory, address, (bytes, insn), work)
                }
            };
        }
        let children: Vec<TermId> = executor.pool.children(term).collect();
        let before = work.len();
        let unknown = children.iter().filter(|child| !self.resolved.contains_key(child));
        work.extend(unknown.map(|&child| Need::Term(child)));
        if work.len() > before {
            return Ok(None);
        }
        let values: Vec<TermId> = children.iter().map(|child| self.resolved[child]).collect();
        Ok(Some(if values == children { term } else { executor.pool.rebuild(term, &values) }))
    }

    /// The value of the first pair whose condition holds, or else of the last one.
    fn choose(
        &self,
        executor: &mut Executor,
        values: &[(TermId, TermId)],
        work: &mut Vec<Need>,
    ) -> Option<TermId> {
        let before = work.len();
        let unknown = values.iter().filter(|(_, value)| !self.resolved.contains_key(value));
        work.extend(unknown.map(|&(_, value)| Need::Term(value)));
        if work.len() > before {
            return None;
        }
        let resolved = values.iter().map(|&(condition, value)| (condition, self.resolved[&value]));
        choice(executor, &resolved.collect::<Vec<_>>())
    }

    /// A load whose address or memory depends on the path.
    fn load(
        &mut self,
        executor: &mut Executor,
        memory: MemId,
        address: TermId,
        (bytes, insn): (u8, u32),
        work: &mut Vec<Need>,
    ) -> Result<Option<TermId>, ExecError> {
        let Some(places) = self.places(executor, address, insn, work)? else { return Ok(None) };
        let mut values = Vec::with_capacity(places.len());
        for (condition, at) in places {
            if let Some(value) = self.together(executor, memory, at, bytes, work)? {
                values.push((condition, value));
            } else {
                return Ok(None);
            }
        }
        Ok(choice(executor, &values))
    }

    /// Bytes that lie together: of one store if it can be, else one by one.
    fn together(
        &mut self,
        executor: &mut Executor,
        memory: MemId,
        at: Location,
        bytes: u8,
        work: &mut Vec<Need>,
    ) -> Result<Option<TermId>, ExecError> {
        match self.read.get(&(memory, at, bytes)) {
            None => {
                work.push(Need::Read(memory, at, bytes));
                return Ok(None);
            }
            Some(&Some(value)) => return Ok(Some(value)),
            Some(None) => {}
        }
        let mut value: Option<TermId> = None;
        let before = work.len();
        for byte in 0..u32::from(bytes) {
            let at = executor.offset_by(at, byte);
            match self.read.get(&(memory, at, 1)) {
                Some(&Some(read)) => {
                    value = Some(value.map_or(read, |low| executor.pool.concat(read, low)));
                }
                _ => work.push(Need::Read(memory, at, 1)),
            }
        }
        Ok(value.filter(|_| work.len() == before))
    }

    /// Where an access through an address goes, whose value is added to `work` if it is not known.
    fn places(
        &mut self,
        executor: &mut Executor,
        address: TermId,
        insn: u32,
        work: &mut Vec<Need>,
    ) -> Result<Option<Places>, ExecError> {
        let Some(&address) = self.resolved.get(&address) else {
            work.push(Need::Term(address));
            return Ok(None);
        };
        let always = executor.pool.bool(true);
        if let Some(at) = executor.locate_access(address) {
            return Ok(Some(vec![(always, at)]));
        }
        let unknown = ExecError::UnknownRegion { insn };
        let (mut places, mut open) = (Places::new(), vec![(always, address)]);
        while let Some((condition, address)) = open.pop() {
            if executor.pool.as_const(address).is_some_and(|constant| constant < NULL_PAGE) {
                continue;
            }
            if let Some(at) = executor.locate_access(address) {
                places.push((condition, at));
            } else if let Some((first, then, other)) = alternatives(executor, address) {
                let when = executor.pool.and(condition, first);
                let otherwise = executor.pool.not(first);
                let otherwise = executor.pool.and(condition, otherwise);
                open.extend([(otherwise, other), (when, then)]);
            } else {
                return Err(unknown);
            }
            if places.len() + open.len() > MAX_PLACES {
                return Err(unknown);
            }
        }
        match &mut places[..] {
            [] => return Err(unknown),
            // Whatever the condition: the only other choices are null.
            [only] => only.0 = always,
            _ => {}
        }
        Ok(Some(places))
    }
}

/// Something was asked for that no arc that is taken leads to: a defect of who asks.
fn off_path() -> ExecError {
    ExecError::OffPath { term: "a value".to_owned() }
}

/// The value of the first pair whose condition holds, or else of the last one.
fn choice(executor: &mut Executor, values: &[(TermId, TermId)]) -> Option<TermId> {
    let (&(_, last), first) = values.split_last()?;
    let over =
        |other, &(condition, value): &(TermId, TermId)| executor.pool.ite(condition, value, other);
    Some(first.iter().rev().fold(last, over))
}

/// The two addresses between which an address chooses, perhaps with a distance added to both.
fn alternatives(executor: &mut Executor, address: TermId) -> Option<(TermId, TermId, TermId)> {
    if let Node::Ite(condition, then, other) = *executor.pool.node(address) {
        return Some((condition, then, other));
    }
    let sum = executor.pool.split_sum(address);
    for &addend in &sum.addends {
        let Node::Ite(condition, then, other) = *executor.pool.node(addend) else { continue };
        let rest = executor.pool.sub(address, addend);
        let [then, other] = [then, other].map(|value| executor.pool.add(value, rest));
        return Some((condition, then, other));
    }
    None
}
