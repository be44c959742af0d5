//! When to stop a running check: at a time limit, or when another thread asks for it.

use std::time::Instant;

use crate::solver::Interrupter;

/// When to stop.
pub(crate) struct Stop<'a> {
    pub(crate) interrupter: &'a Interrupter,
    pub(crate) deadline: Option<Instant>,
}

impl Stop<'_> {
    /// Why to stop now, if at all.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        if self.interrupter.is_interrupted() {
            return Some("interrupted");
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Some("time limit reached"),
            _ => None,
        }
    }
}
