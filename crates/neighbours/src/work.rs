//! Defines the work of a thread. A thread works in small steps, called turns; its progress is read
//! between two turns.

use serde::Serialize;

/// Totals of the work that was done, or of the part for one client of an accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Served {
    /// Number of processed packets or requests, or of memory accesses.
    pub items: u64,
    /// Total size in bytes of the packets, payloads or memory accesses.
    pub bytes: u64,
    /// Total results: packets that passed all stages, matches, or bytes after compression.
    pub results: u64,
    /// Total processing time of the accelerator in nanoseconds; zero for other work.
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

/// The work of a thread, which is done in small steps, called turns.
pub trait Work: Send {
    /// Prepares for the next measured period. `competing` is true if competitors run during this
    /// period, which disturb the measured threads.
    fn begin(&mut self, competing: bool);

    /// Does a small part of the work, which takes tens of microseconds. Does not wait longer than
    /// this for other threads.
    fn turn(&mut self);

    /// Returns the totals of the work done so far: those of the thread itself first, then those for
    /// each client of its accelerator.
    fn served(&self) -> Vec<Served>;

    /// Returns the reason why the work cannot continue, or `None` if it can.
    fn failure(&self) -> Option<String> {
        None
    }
}
