//! Symbolic memory: a chain of stores with merges, shared by all regions.
//!
//! Addresses are (region, offset) where the pointer's region is known, which it is in programs
//! that a verifier accepted (the segmented memory model of "throughput guarantees", § 5.5).
//!
//! Reads skip what cannot have written the bytes they look at: every state of memory knows the
//! latest one that all ways to it come through (its immediate dominator), and the footprint of what
//! was written in between. These form a tree, and pointers that skip further up make the search for
//! the next interesting state logarithmic (Myers, "An applicative random-access stack", 1983).

use crate::footprint::Footprint;
use crate::index::{ArcId, NodeId};
use slowpath_ir::RegionId;
use slowpath_smt::TermId;
use std::rc::Rc;

/// A state of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemId(pub(crate) u32);

/// Where an address points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The region.
    pub region: RegionId,
    /// Offset from the region's first byte, as wide as an address.
    pub offset: TermId,
}

/// How a state of memory came to be.
#[derive(Clone, Debug)]
pub(crate) enum MemNode {
    /// The unknown content at the start.
    Initial,
    /// `prev` with `value` stored, little-endian.
    Store {
        prev: MemId,
        /// The address as a term.
        address: TermId,
        /// Where it points, when that is the same on every path.
        location: Option<Location>,
        value: TermId,
        /// The instruction, for messages.
        insn: u32,
    },
    /// `prev` with so many bytes from an address on made zero.
    Clear {
        prev: MemId,
        /// The address as a term.
        address: TermId,
        /// Where it points, when that is the same on every path.
        location: Option<Location>,
        /// How many, as wide as an address.
        bytes: TermId,
        /// The instruction, for messages.
        insn: u32,
    },
    /// What arrives at a node over one of several arcs.
    Merge { node: NodeId, incoming: Rc<[(ArcId, MemId)]> },
}

/// A state of memory and its place in the tree of dominators.
#[derive(Debug)]
struct Entry {
    node: MemNode,
    depth: u32,
    /// The latest state that every way here comes through.
    dominator: MemId,
    /// What was written since.
    written: Footprint,
    /// A dominator further up.
    jump: MemId,
    /// What was written since that.
    jumped: Footprint,
}

/// All states of memory of one analysis.
#[derive(Debug)]
pub(crate) struct MemPool {
    entries: Vec<Entry>,
}

impl MemPool {
    pub const INITIAL: MemId = MemId(0);

    pub fn new() -> Self {
        let initial = Entry {
            node: MemNode::Initial,
            depth: 0,
            dominator: Self::INITIAL,
            written: Footprint::empty(),
            jump: Self::INITIAL,
            jumped: Footprint::empty(),
        };
        MemPool { entries: vec![initial] }
    }

    /// The state behind a store that may write what `written` says.
    pub fn store(
        &mut self,
        prev: MemId,
        (address, location): (TermId, Option<Location>),
        value: TermId,
        insn: u32,
        written: Footprint,
    ) -> MemId {
        let node = MemNode::Store { prev, address, location, value, insn };
        self.push(node, prev, written)
    }

    /// The state behind a clearing that may write what `written` says.
    pub fn clear(
        &mut self,
        prev: MemId,
        (address, location): (TermId, Option<Location>),
        bytes: TermId,
        insn: u32,
        written: Footprint,
    ) -> MemId {
        let node = MemNode::Clear { prev, address, location, bytes, insn };
        self.push(node, prev, written)
    }

    /// The state at a node where several meet, each with the arc that it arrives over.
    pub fn merge(&mut self, node: NodeId, incoming: Rc<[(ArcId, MemId)]>) -> MemId {
        let Some(&(_, first)) = incoming.first() else { return Self::INITIAL };
        let mut written = Footprint::empty();
        let meet = |a, &(_, b): &(ArcId, MemId)| self.common_dominator(a, b, &mut written);
        let dominator = incoming[1..].iter().fold(first, meet);
        self.push(MemNode::Merge { node, incoming }, dominator, written)
    }

    fn push(&mut self, node: MemNode, dominator: MemId, written: Footprint) -> MemId {
        let above = self.entry(dominator);
        let further = self.entry(above.jump);
        // Myers's rule: two jumps of equal length become one of twice that and one, so that the
        // lengths on the way up are those of a skew binary number, and logarithmically many reach
        // any depth.
        let even = above.depth - further.depth == further.depth - self.entry(further.jump).depth;
        let (jump, jumped) = if even && above.depth > 0 {
            (further.jump, written.union(&above.jumped).union(&further.jumped))
        } else {
            (dominator, written.clone())
        };
        let depth = above.depth + 1;
        self.entries.push(Entry { node, depth, dominator, written, jump, jumped });
        MemId((self.entries.len() - 1) as u32)
    }

    /// The latest state that the ways to both `a` and `b` come through; adds to `written` what was
    /// written between it and either.
    fn common_dominator(&self, mut a: MemId, mut b: MemId, written: &mut Footprint) -> MemId {
        // At equal depth both jump equally far. Where they jump to the same state, the dominator
        // that they share may be closer: one step only. What is passed on the way is added either
        // way.
        while a != b {
            if self.entry(a).depth < self.entry(b).depth {
                std::mem::swap(&mut a, &mut b);
            }
            let (deep, other) = (self.entry(a), self.entry(b));
            if self.entry(deep.jump).depth >= other.depth {
                *written = written.union(&deep.jumped);
                a = deep.jump;
            } else if deep.depth > other.depth || deep.jump == other.jump {
                *written = written.union(&deep.written);
                a = deep.dominator;
            } else {
                *written = written.union(&deep.jumped).union(&other.jumped);
                (a, b) = (deep.jump, other.jump);
            }
        }
        a
    }

    /// The latest state at or before `memory` that differs from the one before it in the places
    /// that are read.
    pub fn skip(&self, mut memory: MemId, read: &Footprint) -> MemId {
        loop {
            let entry = self.entry(memory);
            if entry.depth == 0 {
                return memory;
            }
            // The far jump first; it is allowed if nothing on all of its way can have been read.
            memory = if !entry.jumped.intersects(read) {
                entry.jump
            } else if !entry.written.intersects(read) {
                entry.dominator
            } else {
                return memory;
            }
        }
    }

    pub fn node(&self, id: MemId) -> &MemNode {
        &self.entry(id).node
    }

    fn entry(&self, id: MemId) -> &Entry {
        &self.entries[id.0 as usize]
    }
}
