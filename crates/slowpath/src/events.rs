//! Events that an analysis sends to its owner while it runs.

use slowpath_stop::Stop;
use std::sync::mpsc::Sender;

/// An event of a running analysis.
#[derive(Clone, Debug)]
pub enum Event {
    /// The bound improved.
    Bound {
        /// Bits per second, packets per second or a count, depending on the metric.
        value: f64,
        /// Seconds since the start.
        seconds: f64,
        /// Paths checked so far.
        candidates: u64,
        /// Nogoods learnt so far.
        nogoods: u64,
    },
    /// A satisfiable path was found and replayed.
    Path {
        /// Number of the path, from 1.
        index: u64,
    },
    /// The result that the analysis would have if it ended now, as an entry of `results` in JSON.
    /// It omits the profile and all paths but the first. Some changes are skipped to limit the
    /// rate of events.
    Intermediate(String),
    /// The result; nothing follows.
    Result(Box<Report>),
}

/// A serialised result.
#[derive(Clone, Debug)]
pub struct Report {
    /// One entry of `results` in JSON; see `docs/json.md`.
    pub json: String,
    /// Further data about the paths for human reports, in JSON. The format is not stable.
    pub detail: String,
}

/// Stop handle and event channel that the worker shares with its owner.
#[derive(Clone)]
pub(crate) struct Control {
    pub stop: Stop,
    pub events: Sender<Event>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("stop", &self.stop).finish_non_exhaustive()
    }
}

impl Control {
    pub fn send(&self, event: Event) {
        // The owner may have dropped the receiver; the work then ends at the next poll of `stop`.
        let _ = self.events.send(event);
    }
}
