//! Events that an analysis sends to its owner while it runs.

use slowpath_stop::Stop;
use std::sync::mpsc::Sender;

/// An event of a running analysis.
#[derive(Clone, Debug)]
pub enum Event {
    /// The bound became tighter.
    Bound {
        /// The bound in bits per second, packets per second, or as a count, depending on the
        /// metric.
        value: f64,
        /// Seconds since the start.
        seconds: f64,
        /// Number of paths that were checked so far.
        candidates: u64,
        /// Number of reasons found so far why certain paths are impossible (nogoods).
        nogoods: u64,
    },
    /// A satisfiable path was found and replayed.
    Path {
        /// Number of the path, from 1.
        index: u64,
    },
    /// The result that the analysis would have if it ended now, as an entry of `results` in JSON.
    /// It has no profile and at most one path. If results change often, some of them are not sent.
    Intermediate(String),
    /// The final result. It is the last event.
    Result(Box<Report>),
}

/// The result of an analysis as JSON text.
#[derive(Clone, Debug)]
pub struct Report {
    /// One entry of `results` in JSON; see `docs/json.md`.
    pub json: String,
    /// Further data about the paths for human reports, as JSON. Its format can change at any time.
    pub detail: String,
}

/// Connects the thread of an analysis with its caller: the stop condition and the channel for
/// events.
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
