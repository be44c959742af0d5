//! Parallel simulation of many scenarios.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::device::Device;
use crate::error::NicError;
use crate::function::Functions;
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::simulation::run;

/// Simulates scenarios in parallel threads. The outcomes have the order of the scenarios and do not
/// depend on the number of threads.
///
/// # Errors
///
/// The error of the first invalid scenario in the list.
pub fn run_all(
    device: &Device,
    functions: &Functions,
    scenarios: &[Scenario],
    threads: usize,
) -> Result<Vec<Outcome>, NicError> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Option<Result<Outcome, NicError>>>> =
        Mutex::new(scenarios.iter().map(|_| None).collect());
    let work = || {
        while let Some((at, scenario)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            scenarios.get(at).map(|scenario| (at, scenario))
        } {
            let outcome = run(device, functions, scenario);
            if let Ok(mut found) = found.lock() {
                found[at] = Some(outcome);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(scenarios.len()) {
            scope.spawn(work);
        }
        work();
    });
    let found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    found.into_iter().flatten().collect()
}
