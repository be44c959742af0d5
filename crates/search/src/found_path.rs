//! Result of the search: a satisfiable path with its witness.

use slowpath_exec::ArcId;
use slowpath_smt::{Model, TermId};
use slowpath_target::CostVector;

/// A path that some packet takes.
#[derive(Debug)]
pub struct FoundPath {
    /// Arcs of the path.
    pub path: Vec<ArcId>,
    /// Cost, including overhead.
    pub cost: CostVector,
    /// Length of the shortest packet that takes the path, in bytes.
    pub length: u32,
    /// Values of packet and environment for which the program takes the path.
    pub model: Model,
    /// Branch conditions of the path, as terms over inputs.
    pub conditions: Vec<TermId>,
}
