//! Budget of one check: a stop condition, and a limit on engine steps. Unlike time, a step limit
//! has the same effect in every run.

use std::cell::Cell;

use slowpath_stop::Stop;

/// The limits of a check, and the number of steps used so far.
#[derive(Debug)]
pub(crate) struct Budget {
    stop: Stop,
    limit: Option<u64>,
    spent: Cell<u64>,
}

impl Budget {
    /// Creates a budget with a stop condition and an optional step limit.
    pub(crate) fn new(stop: Stop, limit: Option<u64>) -> Self {
        Budget { stop, limit, spent: Cell::new(0) }
    }

    /// Returns the stop condition.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Charges steps to the budget.
    pub(crate) fn spend(&self, steps: u64) {
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    /// Returns the number of steps used.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Returns the number of remaining steps, or `None` without a limit.
    pub(crate) fn left(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.spent()))
    }

    /// Returns the reason to give up now, or `None` if the budget is not exhausted.
    pub(crate) fn exhausted(&self) -> Option<String> {
        let reason = self.stop.reason().map(|reason| reason.to_string());
        reason.or_else(|| (self.left() == Some(0)).then(|| "step limit reached".to_owned()))
    }
}
