//! A packet that ran in both.

use slowpath_exec::concrete::Run;

use crate::draws::Choice;
use crate::effects::Effects;
use crate::outcome::Outcome;
use crate::path::PathId;

/// A packet that ran in both, which agree.
#[derive(Clone, Debug)]
pub struct Step {
    /// What the kernel did to the packet.
    pub outcome: Outcome,
    /// How many instructions were executed, a 64-bit immediate load as one.
    pub instructions: u64,
    /// The path.
    pub path: PathId,
    /// The interpreter's run: blocks and work in order, with the instructions that they come from.
    pub run: Run,
    /// What was open, in order, and what it was.
    pub choices: Vec<Choice>,
    /// Whether the path is uncertain: with another time or random number it would have been another,
    /// and nothing tells which of them the kernel took.
    pub open_path: bool,
    /// What the run changed.
    pub effects: Effects,
}
