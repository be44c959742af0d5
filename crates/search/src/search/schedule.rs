//! Decides when the search and the trial of inputs take turns.
//!
//! The length of a turn is measured in steps, so results are reproducible. Neither search nor trial
//! takes much more than twice the time that it would take alone. If the solver cannot decide a path
//! quickly, the trial continues alone. Then either the path is too hard for the solver, or there
//! are too many inputs to try; the trial soon detects the latter.

use crate::inputs::{EnumeratedPath, Trial};
use slowpath_target::{CostVector, Slowness};

/// Effort that the search spends between two turns of the trial.
pub(super) const TURN: u64 = 16;
/// Effort that the search spends before the first turn of the trial.
const HEAD_START: u64 = 8 * TURN;
/// Effort charged for checking a path, and additionally for each solver call.
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

/// State of the trial.
#[derive(Debug)]
pub(super) enum TrialPhase {
    /// The number of relevant inputs has not been estimated yet.
    Unplanned,
    /// No trial: too many inputs matter, or the trial took too long.
    Never,
    /// Few inputs may matter; the trial has not begun.
    Promising,
    /// The trial is running.
    Trying(Box<Trial>),
    /// The trial is complete; the costs of its paths are being computed.
    Pricing { trial: Box<Trial>, found: std::vec::IntoIter<EnumeratedPath>, priced: Vec<Priced> },
    /// The costs of all remaining paths are known. The paths are sorted, slowest first.
    Closed { trial: Box<Trial>, left: std::vec::IntoIter<Priced> },
}

/// State of the trial, and the schedule that decides whose turn is next.
#[derive(Debug)]
pub(super) struct Schedule {
    pub closing: TrialPhase,
    /// Effort that the search has spent since the last turn of the trial.
    pub effort: u64,
    /// Effort that the search may spend before the next turn of the trial.
    pub allowance: u64,
    /// True if the search waits until the trial ends.
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

    /// Returns true if it is the trial's turn.
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

    /// Makes the search wait until the trial ends. Returns false if there is no trial.
    pub fn wait(&mut self) -> bool {
        self.trial_only = self.trying();
        self.trial_only
    }

    /// Returns true if the trial is running or may still begin.
    pub fn trying(&self) -> bool {
        matches!(self.closing, TrialPhase::Promising | TrialPhase::Trying(_))
    }

    /// Charges the search for checking a path with `questions` solver calls.
    pub fn checked(&mut self, questions: u64) {
        self.effort += CHECK * (1 + questions);
    }
}
