//! Programs of BPF objects compiled for a device, and the proof that they do the same there.

use crate::objects::Kernel;
use crate::worker::{self, Stop, as_value_error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use slowpath::{Options, Request};

/// A program as a device runs it, as JSON text. Raises `ValueError` when the object cannot be read,
/// or the device cannot run the program.
#[pyfunction]
#[pyo3(signature = (file, data, program, kernel, *, map_abi))]
pub fn compile_program(
    py: Python<'_>,
    file: String,
    data: Vec<u8>,
    program: usize,
    kernel: Option<&Kernel>,
    map_abi: Option<String>,
) -> PyResult<String> {
    let options = Options { map_abi, ..Options::default() };
    let request = Request { file, data, program, kernel: kernel.map(Kernel::shared), options };
    let compiled = worker::run(py, Stop::new(), move |_| slowpath::compile(&request))?;
    compiled.map_err(as_value_error)
}

/// Whether the compiled program does what the BPF program does, as JSON text. Raises `ValueError`
/// as `compile_program` does. `stop` ends it with what is known by then.
#[pyfunction]
#[pyo3(signature = (file, data, program, kernel, stop, *, mtu, deadline_seconds, map_abi))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of the Python function")]
pub fn verify_program(
    py: Python<'_>,
    file: String,
    data: Vec<u8>,
    program: usize,
    kernel: Option<&Kernel>,
    stop: &Stop,
    mtu: u16,
    deadline_seconds: Option<f64>,
    map_abi: Option<String>,
) -> PyResult<String> {
    let options = Options { mtu, deadline_seconds, map_abi, ..Options::default() };
    let request = Request { file, data, program, kernel: kernel.map(Kernel::shared), options };
    let verified = worker::run(py, stop.clone(), move |stop| slowpath::verify(&request, stop))?;
    let verification = verified.map_err(as_value_error)?;
    serde_json::to_string(&verification).map_err(|error| PyValueError::new_err(error.to_string()))
}
