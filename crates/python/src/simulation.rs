//! Runs of the simulated NIC.

use crate::errors;
use pyo3::prelude::*;
use slowpath::Error;
use slowpath_nicsim::{Device, Functions, NicError, Scenario, run_all};

/// Runs of each thread between two checks for signals.
const RUNS: usize = 2;

/// Simulates scenarios (a JSON list of `slowpath_nicsim::Scenario`) in parallel threads. Returns a
/// JSON list of `slowpath_nicsim::Outcome` in the same order. Raises `Error` if a scenario is
/// invalid; Ctrl-C is noticed between runs.
#[pyfunction]
pub fn simulate_nic(py: Python<'_>, scenarios: &str, threads: usize) -> PyResult<String> {
    let input = |why: String| errors::exception(py, &Error::Input(why));
    let wrong = |error: NicError| input(error.to_string());
    let scenarios: Vec<Scenario> =
        serde_json::from_str(scenarios).map_err(|error| input(error.to_string()))?;
    let device = Device::bluefield_2().map_err(wrong)?;
    let functions = Functions::built_in().map_err(wrong)?;
    let mut outcomes = Vec::with_capacity(scenarios.len());
    for some in scenarios.chunks(RUNS * threads.max(1)) {
        py.check_signals()?;
        outcomes.extend(py.detach(|| run_all(&device, &functions, some, threads)).map_err(wrong)?);
    }
    serde_json::to_string(&outcomes).map_err(|error| errors::defect(py, &error))
}

/// Returns the names of the functions and competitors that can be simulated.
#[pyfunction]
pub fn simulated_functions(py: Python<'_>) -> PyResult<Vec<String>> {
    let functions = Functions::built_in().map_err(|error| errors::defect(py, &error))?;
    Ok(functions.names().map(str::to_owned).collect())
}
