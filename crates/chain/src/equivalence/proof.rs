//! What comes of comparing two programs.

use super::covering::Cover;
use super::executed::Executed;
use super::replay::Counterexample;
use serde::Serialize;

/// What is known about the equivalence of two programs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// Whether both do the same for every packet for which the facts hold, and whatever the maps
    /// contain, but for the `assumptions`.
    pub proved: bool,
    /// How many paths of the original are proved; as far as they were gone through where all were
    /// proved together.
    pub paths: u64,
    /// How many pairs of a path of the original and one of the specialised program some packet takes.
    pub pairs: u64,
    /// How many instructions such pairs execute.
    #[serde(skip)]
    pub executed: Executed,
    /// Questions to the solver.
    pub queries: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Why not all is proved, one sentence each.
    pub undecided: Vec<String>,
    /// What the meaning of either program relies on, one sentence each.
    pub assumptions: Vec<String>,
    /// What the two programs differ on; `None` when nothing is known.
    pub counterexample: Option<Counterexample>,
    /// Something to run both programs on for each of the pairs, as far as they are not too many.
    #[serde(skip)]
    pub covers: Vec<Cover>,
}
