//! The unrolled program: a directed acyclic graph of block instances.

use slowpath_ir::BlockId;
use slowpath_smt::TermId;

/// An instance of a block. Nodes are numbered in topological order; node 0 is the entry.
#[derive(Clone, Debug)]
pub struct DagNode {
    /// The block.
    pub block: BlockId,
    /// The arcs out of it; their targets have larger numbers.
    pub out: Vec<u32>,
}

/// Where an arc leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// To a node.
    Node(u32),
    /// Out of the program, by the exit's number.
    Exit(u32),
}

/// One way out of a block instance. Arcs are numbered in topological order of their tails.
#[derive(Clone, Debug)]
pub struct Arc {
    /// The node it leaves.
    pub tail: u32,
    /// Where it leads.
    pub head: Head,
    /// Its index among the edges of the block's terminator.
    pub edge: usize,
    /// The branch condition and the value that takes this arc; `None` on jumps and where the
    /// other way is impossible.
    pub condition: Option<(TermId, bool)>,
    /// No shorter packet takes this arc, in bytes.
    pub min_length: u32,
}

/// The unrolled program.
#[derive(Clone, Debug, Default)]
pub struct Dag {
    /// Block instances in topological order.
    pub nodes: Vec<DagNode>,
    /// Arcs in topological order of their tails.
    pub arcs: Vec<Arc>,
}

impl Dag {
    /// Whether an arc is the only way out of its node.
    pub fn is_only_way(&self, arc: u32) -> bool {
        self.nodes[self.arcs[arc as usize].tail as usize].out.len() == 1
    }
}
