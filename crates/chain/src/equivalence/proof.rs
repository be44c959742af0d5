//! Result of comparing two programs.

use super::instruction_counts::InstructionCounts;
use super::replay::Counterexample;
use super::test_inputs::TestInput;
use serde::Serialize;

/// Knowledge about the equivalence of two programs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// True if both programs do the same for every packet with the facts and any content of maps,
    /// under the `assumptions`.
    pub proved: bool,
    /// Number of paths of the original that are proved; only those that were visited if all were
    /// proved together.
    pub paths: u64,
    /// Number of pairs of a path of the original and a path of the specialised program that some
    /// packet takes.
    pub pairs: u64,
    /// Numbers of instructions that such pairs execute.
    #[serde(skip)]
    pub executed: InstructionCounts,
    /// Number of solver queries.
    pub queries: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Reasons why parts are not proved, one sentence each.
    pub undecided: Vec<String>,
    /// Assumptions about the meaning of the programs, one sentence each.
    pub assumptions: Vec<String>,
    /// Packet and map contents on which the two programs differ; `None` if none are known.
    pub counterexample: Option<Counterexample>,
    /// Test inputs for the pairs, up to a limit.
    #[serde(skip)]
    pub test_inputs: Vec<TestInput>,
}
