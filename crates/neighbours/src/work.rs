//! Work that a thread does in small turns, so that it can be looked at in between.

use serde::Serialize;

/// What was done so far, for one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Packets, requests or accesses.
    pub items: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What came of them: matches, or bytes after compression.
    pub results: u64,
    /// How long the accelerator worked for them; zero elsewhere.
    pub nanoseconds: u64,
}

impl Served {
    /// What was added since another look.
    #[must_use]
    pub fn since(&self, before: &Served) -> Served {
        Served {
            items: self.items.saturating_sub(before.items),
            bytes: self.bytes.saturating_sub(before.bytes),
            results: self.results.saturating_sub(before.results),
            nanoseconds: self.nanoseconds.saturating_sub(before.nanoseconds),
        }
    }
}

/// Work of a thread.
pub trait Work: Send {
    /// A block begins, with competitors or without.
    fn begin(&mut self, beside: bool);

    /// Does a little: for tens of microseconds, and never waits for another thread for longer.
    fn turn(&mut self);

    /// What was done so far: by itself first, then for each client of the accelerator that it hosts.
    fn served(&self) -> Vec<Served>;

    /// Why it cannot go on, if so.
    fn failure(&self) -> Option<String> {
        None
    }
}
