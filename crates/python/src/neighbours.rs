//! Runs network functions and competitors at the same time on CPUs of this machine.

use crate::errors;
use crate::kernel::Kernel;
use crate::objects::Object;
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use slowpath::Error;
use slowpath_codes as codes;
use slowpath_ingress::{IngressError, Program, TrafficSpec};
use slowpath_neighbours::{MixSpec, NeighbourError, Work};
use std::sync::Arc;
use std::time::Duration;

/// An XDP program with its traffic: the object, the index of the program in it, and the JSON text
/// of a `slowpath_ingress::TrafficSpec`.
type Fed = (Py<Object>, usize, String);

/// The measured network functions (subjects) and their competitors, ready to run.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Mix {
    inner: Arc<slowpath_neighbours::Mix>,
}

#[pymethods]
impl Mix {
    /// Allocates packets, tables and working sets for `spec`, the JSON text of a
    /// `slowpath_neighbours::MixSpec`. Work of the kind `given` in `spec` refers to `programs` by
    /// index. These programs run in `kernel`.
    ///
    /// Raises an `Error` if the mix cannot be prepared. Its kind is `unavailable` if the machine
    /// lacks a requirement.
    #[new]
    #[pyo3(signature = (spec, stop, kernel=None, programs=Vec::new()))]
    fn new(
        py: Python<'_>,
        spec: &str,
        stop: &Stop,
        kernel: Option<&Kernel>,
        programs: Vec<Fed>,
    ) -> PyResult<Self> {
        let input = |code, error: String| errors::exception(py, &Error::Input(code, error));
        let spec: MixSpec = serde_json::from_str(spec)
            .map_err(|error| input(codes::INTERNAL_ERROR, error.to_string()))?;
        let mut fed = Vec::new();
        for (object, number, traffic) in programs {
            let what = "it is a listing; the kernel runs BPF objects";
            let object = object
                .get()
                .shared()
                .object()
                .ok_or_else(|| input(codes::LISTING_IN_KERNEL, what.to_owned()))?;
            let traffic: TrafficSpec = serde_json::from_str(&traffic)
                .map_err(|error| input(codes::INTERNAL_ERROR, error.to_string()))?;
            fed.push((object, number, traffic));
        }
        let kernel = kernel.map(Kernel::shared);
        let made = worker::run(py, stop, move |stop| {
            let go_on = || stop.reason().is_none();
            let mut given: Vec<Box<dyn Work>> = Vec::new();
            for (object, number, traffic) in &fed {
                let Some(kernel) = &kernel else {
                    return Err(Error::Input(
                        codes::INTERNAL_ERROR,
                        "a program takes a kernel".to_owned(),
                    ));
                };
                let program = Program::new(kernel, (object, *number), traffic, &go_on);
                given.push(Box::new(program.map_err(of_program)?));
            }
            slowpath_neighbours::Mix::new(&spec, given).map_err(of_mix)
        })?;
        let inner = made.map(Arc::new).map_err(|error| errors::exception(py, &error))?;
        Ok(Mix { inner })
    }

    /// Runs the subjects; if `beside` is true, runs the competitors at the same time. The run takes
    /// `warm` seconds without measurement, then `seconds` with measurement. Returns the JSON text
    /// of a `slowpath_neighbours::Block`, or `None` if `stop` ends the run early.
    ///
    /// Raises an `Error` if the run fails.
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
            valid.map_err(|error| {
                errors::exception(py, &Error::Input(codes::INTERNAL_ERROR, error.to_string()))
            })
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
            Err(error) => Err(errors::exception(py, &of_mix(error))),
        }
    }
}

/// Returns the numbers of the CPUs that this process may use.
#[pyfunction]
pub fn allowed_cpus() -> Vec<usize> {
    slowpath_neighbours::allowed_cpus()
}

/// Measures whether load on one of two CPUs slows down the other. Returns the JSON text of a
/// `slowpath_neighbours::CpuPairObservation`.
///
/// Raises an `Error` if the measurement fails.
#[pyfunction]
pub fn surroundings(py: Python<'_>, one: usize, other: usize) -> PyResult<String> {
    let found = py.detach(|| slowpath_neighbours::observe_cpu_pair(one, other));
    let found = found.map_err(|error| errors::exception(py, &of_mix(error)))?;
    serde_json::to_string(&found).map_err(|error| errors::defect(py, &error))
}

/// Returns the reason why this process cannot use hardware counters; `None` if it can.
#[pyfunction]
pub fn why_no_counters() -> Option<String> {
    slowpath_neighbours::why_no_counters()
}

fn of_mix(error: NeighbourError) -> Error {
    let (code, said) = (error.code(), error.to_string());
    match error {
        NeighbourError::Number { .. } | NeighbourError::Unfit(_) | NeighbourError::Given(_) => {
            Error::Input(code, said)
        }
        NeighbourError::Defect(_) => Error::Panic(said),
        _ => Error::Unavailable(code, said),
    }
}

fn of_program(error: IngressError) -> Error {
    let (code, said) = (error.code(), error.to_string());
    match error {
        IngressError::Stopped => Error::Unavailable(code, said),
        _ => Error::Input(code, said),
    }
}
