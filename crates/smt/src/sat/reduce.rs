//! Deletes learnt clauses that are rarely useful.

use super::Sat;
use super::arena::{Arena, ClauseId};

/// Learnt clauses with at most this number of distinct decision levels are never deleted.
const GLUE: u32 = 2;

impl Sat {
    /// Deletes the less useful half of the learnt clauses. The trail must contain no decisions.
    pub(super) fn reduce(&mut self) {
        let mut candidates: Vec<ClauseId> = self.learnt.clone();
        candidates.retain(|&id| self.clauses.levels(id).is_some_and(|levels| levels > GLUE));
        // Clauses with more levels are deleted first; among equals longer ones, then older ones.
        candidates.sort_by_key(|&id| {
            (std::cmp::Reverse((self.clauses.levels(id), self.clauses.len(id))), id)
        });
        candidates.truncate(candidates.len() / 2);
        candidates.sort_unstable();
        let gone = |id: ClauseId| candidates.binary_search(&id).is_ok();
        for &id in &candidates {
            let clauses = &self.clauses;
            self.hook.forgotten(|| (0..clauses.len(id)).map(|n| clauses.lit(id, n)).collect());
            self.clauses.mark_deleted(id);
        }
        self.learnt.retain(|&id| !gone(id));
        for watches in &mut self.watches {
            watches.retain(|watch| !gone(watch.clause()));
        }
        if self.clauses.is_sparse() {
            self.compact();
        }
    }

    /// Deletes the less useful learnt clauses now, without waiting for the schedule.
    #[cfg(all(test, feature = "proof"))]
    pub(crate) fn forget(&mut self) {
        self.backtrack(0);
        self.reduce();
    }

    /// Copies the remaining clauses into a new arena, and updates all references to them.
    fn compact(&mut self) {
        let mut fresh = Arena::default();
        // Old and new id of each clause, sorted by old id.
        let mut moved: Vec<(ClauseId, ClauseId)> = Vec::new();
        let mut ids: Vec<ClauseId> =
            self.watches.iter().flatten().map(|watch| watch.clause()).collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            moved.push((id, fresh.copy_from(&self.clauses, id)));
        }
        let new =
            |id: ClauseId| moved.binary_search_by_key(&id, |&(old, _)| old).map(|at| moved[at].1);
        for watch in self.watches.iter_mut().flatten() {
            if let Ok(id) = new(watch.clause()) {
                watch.relocate(id);
            }
        }
        for id in &mut self.learnt {
            *id = new(*id).unwrap_or(*id);
        }
        // Assignments at level 0 are never analysed, so their reasons are not needed.
        for lit in &self.trail {
            self.variables[lit.variable()].reason = ClauseId::NONE;
        }
        self.clauses = fresh;
    }
}
