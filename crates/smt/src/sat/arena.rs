//! Clauses one behind the other in one array: a header of two words, then the literals.

use super::literal::Lit;

/// Where a clause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClauseId(pub(super) u32);

impl ClauseId {
    /// No clause: of a decision, or of what holds anyway.
    pub(super) const NONE: ClauseId = ClauseId(u32::MAX);
}

const HEADER: usize = 2;
/// The second word of a clause that was not learnt.
const GIVEN: u32 = u32::MAX;

/// The clauses.
#[derive(Debug, Default)]
pub(super) struct Arena {
    words: Vec<u32>,
    /// Words of clauses that were removed.
    wasted: usize,
}

impl Arena {
    /// Adds a clause; of one that was learnt, with the number of levels that it ties together.
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

    /// The literals, as codes, to be looked at and moved.
    pub(super) fn codes(&mut self, id: ClauseId) -> &mut [u32] {
        let start = id.0 as usize + HEADER;
        let end = start + self.words[id.0 as usize] as usize;
        &mut self.words[start..end]
    }

    /// The number of levels that a learnt clause ties together; `None` for one that was given.
    pub(super) fn levels(&self, id: ClauseId) -> Option<u32> {
        let levels = self.words[id.0 as usize + 1];
        (levels != GIVEN).then_some(levels)
    }

    pub(super) fn set_levels(&mut self, id: ClauseId, levels: u32) {
        self.words[id.0 as usize + 1] = levels;
    }

    /// Counts a clause as removed.
    pub(super) fn waste(&mut self, id: ClauseId) {
        self.wasted += HEADER + self.len(id);
    }

    /// Whether much of the array belongs to removed clauses.
    pub(super) fn is_sparse(&self) -> bool {
        self.wasted > self.words.len() / 4
    }

    /// Copies a clause of `old` to the end.
    pub(super) fn take_over(&mut self, old: &Arena, id: ClauseId) -> ClauseId {
        let new = ClauseId(self.words.len() as u32);
        let start = id.0 as usize;
        self.words.extend_from_slice(&old.words[start..start + HEADER + old.len(id)]);
        new
    }
}
