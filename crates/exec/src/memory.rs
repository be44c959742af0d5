//! Symbolic memory: a chain of stores that all regions share. Where paths meet, their memory states
//! merge.
//!
//! If the region of an address is known, the address consists of a region and an offset. In
//! programs that the verifier accepts, all regions are known (the segmented memory model of
//! "throughput guarantees", § 5.5).
//!
//! Reads skip states that cannot have written the bytes to be read. Each memory state stores its
//! immediate dominator (the latest state that all paths to it pass) and the footprint of all later
//! writes. The dominators form a tree. Pointers that skip several levels of this tree find the next
//! relevant state in a logarithmic number of steps (Myers, "An applicative random-access stack",
//! 1983).

use crate::footprint::Footprint;
use crate::index::{ArcId, NodeId};
use slowpath_ir::RegionId;
use slowpath_smt::TermId;
use std::rc::Rc;

/// A memory state: the content of all memory at one point of the execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemId(pub(crate) u32);

/// The memory to which an address points: an offset in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The region that contains the memory.
    pub region: RegionId,
    /// Offset from the region's first byte, as wide as an address.
    pub offset: TermId,
}

/// The operation that produced a memory state.
#[derive(Clone, Debug)]
pub(crate) enum MemNode {
    /// Initial content of memory, before any operation.
    Initial,
    /// `value` was stored in the state `prev`, little-endian.
    Store {
        prev: MemId,
        address: TermId,
        /// Location to which the address points, if it is known and equal on every path.
        location: Option<Location>,
        value: TermId,
        /// Number of the store instruction, for messages.
        insn: u32,
    },
    /// `bytes` bytes of the state `prev` were set to zero.
    Clear {
        prev: MemId,
        address: TermId,
        /// Location to which the address points, if it is known and equal on every path.
        location: Option<Location>,
        /// Number of bytes, as wide as an address.
        bytes: TermId,
        /// Number of the instruction, for messages.
        insn: u32,
    },
    /// Merge of the memory states that arrive at a node, one along each arc.
    Merge { node: NodeId, incoming: Rc<[(ArcId, MemId)]> },
}

/// A memory state with its links in the dominator tree.
#[derive(Debug)]
struct Entry {
    node: MemNode,
    depth: u32,
    /// Immediate dominator: the latest earlier state that is on all paths to this state.
    dominator: MemId,
    /// Superset of the bytes that were written after the dominator.
    written: Footprint,
    /// A dominator of the immediate dominator, or the immediate dominator itself. Searches use it
    /// to skip levels of the tree.
    jump: MemId,
    /// Superset of the bytes that were written after `jump`.
    jumped: Footprint,
}

/// All memory states of one analysis.
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

    /// Returns the state after storing `value` in the state `prev`. `written` is a footprint that
    /// contains at least the bytes that the store may write.
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

    /// Returns the state after setting `bytes` bytes of the state `prev` to zero. `written` is a
    /// footprint that contains at least the bytes that the operation may write.
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

    /// Returns the memory state at a node where paths meet. `incoming` contains the state that
    /// arrives along each arc.
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
        // Myers's rule: two jumps of equal length are joined into one. The lengths of jumps then
        // form a skew binary number, so a logarithmic number of steps reaches any depth.
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

    /// Returns the common dominator of `a` and `b`: the latest state that is on all paths to both.
    /// Adds the bytes that may have been written after it to `written`.
    fn common_dominator(&self, mut a: MemId, mut b: MemId, written: &mut Footprint) -> MemId {
        // At equal depth, both jumps have equal length. If both lead to the same state, the common
        // dominator may be closer, so take a single step. Each step adds the writes that it passes.
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

    /// Starting from `memory`, goes back over states whose writes cannot affect the bytes in
    /// `read`. Returns the latest state whose write may affect them, or the initial state.
    pub fn skip(&self, mut memory: MemId, read: &Footprint) -> MemId {
        loop {
            let entry = self.entry(memory);
            if entry.depth == 0 {
                return memory;
            }
            // The jump skips the most states. It is allowed if no write along it intersects the
            // read.
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
