//! Result of a packet in kernel and interpreter.

use slowpath_exec::concrete::Run;

use crate::draws::Choice;
use crate::effects::Effects;
use crate::outcome::Outcome;
use crate::path::PathId;

/// Result of a packet on which kernel and interpreter agree.
#[derive(Clone, Debug)]
pub struct Step {
    /// Outcome for the packet in the kernel.
    pub outcome: Outcome,
    /// Number of executed instructions; a 64-bit immediate load counts as one.
    pub instructions: u64,
    /// Identity of the path.
    pub path: PathId,
    /// Run of the interpreter: blocks and costs in order, with the instructions they come from.
    pub run: Run,
    /// Open values, in order, with the values that reproduce the kernel's run.
    pub choices: Vec<Choice>,
    /// True if the path is uncertain: another time or random number would lead to another path, and
    /// the kernel's choice cannot be observed.
    pub open_path: bool,
    /// Changes of the run.
    pub effects: Effects,
}
