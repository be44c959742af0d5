//! Schedule of the search and the trial of inputs.
//!
//! Turns are measured in steps, so results are reproducible, and neither takes much more than twice
//! its time alone. If the solver cannot decide a path quickly, the trial continues alone. Then
//! either the path is too hard for the solver, or there are too many inputs to try, which the trial
//! soon detects.

use crate::inputs::{EnumeratedPath, Trial};
use slowpath_target::{CostVector, Slowness};

/// Effort of the search between two slices of the trial.
pub(super) const TURN: u64 = 16;
/// Effort of the search before the trial begins.
const HEAD_START: u64 = 8 * TURN;
/// Effort counted for the check of a path and for each solver call.
const CHECK: u64 = TURN;

/// A satisfiable path with its cost.
#[derive(Debug)]
pub(super) struct Priced {
    pub possible: EnumeratedPath,
    pub cost: CostVector,
    pub component: usize,
    pub slowness: Slowness,
    /// Length of the shortest packet, in bytes.
    pub length: u32,
}

/// Phase of the trial.
#[derive(Debug)]
pub(super) enum TrialPhase {
    /// Not estimated yet whether only few inputs matter.
    Unplanned,
    /// Given up: too many inputs matter.
    Never,
    /// Few inputs may matter; the trial has not begun.
    Promising,
    /// Inputs are being tried.
    Trying(Box<Trial>),
    /// All inputs have been tried, and the costs of their paths are being computed.
    Pricing { trial: Box<Trial>, found: std::vec::IntoIter<EnumeratedPath>, priced: Vec<Priced> },
    /// The remaining paths are known, slowest first.
    Closed { trial: Box<Trial>, left: std::vec::IntoIter<Priced> },
}

/// Phase of the trial, and the schedule of turns.
#[derive(Debug)]
pub(super) struct Schedule {
    pub closing: TrialPhase,
    /// Effort of the search since the last slice of the trial.
    pub effort: u64,
    /// Effort after which the next slice is due.
    pub allowance: u64,
    /// True if the search waits for the trial to end.
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

    /// Returns true if the next turn is the trial's.
    pub fn due(&self) -> bool {
        match self.closing {
            TrialPhase::Unplanned | TrialPhase::Never => false,
            TrialPhase::Promising | TrialPhase::Trying(_) => {
                self.trial_only || self.effort >= self.allowance
            }
            TrialPhase::Pricing { .. } | TrialPhase::Closed { .. } => true,
        }
    }

    /// Returns true before the estimate of the number of inputs.
    pub fn is_unplanned(&self) -> bool {
        matches!(self.closing, TrialPhase::Unplanned)
    }

    /// Makes the search wait for the trial to end. Returns false if there is no trial.
    pub fn wait(&mut self) -> bool {
        self.trial_only = self.trying();
        self.trial_only
    }

    /// Returns true if inputs are being tried or will be.
    pub fn trying(&self) -> bool {
        matches!(self.closing, TrialPhase::Promising | TrialPhase::Trying(_))
    }

    /// Adds the effort of a path check with this number of solver calls.
    pub fn checked(&mut self, questions: u64) {
        self.effort += CHECK * (1 + questions);
    }
}
