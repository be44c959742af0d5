//! Lists the writes to memory on all paths from one memory state to another.

use super::{AllPaths, off_path};
use crate::ExecError;
use crate::executor::{Executor, SymbolicState};
use crate::inspect::Written;
use crate::memory::{MemId, MemNode};
use std::collections::BTreeSet;

impl AllPaths {
    /// Returns all writes on any path from one memory state to another, in no particular order. A
    /// write with several possible locations appears once for each location. Locations are
    /// resolved, values are not.
    ///
    /// # Errors
    ///
    /// The errors of [`resolve`](Self::resolve).
    pub fn written(
        &mut self,
        executor: &mut Executor,
        from: &SymbolicState,
        to: &SymbolicState,
    ) -> Result<Vec<Written>, ExecError> {
        let mut written = Vec::new();
        let (mut open, mut seen) = (vec![to.memory], BTreeSet::from([from.memory.0]));
        while let Some(memory) = open.pop() {
            self.ticker.tick(executor.pool.stop()).map_err(ExecError::Stopped)?;
            if !seen.insert(memory.0) {
                continue;
            }
            let (prev, address, value, insn) = match executor.memory.node(memory) {
                MemNode::Initial => continue,
                MemNode::Merge { node, incoming } => {
                    let arcs = self.arrivals.get(node).ok_or_else(off_path)?;
                    let taken = |&&(arc, _): &&(_, MemId)| arcs.iter().any(|a| a.0 == arc);
                    open.extend(incoming.iter().filter(taken).map(|&(_, memory)| memory));
                    continue;
                }
                &MemNode::Store { prev, address, value, insn, .. } => {
                    (prev, address, Some(value), insn)
                }
                &MemNode::Clear { prev, address, insn, .. } => (prev, address, None, insn),
            };
            open.push(prev);
            for (_, location) in self.place_of(executor, address, insn)? {
                written.push(Written { location: Some(location), value, insn });
            }
        }
        Ok(written)
    }
}
