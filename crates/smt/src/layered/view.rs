//! A view decides which terms an engine treats as unknowns. In some views, these include opaque
//! terms: terms that mix their inputs deeply (`mixing`), such as hashes.

use std::rc::Rc;

use super::mixing::Mixing;
use crate::pool::{FastMap, FastSet, TermPool};
use crate::term::{Node, TermId};

/// Decides, for the terms of one pool, which terms an engine treats as unknowns.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// Decides which terms are opaque; `None` if no term is.
    mixing: Option<Mixing>,
    /// Cache of the leaves of each term, in order of their ids. Leaves are the subterms that the
    /// engine treats as unknowns: variables, bytes of arrays, numbers of interned pairs and opaque
    /// terms.
    leaves: FastMap<TermId, Rc<[TermId]>>,
}

impl View {
    /// Creates a view in which terms that mix their inputs deeply are opaque.
    pub(super) fn with_opaque_terms() -> Self {
        View { mixing: Some(Mixing::default()), ..View::default() }
    }

    /// Returns true if the engine treats the term as an unknown.
    pub(crate) fn is_opaque(&mut self, pool: &TermPool, term: TermId) -> bool {
        self.mixing.as_mut().is_some_and(|mixing| mixing.is_opaque(pool, term))
    }

    /// Returns the leaves of `terms` in order of their ids. Leaves are the subterms that the engine
    /// treats as unknowns; their own subterms are not included.
    pub(super) fn leaves(
        &mut self,
        pool: &TermPool,
        terms: impl Iterator<Item = TermId>,
    ) -> Vec<TermId> {
        let mut all: Vec<TermId> = Vec::new();
        for term in terms {
            if !self.leaves.contains_key(&term) {
                let leaves = self.find_leaves(pool, term);
                self.leaves.insert(term, leaves);
            }
            all.extend(self.leaves[&term].iter());
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the opaque terms (such as hashes) that occur in `terms` and that the engine treats
    /// as unknowns.
    pub(super) fn opaque(&mut self, pool: &TermPool, terms: &[TermId]) -> Vec<TermId> {
        let mut leaves = self.leaves(pool, terms.iter().copied());
        leaves.retain(|&leaf| self.is_opaque(pool, leaf));
        leaves
    }

    fn find_leaves(&mut self, pool: &TermPool, term: TermId) -> Rc<[TermId]> {
        let (mut stack, mut seen) = (vec![term], std::iter::once(term).collect::<FastSet<_>>());
        let mut leaves = Vec::new();
        while let Some(top) = stack.pop() {
            let opaque = self.is_opaque(pool, top);
            if opaque || is_leaf(pool.node(top)) {
                leaves.push(top);
            }
            if !opaque {
                stack.extend(pool.children(top).filter(|&child| seen.insert(child)));
            }
        }
        leaves.into()
    }
}

/// Returns true for operators that engines treat as unknowns in every view: variables, bytes of
/// arrays and numbers of interned pairs.
pub(super) fn is_leaf(node: &Node) -> bool {
    matches!(node, Node::Var(_) | Node::Select { .. } | Node::Intern(..))
}
