//! Decides when the search and the trial take turns. The trial runs the program on all combinations
//! of its relevant inputs.
//!
//! The length of a turn is measured in steps, so results are reproducible. Neither search nor trial
//! takes much more than twice the time that it would take alone. If the solver cannot decide a path
//! quickly, the trial continues alone. Then either the path is too hard for the solver, or there
//! are too many inputs to try; the trial soon detects the latter.

use crate::inputs::{EnumeratedPath, Trial};
use slowpath_target::{CostVector, Slowness};

/// Number of steps of the search between two turns of the trial, which runs the program on all
/// combinations of inputs.
pub(super) const TURN: u64 = 16;
/// Number of steps of the search before the first turn of the trial, which runs the program on all
/// combinations of inputs.
const HEAD_START: u64 = 8 * TURN;
/// Number of steps that the check of a path counts as. Each solver call in the check counts as the
/// same number of steps.
const CHECK: u64 = TURN;

/// A satisfiable path, found by running the program on all combinations of inputs, with its cost.
#[derive(Debug)]
pub(super) struct Priced {
    pub possible: EnumeratedPath,
    pub cost: CostVector,
    pub component: usize,
    pub slowness: Slowness,
    /// Length of the shortest packet that takes the path, in bytes.
    pub length: u32,
}

/// State of the trial, which runs the program on all combinations of its relevant inputs.
#[derive(Debug)]
pub(super) enum TrialPhase {
    /// The number of relevant inputs has not been estimated yet.
    Unplanned,
    /// The trial does not run: too many inputs matter, or it took too long.
    Never,
    /// Few inputs may matter; the trial has not begun.
    Promising,
    /// The program is being run on combinations of inputs.
    Trying(Box<Trial>),
    /// The trial has run the program on all inputs; the costs of the paths that it found are being
    /// computed.
    Pricing { trial: Box<Trial>, found: std::vec::IntoIter<EnumeratedPath>, priced: Vec<Priced> },
    /// The costs of all paths that the trial found are computed. `left` contains the paths that
    /// have not been reported yet, slowest first.
    Closed { trial: Box<Trial>, left: std::vec::IntoIter<Priced> },
}

/// State of the trial (runs of the program on all combinations of inputs), and the schedule that
/// decides whether search or trial continues next.
#[derive(Debug)]
pub(super) struct Schedule {
    pub closing: TrialPhase,
    /// Steps that the search has taken since the trial last ran.
    pub effort: u64,
    /// Steps that the search may take before the trial runs again.
    pub allowance: u64,
    /// True if the search waits until the trial has run the program on all inputs or given up.
    pub trial_only: bool,
}

impl Schedule {
    pub fn new() -> Self {
        Schedule {
            closing: TrialPhase::Unplanned,
            effort: 0,
            allowance: HEAD_START,
            trial_only: false,
        }
    }

    /// Returns true if the trial, which runs the program on all inputs, continues next.
    pub fn due(&self) -> bool {
        match self.closing {
            TrialPhase::Unplanned | TrialPhase::Never => false,
            TrialPhase::Promising | TrialPhase::Trying(_) => {
                self.trial_only || self.effort >= self.allowance
            }
            TrialPhase::Pricing { .. } | TrialPhase::Closed { .. } => true,
        }
    }

    /// Returns true if the number of relevant inputs has not been estimated yet.
    pub fn is_unplanned(&self) -> bool {
        matches!(self.closing, TrialPhase::Unplanned)
    }

    /// Makes the search wait until the trial has run the program on all inputs. Returns false if
    /// there is no trial.
    pub fn wait(&mut self) -> bool {
        self.trial_only = self.trying();
        self.trial_only
    }

    /// Returns true if the trial, which runs the program on all inputs, is in progress or may still
    /// begin.
    pub fn trying(&self) -> bool {
        matches!(self.closing, TrialPhase::Promising | TrialPhase::Trying(_))
    }

    /// Adds the effort for checking a path with `questions` solver calls to the steps of the
    /// search.
    pub fn checked(&mut self, questions: u64) {
        self.effort += CHECK * (1 + questions);
    }
}
