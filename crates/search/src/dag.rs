//! The unrolled program: a directed acyclic graph of block instances.

use slowpath_exec::{ArcId, NodeId};
use slowpath_ir::BlockId;
use slowpath_smt::TermId;
use std::ops::Index;

/// An instance of a block. Nodes are numbered in topological order; node 0 is the entry.
#[derive(Clone, Debug)]
pub struct DagNode {
    /// The block.
    pub block: BlockId,
    /// The arcs out of it; their targets have larger numbers.
    pub out: Vec<ArcId>,
}

/// Where an arc leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// To a node.
    Node(NodeId),
    /// Out of the program, by the exit's number.
    Exit(u32),
}

/// One way out of a block instance. Arcs are numbered in topological order of their tails.
#[derive(Clone, Debug)]
pub struct Arc {
    /// The node it leaves.
    pub tail: NodeId,
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
    /// Where every path begins.
    pub const ENTRY: NodeId = NodeId(0);

    /// All nodes with their numbers, in topological order.
    pub fn numbered_nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &DagNode)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    /// Whether an arc is the only way out of its node.
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
