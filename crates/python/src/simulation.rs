//! Runs of the simulated NIC.

use crate::errors;
use pyo3::prelude::*;
use slowpath::Error;
use slowpath_nicsim::{Device, Functions, NicError, Scenario, run_all};

/// How many runs a thread does before anybody looks whether it is to stop.
const RUNS: usize = 2;

/// What comes of scenarios (a JSON list of `slowpath_nicsim::Scenario`), as a JSON list of
/// `slowpath_nicsim::Outcome` in the same order, on so many threads. Raises `Error` for what cannot
/// be; Ctrl-C is noticed between runs.
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

/// Names of the functions and competitors that can be simulated.
#[pyfunction]
pub fn simulated_functions(py: Python<'_>) -> PyResult<Vec<String>> {
    let functions = Functions::built_in().map_err(|error| errors::defect(py, &error))?;
    Ok(functions.names().map(str::to_owned).collect())
}
