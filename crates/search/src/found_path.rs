//! The path type that the search reports: a satisfiable path, with a packet that takes it.

use slowpath_exec::ArcId;
use slowpath_smt::{Model, TermId};
use slowpath_target::CostVector;

/// A path that some packet takes.
#[derive(Clone, Debug)]
pub struct FoundPath {
    /// Arcs of the path through the unrolled program, in order.
    pub path: Vec<ArcId>,
    /// Cost of the path for each component of the device, including the fixed cost per packet.
    pub cost: CostVector,
    /// Length of the shortest packet that takes the path, in bytes.
    pub length: u32,
    /// Values of the packet and all other inputs for which the program takes the path.
    pub model: Model,
    /// Branch conditions of the path, as terms over inputs. All of them are 1 in the model.
    pub conditions: Vec<TermId>,
}
