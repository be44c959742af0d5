//! How much one check may take: time, and steps of the engine, which are the same every time.

use std::cell::Cell;

use slowpath_stop::Stop;

/// What there is for a check, and how much of it is used up.
#[derive(Debug)]
pub(crate) struct Budget {
    stop: Stop,
    limit: Option<u64>,
    spent: Cell<u64>,
}

impl Budget {
    /// As long as `stop` says nothing else, and so many steps, if they are limited.
    pub(crate) fn new(stop: Stop, limit: Option<u64>) -> Self {
        Budget { stop, limit, spent: Cell::new(0) }
    }

    /// When it is time to stop.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// So many further steps were taken.
    pub(crate) fn spend(&self, steps: u64) {
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    /// Steps that were taken.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Steps that are left, if they are limited.
    pub(crate) fn left(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.spent()))
    }

    /// Why to give up now, if at all.
    pub(crate) fn over(&self) -> Option<String> {
        let reason = self.stop.reason().map(|reason| reason.to_string());
        reason.or_else(|| (self.left() == Some(0)).then(|| "step limit reached".to_owned()))
    }
}
