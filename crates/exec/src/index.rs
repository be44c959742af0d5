//! Indices into the unrolled graph, which belongs to the caller: whoever owns it numbers its nodes
//! and arcs.

use slowpath_ir::index_type;

index_type!(
    /// A node of the unrolled graph: an instance of a block, where states may meet.
    NodeId
);
index_type!(
    /// An arc of the unrolled graph: one way out of a node.
    ArcId
);
