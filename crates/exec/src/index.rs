//! Indices into the unrolled graph. The caller owns the graph and numbers its nodes and arcs.

use slowpath_ir::index_type;

index_type!(
    /// A node of the unrolled graph: an instance of a basic block, at which states can merge.
    NodeId
);
index_type!(
    /// An arc of the unrolled graph: an edge from a node to its successor or out of the program.
    ArcId
);
