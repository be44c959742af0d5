//! Defines the work of a thread. It is done in small turns, and its progress is read between them.

use serde::Serialize;

/// Totals of the work done for one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Served {
    /// Number of packets, requests or accesses.
    pub items: u64,
    /// Total bytes of the items.
    pub bytes: u64,
    /// Total results: matches, or bytes after compression.
    pub results: u64,
    /// Total time of the accelerator; zero for other work.
    pub nanoseconds: u64,
}

impl Served {
    /// Returns by how much the totals have increased since `before`.
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

/// The work that a thread does in small turns.
pub trait Work: Send {
    /// Prepares for the next block. `competing` is true if the competitors run in it.
    fn begin(&mut self, competing: bool);

    /// Does a small part of the work, which takes tens of microseconds. It does not wait longer
    /// than this for other threads.
    fn turn(&mut self);

    /// Returns the totals of the work done so far. The totals of the work itself come first,
    /// followed by those of each client of its accelerator.
    fn served(&self) -> Vec<Served>;

    /// Returns the reason why the work cannot continue, or `None` if it can.
    fn failure(&self) -> Option<String> {
        None
    }
}
