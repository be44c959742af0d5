//! Stores all clauses in one array. Each clause has a header of two words, followed by its
//! literals.

use super::literal::Lit;

/// Identifies a clause by its position in the arena, an array of all clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClauseId(pub(super) u32);

impl ClauseId {
    /// Id that stands for no clause. It is the reason of decisions and of assignments at level 0.
    pub(super) const NONE: ClauseId = ClauseId(u32::MAX);
}

const HEADER: usize = 2;
/// Value of the second header word that marks a given clause. In a learnt clause, this word is the
/// number of decision levels.
const GIVEN: u32 = u32::MAX;

/// Storage for all clauses of a solver.
#[derive(Debug, Default)]
pub(super) struct Arena {
    words: Vec<u32>,
    /// Number of 32-bit words in the array that belong to deleted clauses.
    wasted: usize,
}

impl Arena {
    /// Adds a clause. For a learnt clause, `levels` is the number of decision levels of its
    /// literals; `None` for a given clause.
    pub(super) fn add(&mut self, literals: &[Lit], levels: Option<u32>) -> ClauseId {
        let id = ClauseId(self.words.len() as u32);
        self.words.push(literals.len() as u32);
        self.words.push(levels.unwrap_or(GIVEN));
        self.words.extend(literals.iter().map(|lit| lit.code()));
        id
    }

    pub(super) fn len(&self, id: ClauseId) -> usize {
        self.words[id.0 as usize] as usize
    }

    pub(super) fn lit(&self, id: ClauseId, position: usize) -> Lit {
        Lit::from_code(self.words[id.0 as usize + HEADER + position])
    }

    /// Returns the literals of a clause as numbers ([`Lit::code`]), for reading and reordering.
    pub(super) fn codes(&mut self, id: ClauseId) -> &mut [u32] {
        let start = id.0 as usize + HEADER;
        let end = start + self.words[id.0 as usize] as usize;
        &mut self.words[start..end]
    }

    /// Returns the number of decision levels of a learnt clause, or `None` for a given clause.
    pub(super) fn levels(&self, id: ClauseId) -> Option<u32> {
        let levels = self.words[id.0 as usize + 1];
        (levels != GIVEN).then_some(levels)
    }

    pub(super) fn set_levels(&mut self, id: ClauseId, levels: u32) {
        self.words[id.0 as usize + 1] = levels;
    }

    /// Records that a clause is deleted, so that its words count as wasted.
    pub(super) fn mark_deleted(&mut self, id: ClauseId) {
        self.wasted += HEADER + self.len(id);
    }

    /// Returns true if more than a quarter of the array belongs to deleted clauses.
    pub(super) fn is_sparse(&self) -> bool {
        self.wasted > self.words.len() / 4
    }

    /// Copies a clause from the arena `old`.
    pub(super) fn copy_from(&mut self, old: &Arena, id: ClauseId) -> ClauseId {
        let new = ClauseId(self.words.len() as u32);
        let start = id.0 as usize;
        self.words.extend_from_slice(&old.words[start..start + HEADER + old.len(id)]);
        new
    }
}
