//! Events that an analysis sends to its caller while it runs.

use slowpath_stop::Stop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// An event of a running analysis.
#[derive(Clone, Debug)]
pub enum Event {
    /// The guaranteed bound became tighter.
    Bound {
        /// The bound in bits per second, packets per second, or as a count, depending on the
        /// metric.
        value: f64,
        /// Seconds since the start of the analysis.
        seconds: f64,
        /// Number of paths that were checked so far.
        candidates: u64,
        /// Number of nogoods found so far. A nogood is a set of branch decisions that no packet can
        /// take together.
        nogoods: u64,
    },
    /// A path that some packet takes was found and replayed.
    Path {
        /// Number of the path, counted from 1 in the order of discovery.
        index: u64,
    },
    /// The result that the analysis would have if it ended now, as one entry of `results` in the
    /// JSON output. It has no profile and at most one path. If results change often, not all of
    /// them are sent.
    Intermediate(String),
    /// The final result, which is the last event.
    Result(Box<Report>),
}

/// The result of an analysis of one program, as JSON text.
#[derive(Clone, Debug)]
pub struct Report {
    /// One entry of `results` in the JSON output; see `docs/reference/json.md`.
    pub json: String,
    /// More data about the paths for human reports, as JSON. Its format can change at any time.
    pub detail: String,
    /// A certificate of the guarantee as JSON, or the reason why there is none. `None` if the
    /// request does not ask for one.
    pub certificate: Option<Result<String, String>>,
    /// True if no limit of time or memory and no request to stop affected the result. The same
    /// request then has the same result on every machine, except for the times in it.
    pub complete: bool,
}

/// Connection of an analysis to its caller: a stop condition that the caller can raise, and the
/// channel to which the analysis sends events.
#[derive(Clone)]
pub(crate) struct Control {
    pub stop: Stop,
    pub events: Sender<Event>,
    /// True after a stage of the analysis reached its own time limit. Such limits exist in addition
    /// to the limits in `stop`.
    pub hurried: Arc<AtomicBool>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("stop", &self.stop).finish_non_exhaustive()
    }
}

impl Control {
    pub fn new(stop: Stop, events: Sender<Event>) -> Control {
        Control { stop, events, hurried: Arc::default() }
    }

    /// Records that a stage reached its own time limit, if it did. `stage` is the stop condition of
    /// the stage.
    pub fn note_end(&self, stage: &Stop) {
        if stage.reason().is_some() {
            self.hurried.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if no limit affected the analysis so far.
    pub fn is_unlimited(&self) -> bool {
        self.stop.reason().is_none() && !self.hurried.load(Ordering::Relaxed)
    }

    pub fn send(&self, event: Event) {
        // The owner may have dropped the receiver; the work then ends at the next poll of `stop`.
        let _ = self.events.send(event);
    }
}
