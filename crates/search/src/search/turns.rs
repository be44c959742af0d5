//! Whose turn it is: the search's, or that of the trial of inputs.
//!
//! The search and the trial take turns, measured in steps, so that results are the same every time
//! and neither takes much more than twice as long as it would alone. Where the solver would take
//! long over one path, the trial goes on alone: one of the two is hopeless then, and the trial knows
//! soon whether it is.

use crate::inputs::{Possible, Trial};
use slowpath_target::{CostVector, Slowness};

/// Effort of the search for which the trial gets one slice.
pub(super) const TURN: u64 = 16;
/// Effort of the search before the trial begins.
const HEAD_START: u64 = 8 * TURN;
/// What the check of a path, and each question to the solver, count for in steps of the search.
const CHECK: u64 = TURN;

/// A path that some packet takes, with its price.
#[derive(Debug)]
pub(super) struct Priced {
    pub possible: Possible,
    pub cost: CostVector,
    pub component: usize,
    pub slowness: Slowness,
    /// Of the shortest packet, in bytes.
    pub length: u32,
}

/// How far the trial of inputs is.
#[derive(Debug)]
pub(super) enum Closing {
    /// It has not been looked at whether few inputs matter.
    Unplanned,
    /// Too many of them do.
    Never,
    /// Few may do.
    Promising,
    /// They are being tried.
    Trying(Box<Trial>),
    /// All have been tried; their paths are being priced.
    Pricing { trial: Box<Trial>, found: std::vec::IntoIter<Possible>, priced: Vec<Priced> },
    /// The paths that are left, slowest first.
    Closed { trial: Box<Trial>, left: std::vec::IntoIter<Priced> },
}

/// The trial of inputs, and whose turn it is.
#[derive(Debug)]
pub(super) struct Turns {
    pub closing: Closing,
    /// What the search has done since the last slice of the trial.
    pub effort: u64,
    /// How much of that the search may do.
    pub allowance: u64,
    /// Whether the search waits until everything is tried.
    pub alone: bool,
}

impl Turns {
    pub fn new() -> Self {
        Turns { closing: Closing::Unplanned, effort: 0, allowance: HEAD_START, alone: false }
    }

    /// Whether it is the trial's turn.
    pub fn due(&self) -> bool {
        match self.closing {
            Closing::Unplanned | Closing::Never => false,
            Closing::Promising | Closing::Trying(_) => self.alone || self.effort >= self.allowance,
            Closing::Pricing { .. } | Closing::Closed { .. } => true,
        }
    }

    /// Whether it is not known whether few inputs matter.
    pub fn is_unplanned(&self) -> bool {
        matches!(self.closing, Closing::Unplanned)
    }

    /// Lets the search wait until everything is tried; false if nothing is.
    pub fn wait(&mut self) -> bool {
        self.alone = self.trying();
        self.alone
    }

    /// Whether inputs are being tried, or will be.
    pub fn trying(&self) -> bool {
        matches!(self.closing, Closing::Promising | Closing::Trying(_))
    }

    /// Counts what the check of a path took, with so many questions to the solver.
    pub fn checked(&mut self, questions: u64) {
        self.effort += CHECK * (1 + questions);
    }
}
