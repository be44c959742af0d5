//! What the search finds: a satisfiable path, with what is needed to show and to replay it.

use slowpath_exec::ArcId;
use slowpath_smt::{Model, TermId};
use slowpath_target::CostVector;

/// A path that some packet takes.
#[derive(Debug)]
pub struct FoundPath {
    /// Its arcs.
    pub path: Vec<ArcId>,
    /// Its cost, overhead included.
    pub cost: CostVector,
    /// The length of the shortest packet that takes it, in bytes.
    pub length: u32,
    /// A packet and environment that take it.
    pub model: Model,
    /// Its branch conditions over inputs.
    pub conditions: Vec<TermId>,
}
