//! What an analysis tells its owner while it runs, and how.

use slowpath_stop::Stop;
use std::sync::mpsc::Sender;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The bound improved.
    Bound {
        /// Bits per second, packets per second or a count, as the metric says.
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
        /// Its number, from 1.
        index: u64,
    },
    /// What the result would be if the analysis ended here: an entry of `results` in JSON, its paths
    /// after the first and its profile left out. Not sent each time that it changes.
    SoFar(String),
    /// The result; nothing follows.
    Result(Box<Report>),
}

/// A result, serialised.
#[derive(Clone, Debug)]
pub struct Report {
    /// One entry of `results` in JSON, see `docs/json.md`.
    pub json: String,
    /// More about the paths for human reports, in JSON; not a stable format.
    pub detail: String,
}

/// What the worker shares with its owner.
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
        // The owner may have stopped listening; the work then ends at the next poll of `stop`.
        let _ = self.events.send(event);
    }
}
