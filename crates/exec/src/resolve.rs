//! Computes the values of terms along one path. Where control flow merges, a term contains a phi.
//! The resolver replaces the phi by the value that arrives along the arc that the path takes.
//!
//! Paths with a common prefix share work. A value depends only on a prefix of the path, and stays
//! known as long as this prefix does not change.

use crate::ExecError;
use crate::alias::{Alias, ByteAlias};
use crate::executor::{Executor, PathVariable};
use crate::index::{ArcId, NodeId};
use crate::memory::{Location, MemId, MemNode};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use slowpath_smt::{Node, TermId};
use slowpath_stop::Ticker;
use std::collections::BTreeSet;

/// Length, in arcs, of a prefix of the path that determines a value; 0 if the value is the same on
/// every path.
type Level = u32;

/// Number of terms resolved between checks of the stop condition.
const TURNS: u32 = 32;

/// Resolver that computes the values of terms along one path.
#[derive(Debug)]
pub struct Resolver {
    path: Vec<(ArcId, NodeId)>,
    /// True if arcs may be missing from the path. Values that depend on them stay unknown.
    partial: bool,
    position: HashMap<NodeId, u32>,
    resolved: HashMap<TermId, (TermId, Level)>,
    /// For each resolved load, the values and arcs that it depends on.
    loads: HashMap<TermId, Origin>,
    by_level: Vec<Vec<TermId>>,
    ticker: Ticker,
}

/// The values and arcs that determine the result of a load on the current path.
#[derive(Clone, Debug, Default)]
struct Origin {
    /// Terms of addresses and stored values on which the result of the load depends.
    terms: Vec<TermId>,
    /// Positions on the path of the arcs that determine the memory state from which the load reads.
    /// These arcs lead to nodes where paths with different memory states merge.
    positions: Vec<Level>,
}

impl Default for Resolver {
    fn default() -> Self {
        Resolver::new()
    }
}

impl Resolver {
    /// Creates a resolver without a path; [`Resolver::follow`] sets one.
    pub fn new() -> Self {
        Resolver {
            path: Vec::new(),
            partial: false,
            position: HashMap::default(),
            resolved: HashMap::default(),
            loads: HashMap::default(),
            by_level: Vec::new(),
            ticker: Ticker::new(TURNS),
        }
    }

    /// Creates a resolver for all paths that take certain arcs. [`Resolver::follow`] sets these
    /// arcs, in the order of the unrolled program. A value that depends on other arcs remains a
    /// variable, which stands for any value.
    pub fn for_arcs() -> Self {
        Resolver { partial: true, ..Resolver::new() }
    }

    /// Sets the current path, given by its arcs in order, each with the node to which it leads.
    /// Keeps results that depend only on the common prefix with the previous path.
    pub fn follow(&mut self, path: &[(ArcId, NodeId)]) {
        let common = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        for (_, node) in self.path.drain(common..) {
            self.position.remove(&node);
        }
        for (index, &step) in path.iter().enumerate().skip(common) {
            self.position.insert(step.1, index as u32 + 1);
            self.path.push(step);
        }
        // Levels are positions counted from 1. Values that depend on at most the first `common`
        // arcs stay valid.
        for terms in self.by_level.drain((common + 1).min(self.by_level.len())..) {
            for term in terms {
                self.resolved.remove(&term);
                self.loads.remove(&term);
            }
        }
    }

    /// Returns the value of `term` on the current path.
    ///
    /// # Errors
    /// [`ExecError::UnknownRegion`] if the region of a load on the path is unknown.
    pub fn resolve(&mut self, executor: &mut Executor, term: TermId) -> Result<TermId, ExecError> {
        self.term(executor, term).map(|(term, _)| term)
    }

    fn term(
        &mut self,
        executor: &mut Executor,
        root: TermId,
    ) -> Result<(TermId, Level), ExecError> {
        let mut work = vec![root];
        while let Some(&term) = work.last() {
            self.ticker.tick(executor.pool.stop()).map_err(ExecError::Stopped)?;
            if self.resolved.contains_key(&term) {
                work.pop();
                continue;
            }
            if let Node::Var(var) = *executor.pool.node(term)
                && let Some(leaf) = executor.path_variables.get(&var)
            {
                match *leaf {
                    PathVariable::Phi { node, ref incoming } => {
                        let what = || executor.pool.display(term);
                        let arriving = self.arriving(what, node, incoming.iter().copied());
                        if self.partial && arriving.is_err() {
                            self.keep(term, term, 0);
                            work.pop();
                            continue;
                        }
                        let (value, position) = arriving?;
                        // The arriving value can itself be a phi. It is resolved first, and this
                        // term afterwards.
                        if let Some(&(resolved, level)) = self.resolved.get(&value) {
                            self.keep(term, resolved, level.max(position));
                            work.pop();
                        } else {
                            work.push(value);
                        }
                    }
                    PathVariable::Deferred { memory, address, bytes, insn } => {
                        let mut origin = Origin::default();
                        let loaded =
                            self.load(executor, memory, address, (bytes, insn), &mut origin);
                        let (value, level) = match loaded {
                            Err(ExecError::Stopped(reason)) => {
                                return Err(ExecError::Stopped(reason));
                            }
                            // Other arcs determine the loaded bytes, or the region.
                            Err(_) if self.partial => (term, 0),
                            loaded => loaded?,
                        };
                        self.loads.insert(term, origin);
                        self.keep(term, value, level);
                        work.pop();
                    }
                }
                continue;
            }
            let children: Vec<TermId> = executor.pool.children(term).collect();
            let before = work.len();
            work.extend(children.iter().filter(|child| !self.resolved.contains_key(child)));
            if work.len() > before {
                continue;
            }
            let mut level = 0;
            let mut values = Vec::with_capacity(children.len());
            for child in &children {
                let (value, child_level) = self.resolved[child];
                level = level.max(child_level);
                values.push(value);
            }
            let value =
                if values == children { term } else { executor.pool.rebuild(term, &values) };
            self.keep(term, value, level);
            work.pop();
        }
        Ok(self.resolved[&root])
    }

    fn keep(&mut self, term: TermId, value: TermId, level: Level) {
        self.resolved.insert(term, (value, level));
        let level = level as usize;
        if self.by_level.len() <= level {
            self.by_level.resize_with(level + 1, Vec::new);
        }
        self.by_level[level].push(term);
    }

    fn arriving<T: Copy>(
        &self,
        what: impl Fn() -> String,
        node: NodeId,
        mut incoming: impl Iterator<Item = (ArcId, T)>,
    ) -> Result<(T, Level), ExecError> {
        let off_path = || ExecError::OffPath { term: what() };
        let &position = self.position.get(&node).ok_or_else(off_path)?;
        let arc = self.path[position as usize - 1].0;
        let value = incoming.find(|(from, _)| *from == arc).ok_or_else(off_path)?.1;
        Ok((value, position))
    }

    fn load(
        &mut self,
        executor: &mut Executor,
        memory: MemId,
        address: TermId,
        (bytes, insn): (u8, u32),
        origin: &mut Origin,
    ) -> Result<(TermId, Level), ExecError> {
        origin.terms.push(address);
        let (address, mut level) = self.term(executor, address)?;
        let at = executor.locate_access(address).ok_or(ExecError::UnknownRegion { insn })?;
        // The dependencies of this attempt count only if it succeeds. Reading byte by byte collects
        // other dependencies.
        let mut walked = origin.clone();
        if let Some((value, slice_level)) = self.slice(executor, memory, at, bytes, &mut walked)? {
            *origin = walked;
            return Ok((value, level.max(slice_level)));
        }
        let mut value: Option<TermId> = None;
        for byte in 0..u32::from(bytes) {
            let at = executor.offset_by(at, byte);
            let (read, byte_level) = self.byte(executor, memory, at, origin)?;
            level = level.max(byte_level);
            value = Some(value.map_or(read, |low| executor.pool.concat(read, low)));
        }
        Ok((value.unwrap_or_else(|| executor.pool.constant(8, 0)), level))
    }

    /// Reads several bytes as one value. Returns `None` if a store may have written only some of
    /// the bytes, or if no store wrote them.
    fn slice(
        &mut self,
        executor: &mut Executor,
        mut memory: MemId,
        at: Location,
        bytes: u8,
        origin: &mut Origin,
    ) -> Result<Option<(TermId, Level)>, ExecError> {
        let mut level = 0;
        let mut guarded = Vec::new();
        let footprint = executor.footprint(at, bytes);
        loop {
            memory = executor.memory.skip(memory, &footprint);
            match executor.memory.node(memory) {
                // Initial content is read byte by byte, as in the executor; no store's value is
                // split.
                MemNode::Initial if guarded.is_empty() => return Ok(None),
                MemNode::Initial => {
                    let initial = executor.initial_slice(at, bytes);
                    return Ok(Some((executor.fold(guarded, initial), level)));
                }
                &MemNode::Store { prev, address, value: stored, insn, .. } => {
                    // The address is a dependency even if the store does not alias, because another
                    // address might alias.
                    origin.terms.push(address);
                    let (to, address_level) = self.location(executor, address, insn)?;
                    level = level.max(address_level);
                    // Regions do not overlap, so the stored value does not matter.
                    if to.region != at.region {
                        memory = prev;
                        continue;
                    }
                    let (value, value_level) = self.term(executor, stored)?;
                    let alias = executor.alias(at, to, value, bytes);
                    // The stored value is a dependency only if the load sees it. A nogood with
                    // fewer arcs excludes more paths.
                    if matches!(alias, Alias::Must(_) | Alias::Guarded(..)) {
                        origin.terms.push(stored);
                        level = level.max(value_level);
                    }
                    match alias {
                        Alias::Must(value) => {
                            return Ok(Some((executor.fold(guarded, value), level)));
                        }
                        Alias::Guarded(condition, value) => guarded.push((condition, value)),
                        Alias::No => {}
                        Alias::Partial => return Ok(None),
                    }
                    memory = prev;
                }
                &MemNode::Clear { prev, address, bytes: count, insn, .. } => {
                    origin.terms.extend([address, count]);
                    let (to, count, clear_level) = self.cleared(executor, address, count, insn)?;
                    level = level.max(clear_level);
                    match executor.alias_cleared(at, to, count, bytes) {
                        Alias::Must(value) => {
                            return Ok(Some((executor.fold(guarded, value), level)));
                        }
                        Alias::No => memory = prev,
                        _ => return Ok(None),
                    }
                }
                MemNode::Merge { node, incoming } => {
                    let (next, position) = self.arriving_memory(*node, incoming)?;
                    origin.positions.push(position);
                    level = level.max(position);
                    memory = next;
                }
            }
        }
    }

    /// Returns the location to which a store writes on the current path.
    fn location(
        &mut self,
        executor: &mut Executor,
        address: TermId,
        insn: u32,
    ) -> Result<(Location, Level), ExecError> {
        let (address, level) = self.term(executor, address)?;
        let to = executor.locate_access(address).ok_or(ExecError::UnknownRegion { insn })?;
        Ok((to, level))
    }

    /// Returns the location and the number of the bytes that a clearing operation sets to zero on
    /// the current path.
    fn cleared(
        &mut self,
        executor: &mut Executor,
        address: TermId,
        count: TermId,
        insn: u32,
    ) -> Result<(Location, TermId, Level), ExecError> {
        let (to, level) = self.location(executor, address, insn)?;
        let (count, count_level) = self.term(executor, count)?;
        Ok((to, count, level.max(count_level)))
    }

    /// Returns the memory state at `node`, where paths merge, for the arc along which the current
    /// path enters it.
    fn arriving_memory(
        &self,
        node: NodeId,
        incoming: &[(ArcId, MemId)],
    ) -> Result<(MemId, Level), ExecError> {
        let what = || format!("memory at {}", node.0);
        self.arriving(what, node, incoming.iter().copied())
    }

    fn byte(
        &mut self,
        executor: &mut Executor,
        mut memory: MemId,
        at: Location,
        origin: &mut Origin,
    ) -> Result<(TermId, Level), ExecError> {
        let mut level = 0;
        let mut guarded = Vec::new();
        let footprint = executor.footprint(at, 1);
        let value = loop {
            memory = executor.memory.skip(memory, &footprint);
            match executor.memory.node(memory) {
                MemNode::Initial => break executor.initial(at.region, at.offset),
                &MemNode::Store { prev, address, value: stored, insn, .. } => {
                    origin.terms.push(address);
                    let (to, address_level) = self.location(executor, address, insn)?;
                    level = level.max(address_level);
                    if to.region != at.region {
                        memory = prev;
                        continue;
                    }
                    let (value, value_level) = self.term(executor, stored)?;
                    let alias = executor.alias_byte(at, to, value);
                    if !matches!(alias, ByteAlias::No) {
                        origin.terms.push(stored);
                        level = level.max(value_level);
                    }
                    match alias {
                        ByteAlias::No => {}
                        ByteAlias::Must(byte) => break byte,
                        ByteAlias::May(bytes) => guarded.extend(bytes),
                    }
                    memory = prev;
                }
                &MemNode::Clear { prev, address, bytes, insn, .. } => {
                    origin.terms.extend([address, bytes]);
                    let (to, count, clear_level) = self.cleared(executor, address, bytes, insn)?;
                    level = level.max(clear_level);
                    match executor.alias_cleared_byte(at, to, count) {
                        ByteAlias::No => {}
                        ByteAlias::Must(byte) => break byte,
                        ByteAlias::May(bytes) => guarded.extend(bytes),
                    }
                    memory = prev;
                }
                MemNode::Merge { node, incoming } => {
                    let (next, position) = self.arriving_memory(*node, incoming)?;
                    origin.positions.push(position);
                    level = level.max(position);
                    memory = next;
                }
            }
        };
        Ok((executor.fold(guarded, value), level))
    }

    /// Returns the arcs of the current path that determine the value of `term`. The term has the
    /// same value on every path that takes all these arcs. The term must have been resolved.
    pub fn reasons(&self, executor: &Executor, term: TermId) -> BTreeSet<ArcId> {
        let mut arcs = BTreeSet::new();
        let mut seen = HashSet::default();
        let mut work = vec![term];
        while let Some(term) = work.pop() {
            // A value that is equal on every path depends on no arcs.
            if !seen.insert(term) || matches!(self.resolved.get(&term), Some((_, 0))) {
                continue;
            }
            // Sound because a decisive operand alone fixes the value, whatever the other operands
            // are.
            if let Some(decisive) = self.decisive(executor, term) {
                work.extend(decisive);
                continue;
            }
            work.extend(executor.pool.children(term));
            let Node::Var(var) = *executor.pool.node(term) else { continue };
            let arc = |position: Level| self.path[position as usize - 1].0;
            match executor.path_variables.get(&var) {
                Some(PathVariable::Phi { node, incoming }) => {
                    let what = || executor.pool.display(term);
                    let incoming = incoming.iter().copied();
                    if let Ok((value, position)) = self.arriving(what, *node, incoming) {
                        arcs.insert(arc(position));
                        work.push(value);
                    }
                }
                // The load depends on the arcs over which memory states arrived, and on the
                // addresses and values seen. If these are equal, the walk passes the same stores.
                Some(PathVariable::Deferred { .. }) => match self.loads.get(&term) {
                    Some(origin) => {
                        arcs.extend(origin.positions.iter().map(|&position| arc(position)));
                        work.extend(&origin.terms);
                    }
                    // A load that was not resolved may depend on the whole path.
                    None => arcs.extend(self.path.iter().map(|&(arc, _)| arc)),
                },
                None => {}
            }
        }
        arcs
    }

    /// Returns the operands that alone determine a term's value on the current path. The operands
    /// of a choice are the condition and the chosen value; a factor of zero determines a product.
    /// Returns `None` if all operands matter.
    fn decisive(&self, executor: &Executor, term: TermId) -> Option<Vec<TermId>> {
        let constant = |term: TermId| {
            let (value, _) = self.resolved.get(&term)?;
            executor.pool.as_const(*value)
        };
        let absorbing = |a: TermId, b: TermId, value: u64| {
            [a, b].into_iter().find(|&t| constant(t) == Some(value)).map(|t| vec![t])
        };
        match *executor.pool.node(term) {
            Node::Ite(condition, then, other) => {
                let taken = if constant(condition)? == 0 { other } else { then };
                Some(vec![condition, taken])
            }
            Node::And(a, b) | Node::Mul(a, b) => absorbing(a, b, 0),
            Node::Or(a, b) => {
                absorbing(a, b, u64::MAX >> (64 - u32::from(executor.pool.width(term))))
            }
            _ => None,
        }
    }
}
