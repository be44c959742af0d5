//! The result of a proof that two programs do the same.

use super::instruction_counts::InstructionCounts;
use super::replay::Counterexample;
use super::test_inputs::TestInput;
use serde::Serialize;

/// Result of trying to prove that a specialised program does the same as the original. The proof
/// may be incomplete.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// True if both programs do the same for every packet for which the facts hold and any content
    /// of maps, under the `assumptions`.
    pub proved: bool,
    /// Number of paths of the original that are proved one by one. Paths that were proved only
    /// together are not counted.
    pub paths: u64,
    /// Number of pairs of paths, one path of each program, that the same packet takes.
    pub pairs: u64,
    /// Maximum numbers of instructions that each program executes on the compared paths.
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
    /// Packet and map contents for which both programs differ; `None` if no difference was found.
    pub counterexample: Option<Counterexample>,
    /// Test inputs, one for each pair of paths, up to a limit.
    #[serde(skip)]
    pub test_inputs: Vec<TestInput>,
}
