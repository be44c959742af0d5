//! Execution along one path: the terms of all paths together, with every phi replaced by what
//! arrives over the path's arc.
//!
//! Work is shared between paths with a common prefix: a value depends on the arcs up to some
//! position only, and stays known as long as the prefix up to there does.

use crate::ExecError;
use crate::load::{Cover, Hit};
use crate::machine::{ArcId, Leaf, Machine, PointId};
use crate::memory::{Location, MemId, MemNode};
use slowpath_smt::{Node, TermId};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Position on the path behind which a resolved term does not look; 0 = holds on every path.
type Level = u32;

/// Resolves terms along paths.
#[derive(Debug, Default)]
pub struct Resolver {
    path: Vec<(ArcId, PointId)>,
    position: HashMap<PointId, u32>,
    resolved: HashMap<TermId, (TermId, Level)>,
    by_level: Vec<Vec<TermId>>,
}

impl Resolver {
    /// No path yet.
    pub fn new() -> Self {
        Resolver::default()
    }

    /// Moves to a path: its arcs in order, each with the point it leads to. What is known about
    /// the common prefix with the previous path is kept.
    pub fn follow(&mut self, path: &[(ArcId, PointId)]) {
        let common = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        for (_, point) in self.path.drain(common..) {
            self.position.remove(&point);
        }
        for (index, &step) in path.iter().enumerate().skip(common) {
            self.position.insert(step.1, index as u32 + 1);
            self.path.push(step);
        }
        for terms in self.by_level.drain((common + 1).min(self.by_level.len())..) {
            for term in terms {
                self.resolved.remove(&term);
            }
        }
    }

    /// The value of `term` on the current path.
    ///
    /// # Errors
    /// [`ExecError::UnknownRegion`] when a load on the path has no known region.
    pub fn resolve(&mut self, machine: &mut Machine, term: TermId) -> Result<TermId, ExecError> {
        self.term(machine, term).map(|(term, _)| term)
    }

    fn term(&mut self, machine: &mut Machine, root: TermId) -> Result<(TermId, Level), ExecError> {
        let mut work = vec![root];
        while let Some(&term) = work.last() {
            if self.resolved.contains_key(&term) {
                work.pop();
                continue;
            }
            if let Node::Var(var) = *machine.pool.node(term)
                && let Some(leaf) = machine.leaves.get(&var)
            {
                match leaf.clone() {
                    Leaf::Phi { point, incoming } => {
                        let (value, position) =
                            self.arriving(|| machine.pool.display(term), point, &incoming)?;
                        if let Some(&(resolved, level)) = self.resolved.get(&value) {
                            self.keep(term, resolved, level.max(position));
                            work.pop();
                        } else {
                            work.push(value);
                        }
                    }
                    Leaf::Deferred { memory, address, bytes, insn } => {
                        let (value, level) = self.load(machine, memory, address, bytes, insn)?;
                        self.keep(term, value, level);
                        work.pop();
                    }
                }
                continue;
            }
            let children: Vec<TermId> = machine.pool.children(term).collect();
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
            let value = if values == children { term } else { machine.pool.rebuild(term, &values) };
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
        point: PointId,
        incoming: &[(ArcId, T)],
    ) -> Result<(T, Level), ExecError> {
        let off_path = || ExecError::OffPath { term: what() };
        let &position = self.position.get(&point).ok_or_else(off_path)?;
        let arc = self.path[position as usize - 1].0;
        let value = incoming.iter().find(|(from, _)| *from == arc).ok_or_else(off_path)?.1;
        Ok((value, position))
    }

    fn load(
        &mut self,
        machine: &mut Machine,
        memory: MemId,
        address: TermId,
        bytes: u8,
        insn: u32,
    ) -> Result<(TermId, Level), ExecError> {
        let (address, mut level) = self.term(machine, address)?;
        let at = machine.locate_access(address).ok_or(ExecError::UnknownRegion { insn })?;
        if let Some((value, slice_level)) = self.slice(machine, memory, at, bytes)? {
            return Ok((value, level.max(slice_level)));
        }
        let mut value: Option<TermId> = None;
        for byte in 0..u32::from(bytes) {
            let at = machine.offset_by(at, byte);
            let (read, byte_level) = self.byte(machine, memory, at)?;
            level = level.max(byte_level);
            value = Some(value.map_or(read, |low| machine.pool.concat(read, low)));
        }
        Ok((value.unwrap_or_else(|| machine.pool.constant(8, 0)), level))
    }

    /// Several bytes that one store wrote, or one of several; `None` when no single store did.
    fn slice(
        &mut self,
        machine: &mut Machine,
        mut memory: MemId,
        at: Location,
        bytes: u8,
    ) -> Result<Option<(TermId, Level)>, ExecError> {
        let mut level = 0;
        let mut maybe = Vec::new();
        loop {
            match machine.memory.node(memory).clone() {
                MemNode::Initial if maybe.is_empty() => return Ok(None),
                MemNode::Initial => {
                    let initial = machine.initial_slice(at, bytes);
                    return Ok(Some((machine.fold(maybe, initial), level)));
                }
                MemNode::Store { prev, address, value, insn, .. } => {
                    let (address, address_level) = self.term(machine, address)?;
                    let to =
                        machine.locate_access(address).ok_or(ExecError::UnknownRegion { insn })?;
                    let (value, value_level) = self.term(machine, value)?;
                    level = level.max(address_level);
                    match machine.cover(at, to, value, bytes) {
                        Cover::All(value) => {
                            let value = machine.fold(maybe, value);
                            return Ok(Some((value, level.max(value_level))));
                        }
                        Cover::When(condition, value) => {
                            level = level.max(value_level);
                            maybe.push((condition, value));
                            memory = prev;
                        }
                        Cover::None => memory = prev,
                        Cover::Perhaps => return Ok(None),
                    }
                }
                MemNode::Merge { point, incoming } => {
                    let (next, position) = self.arriving_memory(point, &incoming)?;
                    level = level.max(position);
                    memory = next;
                }
            }
        }
    }

    /// The state of memory that arrives at a merge.
    fn arriving_memory(
        &self,
        point: u32,
        incoming: &[(u32, MemId)],
    ) -> Result<(MemId, Level), ExecError> {
        let incoming: Vec<(ArcId, MemId)> =
            incoming.iter().map(|&(arc, memory)| (ArcId(arc), memory)).collect();
        self.arriving(|| format!("memory at {point}"), PointId(point), &incoming)
    }

    fn byte(
        &mut self,
        machine: &mut Machine,
        mut memory: MemId,
        at: Location,
    ) -> Result<(TermId, Level), ExecError> {
        let mut level = 0;
        let mut maybe = Vec::new();
        let value = loop {
            match machine.memory.node(memory).clone() {
                MemNode::Initial => break machine.initial(at.region, at.offset),
                MemNode::Store { prev, address, value, insn, .. } => {
                    let (address, address_level) = self.term(machine, address)?;
                    let to: Location =
                        machine.locate_access(address).ok_or(ExecError::UnknownRegion { insn })?;
                    let (value, value_level) = self.term(machine, value)?;
                    level = level.max(address_level);
                    match machine.hit(at, to, value) {
                        Hit::Never => {}
                        Hit::Always(byte) => {
                            level = level.max(value_level);
                            break byte;
                        }
                        Hit::Perhaps(bytes) => {
                            level = level.max(value_level);
                            maybe.extend(bytes);
                        }
                    }
                    memory = prev;
                }
                MemNode::Merge { point, incoming } => {
                    let (next, position) = self.arriving_memory(point, &incoming)?;
                    level = level.max(position);
                    memory = next;
                }
            }
        };
        Ok((machine.fold(maybe, value), level))
    }

    /// The arcs of the current path that determine the value of `term` on it: every path that
    /// takes them all gives the term the same value.
    pub fn reasons(&self, machine: &Machine, term: TermId) -> BTreeSet<ArcId> {
        let mut arcs = BTreeSet::new();
        let (mut seen, mut seen_memory) = (HashSet::new(), HashSet::new());
        let (mut work, mut memories) = (vec![term], Vec::new());
        loop {
            if let Some(term) = work.pop() {
                if !seen.insert(term) {
                    continue;
                }
                work.extend(machine.pool.children(term));
                let Node::Var(var) = *machine.pool.node(term) else { continue };
                match machine.leaves.get(&var) {
                    Some(Leaf::Phi { point, incoming }) => {
                        if let Ok((value, position)) =
                            self.arriving(|| machine.pool.display(term), *point, incoming)
                        {
                            arcs.insert(self.path[position as usize - 1].0);
                            work.push(value);
                        }
                    }
                    Some(&Leaf::Deferred { memory, address, .. }) => {
                        work.push(address);
                        memories.push(memory);
                    }
                    None => {}
                }
            } else if let Some(memory) = memories.pop() {
                if !seen_memory.insert(memory) {
                    continue;
                }
                match machine.memory.node(memory) {
                    MemNode::Initial => {}
                    &MemNode::Store { prev, address, value, .. } => {
                        work.extend([address, value]);
                        memories.push(prev);
                    }
                    MemNode::Merge { point, incoming } => {
                        let arriving = self.arriving_memory(*point, incoming);
                        if let Ok((next, position)) = arriving {
                            arcs.insert(self.path[position as usize - 1].0);
                            memories.push(next);
                        }
                    }
                }
            } else {
                return arcs;
            }
        }
    }
}
