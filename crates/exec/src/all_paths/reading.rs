//! Reads memory on all paths at once. A read visits the stores that may have written the bytes,
//! newest first, each with its condition. It ends at the initial content.

use super::{AllPaths, Need, Places, choice, off_path};
use crate::ExecError;
use crate::alias::{Alias, ByteAlias};
use crate::executor::Executor;
use crate::index::{ArcId, NodeId};
use crate::memory::{Location, MemId, MemNode};
use slowpath_smt::TermId;

impl AllPaths {
    /// Reads one byte, which any store may have written.
    pub(super) fn byte(
        &mut self,
        executor: &mut Executor,
        mut memory: MemId,
        at: Location,
        work: &mut Vec<Need>,
    ) -> Result<Option<TermId>, ExecError> {
        let footprint = executor.footprint(at, 1);
        // Conditions and values of stores that may have written the byte, newest first.
        let mut guarded: Vec<(TermId, TermId)> = Vec::new();
        let oldest = loop {
            self.ticker.tick(executor.pool.stop()).map_err(ExecError::Stopped)?;
            memory = executor.memory.skip(memory, &footprint);
            match executor.memory.node(memory) {
                MemNode::Initial => {
                    let initial = executor.initial(at.region, at.offset);
                    self.resolved.insert(initial, initial);
                    break initial;
                }
                &MemNode::Store { prev, address, value, insn, .. } => {
                    let Some(to) = self.places(executor, address, insn, work)? else {
                        return Ok(None);
                    };
                    let alias = |executor: &mut Executor, to| executor.alias_byte(at, to, value);
                    if let Some(byte) = passed(executor, &to, alias, &mut guarded) {
                        break byte;
                    }
                    memory = prev;
                }
                &MemNode::Clear { prev, address, bytes, insn, .. } => {
                    let Some((to, count)) = self.cleared(executor, address, bytes, insn, work)?
                    else {
                        return Ok(None);
                    };
                    let alias =
                        |executor: &mut Executor, to| executor.alias_cleared_byte(at, to, count);
                    if let Some(byte) = passed(executor, &to, alias, &mut guarded) {
                        break byte;
                    }
                    memory = prev;
                }
                MemNode::Merge { node, incoming } => {
                    let (node, incoming) = (*node, incoming.clone());
                    let read = self.merged(executor, node, &incoming, at, 1, work)?;
                    let Some(read) = read else { return Ok(None) };
                    let read = read.ok_or_else(off_path)?;
                    self.resolved.insert(read, read);
                    break read;
                }
            }
        };
        self.fold(executor, guarded, oldest, work)
    }

    /// Tries to read several bytes as one value. `Ok(Some(None))` means that they must be read one
    /// by one, because a store may have written only some of them, or no store wrote them.
    /// `Ok(None)` means that required values were missing, which were added to the work list
    /// `work`.
    pub(super) fn slice(
        &mut self,
        executor: &mut Executor,
        mut memory: MemId,
        at: Location,
        bytes: u8,
        work: &mut Vec<Need>,
    ) -> Result<Option<Option<TermId>>, ExecError> {
        let footprint = executor.footprint(at, bytes);
        let mut guarded: Vec<(TermId, TermId)> = Vec::new();
        let oldest = loop {
            self.ticker.tick(executor.pool.stop()).map_err(ExecError::Stopped)?;
            memory = executor.memory.skip(memory, &footprint);
            match executor.memory.node(memory) {
                MemNode::Initial => {
                    let initial = executor.initial_slice(at, bytes);
                    self.resolved.insert(initial, initial);
                    break initial;
                }
                &MemNode::Store { prev, address, value, insn, .. } => {
                    let Some(to) = self.places(executor, address, insn, work)? else {
                        return Ok(None);
                    };
                    let mut found = None;
                    for &(condition, to) in &to {
                        match (
                            executor.alias(at, to, value, bytes),
                            executor.pool.as_const(condition),
                        ) {
                            (Alias::No, _) => {}
                            (Alias::Must(value), Some(1)) => found = Some(value),
                            (Alias::Must(value), _) => guarded.push((condition, value)),
                            (Alias::Guarded(inside, value), _) => {
                                guarded.push((executor.pool.and(condition, inside), value));
                            }
                            (Alias::Partial, _) => return Ok(Some(None)),
                        }
                    }
                    if let Some(value) = found {
                        break value;
                    }
                    memory = prev;
                }
                &MemNode::Clear { prev, address, bytes: count, insn, .. } => {
                    let Some((to, count)) = self.cleared(executor, address, count, insn, work)?
                    else {
                        return Ok(None);
                    };
                    let mut found = None;
                    for &(condition, to) in &to {
                        let whole = executor.pool.as_const(condition) == Some(1);
                        match executor.alias_cleared(at, to, count, bytes) {
                            Alias::No => {}
                            Alias::Must(value) if whole => found = Some(value),
                            _ => return Ok(Some(None)),
                        }
                    }
                    if let Some(value) = found {
                        break value;
                    }
                    memory = prev;
                }
                MemNode::Merge { node, incoming } => {
                    let (node, incoming) = (*node, incoming.clone());
                    match self.merged(executor, node, &incoming, at, bytes, work)? {
                        None => return Ok(None),
                        Some(None) => return Ok(Some(None)),
                        Some(Some(value)) => {
                            self.resolved.insert(value, value);
                            break value;
                        }
                    }
                }
            }
        };
        Ok(self.fold(executor, guarded, oldest, work)?.map(Some))
    }

    /// Reads bytes at a node where the memory states of several paths merge. `Ok(Some(None))` means
    /// that the bytes must be read one by one. `Ok(None)` means that required values were missing,
    /// which were added to the work list `work`.
    fn merged(
        &mut self,
        executor: &mut Executor,
        node: NodeId,
        incoming: &[(ArcId, MemId)],
        at: Location,
        bytes: u8,
        work: &mut Vec<Need>,
    ) -> Result<Option<Option<TermId>>, ExecError> {
        let arcs = self.arrivals.get(&node).ok_or_else(off_path)?;
        let footprint = executor.footprint(at, bytes);
        let (mut values, mut apart) = (Vec::with_capacity(arcs.len()), false);
        let before = work.len();
        for &(arc, condition) in arcs {
            let arriving = incoming.iter().find(|(from, _)| *from == arc).ok_or_else(off_path)?;
            let memory = executor.memory.skip(arriving.1, &footprint);
            match self.read.get(&(memory, at, bytes)) {
                None => work.push(Need::Read(memory, at, bytes)),
                Some(&Some(value)) => values.push((condition, value)),
                Some(None) => apart = true,
            }
        }
        if apart {
            work.truncate(before);
            return Ok(Some(None));
        }
        Ok((work.len() == before).then(|| choice(executor, &values)))
    }

    /// Returns the value of the first pair in `guarded` whose condition holds, or `oldest` if no
    /// condition holds. The pairs contain the conditions and values of stores, newest first. This
    /// function resolves the values.
    fn fold(
        &mut self,
        executor: &mut Executor,
        guarded: Vec<(TermId, TermId)>,
        oldest: TermId,
        work: &mut Vec<Need>,
    ) -> Result<Option<TermId>, ExecError> {
        let before = work.len();
        let mut value = |term| {
            let known = self.resolved.get(&term).copied();
            if known.is_none() {
                work.push(Need::Term(term));
            }
            known.unwrap_or(term)
        };
        let oldest = value(oldest);
        let guarded: Vec<(TermId, TermId)> =
            guarded.into_iter().map(|(condition, stored)| (condition, value(stored))).collect();
        Ok((work.len() == before).then(|| executor.fold(guarded, oldest)))
    }

    /// Returns the possible locations of an operation that sets bytes to zero, and the number of
    /// these bytes. If required values are missing, adds them to the work list `work` and returns
    /// `None`.
    fn cleared(
        &mut self,
        executor: &mut Executor,
        address: TermId,
        count: TermId,
        insn: u32,
        work: &mut Vec<Need>,
    ) -> Result<Option<(Places, TermId)>, ExecError> {
        let Some(&known) = self.resolved.get(&count) else {
            work.push(Need::Term(count));
            return Ok(None);
        };
        let places = self.places(executor, address, insn, work)?;
        Ok(places.map(|places| (places, known)))
    }
}

/// Applies a store with several possible locations to a later read of one byte. If the store
/// certainly wrote the byte, returns its value. Otherwise adds the possible values with their
/// conditions to `guarded`.
fn passed(
    executor: &mut Executor,
    places: &Places,
    mut alias: impl FnMut(&mut Executor, Location) -> ByteAlias,
    guarded: &mut Vec<(TermId, TermId)>,
) -> Option<TermId> {
    for &(condition, to) in places {
        match (alias(executor, to), executor.pool.as_const(condition)) {
            (ByteAlias::No, _) => {}
            (ByteAlias::Must(byte), Some(1)) => return Some(byte),
            (ByteAlias::Must(byte), _) => guarded.push((condition, byte)),
            (ByteAlias::May(bytes), _) => {
                for (inside, byte) in bytes {
                    guarded.push((executor.pool.and(condition, inside), byte));
                }
            }
        }
    }
    None
}
