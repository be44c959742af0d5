//! The unrolled program: a directed acyclic graph of block instances.

use slowpath_exec::{ArcId, NodeId};
use slowpath_ir::BlockId;
use slowpath_smt::TermId;
use std::ops::Index;

/// An instance of a block. Nodes are numbered in topological order; node 0 is the entry.
#[derive(Clone, Debug)]
pub struct DagNode {
    /// Block of the program.
    pub block: BlockId,
    /// Outgoing arcs; their heads have larger node numbers.
    pub out: Vec<ArcId>,
}

/// Destination of an arc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A node.
    Node(NodeId),
    /// An exit of the program, by its number.
    Exit(u32),
}

/// An arc from a block instance to its successor. Arcs are numbered in topological order of their
/// tails.
#[derive(Clone, Debug)]
pub struct Arc {
    /// Node that the arc leaves.
    pub tail: NodeId,
    /// Target of the arc.
    pub head: Head,
    /// Index of the edge in the block's terminator.
    pub edge: usize,
    /// Branch condition and the value for which the run takes this arc. `None` on jumps, and if the
    /// other arc of the branch is impossible.
    pub condition: Option<(TermId, bool)>,
    /// Lower bound for the length of packets that take this arc, in bytes.
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
    /// Node at which every path begins.
    pub const ENTRY: NodeId = NodeId(0);

    /// Returns all nodes with their numbers in topological order.
    pub fn numbered_nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &DagNode)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    /// Returns true if the tail of `arc` has no other outgoing arc.
    pub fn is_only_way(&self, arc: ArcId) -> bool {
        self[self[arc].tail].out.len() == 1
    }
}

impl Index<NodeId> for Dag {
    type Output = DagNode;

    fn index(&self, node: NodeId) -> &DagNode {
        &self.nodes[node.index()]
    }
}

impl Index<ArcId> for Dag {
    type Output = Arc;

    fn index(&self, arc: ArcId) -> &Arc {
        &self.arcs[arc.index()]
    }
}
