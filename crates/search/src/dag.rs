//! The unrolled program: a graph without cycles, in which each loop iteration has its own copies of
//! the blocks.

use slowpath_exec::{ArcId, NodeId};
use slowpath_ir::BlockId;
use slowpath_smt::TermId;
use std::ops::Index;

/// A copy of a basic block in the unrolled program. Nodes are in topological order, so all arcs
/// lead to nodes with larger indices; node 0 is the entry.
#[derive(Clone, Debug)]
pub struct DagNode {
    /// Block of the original program of which the node is a copy.
    pub block: BlockId,
    /// Arcs that leave the node. They lead to nodes with larger indices.
    pub out: Vec<ArcId>,
}

/// Target of an arc in the unrolled program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A node of the unrolled program.
    Node(NodeId),
    /// An exit of the program, by its index.
    Exit(u32),
}

/// A step from one node of the unrolled program to the next, or out of the program. Arcs are in the
/// order of the nodes that they leave.
#[derive(Clone, Debug)]
pub struct Arc {
    /// Node that the arc leaves.
    pub tail: NodeId,
    /// Node or exit that the arc leads to.
    pub head: Head,
    /// Index of the control-flow edge that the arc follows, among the edges of the terminator of
    /// its block.
    pub edge: usize,
    /// Branch condition, and the value of the condition for which a run takes this arc. `None` for
    /// jumps, and for branches whose other arc no run can take.
    pub condition: Option<(TermId, bool)>,
    /// Lower bound for the length of packets that take this arc, in bytes.
    pub min_length: u32,
}

/// The unrolled program: an acyclic graph with one copy of a block for each loop iteration.
#[derive(Clone, Debug, Default)]
pub struct Dag {
    /// Copies of blocks, in topological order.
    pub nodes: Vec<DagNode>,
    /// Arcs in topological order of the nodes that they leave.
    pub arcs: Vec<Arc>,
}

impl Dag {
    /// Node at which every path begins.
    pub const ENTRY: NodeId = NodeId(0);

    /// Returns all nodes with their ids, in topological order.
    pub fn numbered_nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &DagNode)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    /// Returns true if `arc` is the only arc that leaves its tail node.
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
