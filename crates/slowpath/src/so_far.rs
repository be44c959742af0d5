//! What the result would be if the analysis ended now, for whoever may have to end it by force.

use crate::events::{Control, Event};
use crate::result::{Bound, PathResult, ProgramResult};
use std::time::{Duration, Instant};

/// Between two reports; bounds can improve thousands of times a second.
const PERIOD: Duration = Duration::from_millis(100);

/// Reports results, not too often.
#[derive(Default)]
pub(crate) struct SoFar {
    last: Option<Instant>,
}

impl SoFar {
    /// Reports a bound on the program, and a path that some packet takes.
    pub fn send(
        &mut self,
        (control, started): (&Control, Instant),
        result: &ProgramResult,
        bound: &Bound,
        reached: Option<&PathResult>,
    ) {
        if self.last.is_some_and(|last| last.elapsed() < PERIOD) {
            return;
        }
        self.last = Some(Instant::now());
        report(
            (control, started),
            ProgramResult {
                guarantee: Some(bound.clone()),
                paths: reached.cloned().into_iter().collect(),
                ..header(result)
            },
        );
    }

    /// Reports a result that has all that is known.
    pub fn send_known(&mut self, (control, started): (&Control, Instant), result: &ProgramResult) {
        report((control, started), result.clone());
    }

    /// Reports the first path, where more are wanted.
    pub fn send_found(&mut self, (control, started): (&Control, Instant), result: &ProgramResult) {
        let guarantee = result.guarantee.clone();
        let paths = result.paths.first().cloned().into_iter().collect();
        report((control, started), ProgramResult { guarantee, paths, ..header(result) });
    }
}

/// A result without its guarantee, paths and profile.
fn header(result: &ProgramResult) -> ProgramResult {
    ProgramResult { guarantee: None, paths: Vec::new(), profile: None, ..result.clone() }
}

fn report((control, started): (&Control, Instant), mut result: ProgramResult) {
    result.stats.seconds = started.elapsed().as_secs_f64();
    if let Ok(text) = serde_json::to_string(&result) {
        control.send(Event::SoFar(text));
    }
}
