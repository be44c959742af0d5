//! Computes terms that describe values on all paths of a program at once. Each phi (a value that
//! depends on the incoming arc) becomes a choice between the values on its arcs. The conditions of
//! the choice are those under which a run takes the arcs (gated single assignment: Ottenstein,
//! Ballance and MacCabe, "The program dependence web", PLDI 1990).
//!
//! A single query about such a term covers all paths. Terms are shared and stay about as large as
//! the program. Memory is read byte by byte where no single store determines the value.
//!
//! The caller owns the graph. For each node, it states the incoming arcs and their conditions; arcs
//! that it omits count as impossible. A value is correct for every run that reaches its definition,
//! and meaningless for other runs.

mod reading;
mod written;

use crate::ExecError;
use crate::alias::ByteAlias;
use crate::executor::{Executor, PathVariable, SymbolicState};
use crate::index::{ArcId, NodeId};
use crate::locate::NULL_PAGE;
use crate::memory::{Location, MemId, MemNode};
use rustc_hash::FxHashMap as HashMap;
use slowpath_ir::RegionId;
use slowpath_smt::{Node, TermId};
use slowpath_stop::Ticker;
use std::collections::BTreeSet;

/// Maximum number of locations between which the address of one memory access may choose.
const MAX_PLACES: usize = 32;
/// Number of steps between checks of the stop condition.
const TURNS: u32 = 32;

/// A resolver that computes terms for the values on all paths together.
#[derive(Debug)]
pub struct AllPaths {
    /// For each node, its incoming arcs, each with the condition under which a run takes it. The
    /// condition is meaningful only for runs that reach the node.
    arrivals: HashMap<NodeId, Vec<(ArcId, TermId)>>,
    resolved: HashMap<TermId, TermId>,
    /// Results of reading several bytes as one value; the `u8` is their number. `None` if no single
    /// store wrote all of these bytes.
    read: HashMap<(MemId, Location, u8), Option<TermId>>,
    ticker: Ticker,
}

/// A value that has to be computed before another value, which depends on it.
#[derive(Clone, Copy, Debug)]
enum Need {
    /// The value of a term.
    Term(TermId),
    /// The value of several bytes at a location in a memory state, read as one value. The `u8` is
    /// the number of bytes.
    Read(MemId, Location, u8),
}

/// The change that a write makes to the bytes that it touches.
#[derive(Clone, Copy)]
enum Written {
    Value(TermId),
    /// The bytes become zero. The term is the number of these bytes.
    Zeros(TermId),
}

/// Possible locations of an access, each with its condition. If none of the conditions holds, the
/// access goes to the last location.
type Places = Vec<(TermId, Location)>;

impl Default for AllPaths {
    fn default() -> Self {
        AllPaths::new()
    }
}

impl AllPaths {
    /// Creates a resolver without any nodes; [`AllPaths::arrive`] adds them.
    pub fn new() -> Self {
        AllPaths {
            arrivals: HashMap::default(),
            resolved: HashMap::default(),
            read: HashMap::default(),
            ticker: Ticker::new(TURNS),
        }
    }

    /// Tells the resolver the arcs into a node, each with a resolved 1-bit condition. A run that
    /// reaches the node takes the arc whose condition holds; at most one condition may hold. Call
    /// this before resolving any term that depends on the node.
    pub fn arrive(&mut self, node: NodeId, arcs: Vec<(ArcId, TermId)>) {
        self.arrivals.insert(node, arcs);
    }

    /// Returns a term for the value of `term` on all paths.
    ///
    /// # Errors
    ///
    /// [`ExecError::UnknownRegion`] if the region of an access cannot be seen from the term of its
    /// address.
    pub fn resolve(&mut self, executor: &mut Executor, term: TermId) -> Result<TermId, ExecError> {
        self.find(executor, Need::Term(term))?;
        Ok(self.resolved[&term])
    }

    /// Returns the value of `bytes` bytes (1 to 8, little-endian) of a region, starting at a
    /// resolved offset. Returns `None` if the region has no address.
    ///
    /// # Errors
    ///
    /// The errors of [`resolve`](Self::resolve).
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

    /// Returns the instructions that may have written the current value of a byte, in ascending
    /// order. The byte is given by its region and a resolved offset. The returned flag is true if
    /// the byte may still have its initial value.
    ///
    /// # Errors
    ///
    /// The errors of [`resolve`](Self::resolve).
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

    /// Resolves an address. Returns the possible locations that it points to, each with its
    /// condition.
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

    /// Computes the value `root`, and before it all values that it depends on.
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
            // Each step either computes the value or adds a value that it depends on.
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

    /// Computes the value of a term if the values that it depends on are known. Otherwise adds the
    /// missing values to the work list `work` and returns `None`.
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

    /// Returns the value of the first pair whose condition holds, or of the last pair if no
    /// condition holds. If required values are missing, adds them to the work list `work`.
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

    /// Returns the value of a load whose address or memory state differs between paths. If required
    /// values are missing, adds them to the work list `work` and returns `None`.
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

    /// Reads `bytes` consecutive bytes: as one value if a single store wrote them all, otherwise
    /// byte by byte. If required values are missing, adds them to the work list `work` and returns
    /// `None`.
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

    /// Returns the possible locations of an access. If the value of the address is not known yet,
    /// adds it to the work list `work` and returns `None`.
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
            // The condition does not matter, because all other choices are null.
            [only] => only.0 = always,
            _ => {}
        }
        Ok(Some(places))
    }
}

/// Returns the error for a value that none of the incoming arcs defines, which is a defect of the
/// caller.
fn off_path() -> ExecError {
    ExecError::OffPath { term: "a value".to_owned() }
}

/// Returns the value of the first pair whose condition holds, or of the last pair if no condition
/// holds. Each pair consists of a condition and a value.
fn choice(executor: &mut Executor, values: &[(TermId, TermId)]) -> Option<TermId> {
    let (&(_, last), first) = values.split_last()?;
    let over =
        |other, &(condition, value): &(TermId, TermId)| executor.pool.ite(condition, value, other);
    Some(first.iter().rev().fold(last, over))
}

/// Splits an address that is a choice between two addresses, possibly plus an offset. Returns the
/// condition of the choice, and both addresses with the offset added to each.
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
