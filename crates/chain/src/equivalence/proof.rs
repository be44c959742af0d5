//! The result of a proof that two programs do the same.

use super::instruction_counts::InstructionCounts;
use super::replay::Counterexample;
use super::test_inputs::TestInput;
use serde::Serialize;

/// Result of a proof, which may be incomplete.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// True if both programs do the same for every packet with the facts and any content of maps,
    /// under the `assumptions`.
    pub proved: bool,
    /// Number of paths of the original that are proved. If all paths were proved together, only
    /// those that were compared one by one.
    pub paths: u64,
    /// Number of pairs of paths, one of each program, that the same packet takes.
    pub pairs: u64,
    /// Numbers of instructions that are executed on these pairs.
    #[serde(skip)]
    pub executed: InstructionCounts,
    /// Number of solver queries.
    pub queries: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Reasons why parts of the comparison are undecided, one sentence each.
    pub undecided: Vec<String>,
    /// Assumptions about the meaning of the programs, one sentence each.
    pub assumptions: Vec<String>,
    /// Packet and map contents for which both programs differ; `None` if none are known.
    pub counterexample: Option<Counterexample>,
    /// Test inputs, one for each pair of paths, up to a limit.
    #[serde(skip)]
    pub test_inputs: Vec<TestInput>,
}
