//! Sends intermediate results of an analysis to the caller, who reports the last of them if it has
//! to kill the analysis.

use crate::events::{Control, Event};
use crate::result::{Bound, PathResult, ProgramResult};
use std::time::{Duration, Instant};

/// Minimum time between two intermediate results. Bounds can improve thousands of times a second.
const PERIOD: Duration = Duration::from_millis(100);

/// A sender of intermediate results that limits how many are sent in a short time.
#[derive(Default)]
pub(crate) struct IntermediateResults {
    last: Option<Instant>,
}

impl IntermediateResults {
    /// Sends a bound and, if known, a path that some packet takes, as an intermediate result. Does
    /// nothing if the last result was sent less than [`PERIOD`] ago.
    pub fn send(
        &mut self,
        (control, started): (&Control, Instant),
        result: &ProgramResult,
        bound: &Bound,
        path: Option<&PathResult>,
    ) {
        if self.last.is_some_and(|last| last.elapsed() < PERIOD) {
            return;
        }
        self.last = Some(Instant::now());
        let guarantee = Some(bound.clone());
        let paths = path.cloned().into_iter().collect();
        report(control, started, ProgramResult { guarantee, paths, ..header(result) });
    }

    pub fn send_complete(control: &Control, started: Instant, result: &ProgramResult) {
        report(control, started, result.clone());
    }

    /// Sends the guarantee and the path that reaches it as an intermediate result, before the
    /// search for more paths continues.
    pub fn send_found(control: &Control, started: Instant, result: &ProgramResult) {
        let guarantee = result.guarantee.clone();
        let paths = result.paths.first().cloned().into_iter().collect();
        report(control, started, ProgramResult { guarantee, paths, ..header(result) });
    }
}

/// Copies a result without its guarantee, paths and profile. Intermediate results are built on this
/// copy.
fn header(result: &ProgramResult) -> ProgramResult {
    ProgramResult { guarantee: None, paths: Vec::new(), profile: None, ..result.clone() }
}

fn report(control: &Control, started: Instant, mut result: ProgramResult) {
    result.stats.seconds = started.elapsed().as_secs_f64();
    if let Ok(text) = serde_json::to_string(&result) {
        control.send(Event::Intermediate(text));
    }
}
