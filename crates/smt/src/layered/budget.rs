//! The budget of one solver check: a stop condition, and a maximum number of engine steps. Unlike a
//! time limit, a step limit has the same effect in every run.

use std::cell::Cell;

use slowpath_stop::Stop;

/// The limits of a solver check, and the number of steps used so far.
#[derive(Debug)]
pub(crate) struct Budget {
    stop: Stop,
    limit: Option<u64>,
    spent: Cell<u64>,
}

impl Budget {
    pub(crate) fn new(stop: Stop, limit: Option<u64>) -> Self {
        Budget { stop, limit, spent: Cell::new(0) }
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(crate) fn spend(&self, steps: u64) {
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Returns the number of steps that a check may still take, or `None` if there is no limit.
    pub(crate) fn left(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.spent()))
    }

    /// Returns the reason to give up if the budget is exhausted, otherwise `None`.
    pub(crate) fn exhausted(&self) -> Option<String> {
        let reason = self.stop.reason().map(|reason| reason.to_string());
        reason.or_else(|| (self.left() == Some(0)).then(|| "step limit reached".to_owned()))
    }
}
