//! Network functions beside competitors, on CPUs of this machine.

use crate::errors;
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use slowpath::Error;
use slowpath_neighbours::{MixSpec, NeighbourError};
use std::sync::Arc;
use std::time::Duration;

/// Subjects and competitors, ready to run.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Mix {
    inner: Arc<slowpath_neighbours::Mix>,
}

#[pymethods]
impl Mix {
    /// Makes packets, tables and working sets of what `spec` says, the JSON text of a
    /// `slowpath_neighbours::MixSpec`.
    ///
    /// Raises an `Error`; of kind `unavailable` where the machine has not what it takes.
    #[new]
    fn new(py: Python<'_>, spec: &str, stop: &Stop) -> PyResult<Self> {
        let spec: MixSpec = serde_json::from_str(spec)
            .map_err(|error| errors::exception(py, &Error::Input(error.to_string())))?;
        let made = worker::run(py, stop, move |_| slowpath_neighbours::Mix::new(&spec))?;
        let inner = made.map(Arc::new).map_err(|error| exception(py, &error))?;
        Ok(Mix { inner })
    }

    /// Runs subjects, and competitors if `beside`, for `warm` seconds and, measured, for `seconds`:
    /// the JSON text of a `slowpath_neighbours::Block`, or `None` if it had to stop before.
    ///
    /// Raises an `Error`.
    fn block(
        &self,
        py: Python<'_>,
        beside: bool,
        warm: f64,
        seconds: f64,
        stop: &Stop,
    ) -> PyResult<Option<String>> {
        let time = |seconds: f64| {
            let valid = Duration::try_from_secs_f64(seconds);
            valid.map_err(|error| errors::exception(py, &Error::Input(error.to_string())))
        };
        let (warm, seconds) = (time(warm)?, time(seconds)?);
        let mix = Arc::clone(&self.inner);
        let done = worker::run(py, stop, move |stop| {
            mix.block(beside, warm, seconds, &|| stop.reason().is_none())
        })?;
        match done {
            Ok(block) => {
                let text = serde_json::to_string(&block);
                text.map(Some).map_err(|error| errors::defect(py, &error))
            }
            Err(NeighbourError::Stopped) => Ok(None),
            Err(error) => Err(exception(py, &error)),
        }
    }
}

/// Numbers of the CPUs that this process may use.
#[pyfunction]
pub fn allowed_cpus() -> Vec<usize> {
    slowpath_neighbours::allowed_cpus()
}

/// Why there are no hardware counters for this process; `None` where there are.
#[pyfunction]
pub fn why_no_counters() -> Option<String> {
    slowpath_neighbours::why_no_counters()
}

fn exception(py: Python<'_>, error: &NeighbourError) -> PyErr {
    let said = error.to_string();
    match error {
        NeighbourError::Number { .. } | NeighbourError::Unfit(_) => {
            errors::exception(py, &Error::Input(said))
        }
        NeighbourError::Defect(_) => errors::defect(py, &said),
        _ => errors::exception(py, &Error::Unavailable(said)),
    }
}
