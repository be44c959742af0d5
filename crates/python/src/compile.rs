//! Programs of BPF objects compiled for a device, and the proof that they do the same there.

use crate::objects::Kernel;
use crate::worker::{self, Stop, as_value_error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use slowpath::{Options, Request};

/// A program as a device runs it, as JSON text. Raises `ValueError` when the object cannot be read,
/// or the device cannot run the program, or `stop` says so.
#[pyfunction]
#[pyo3(signature = (file, data, program, kernel, stop, *, map_abi))]
pub fn compile_program(
    py: Python<'_>,
    file: String,
    data: Vec<u8>,
    program: usize,
    kernel: Option<&Kernel>,
    stop: &Stop,
    map_abi: Option<String>,
) -> PyResult<String> {
    let options = Options { map_abi, ..Options::default() };
    let kernel = kernel.map(Kernel::shared);
    let request = Request { file, data, program, kernel, options, ..Request::default() };
    let compiled = worker::run(py, stop, move |stop| slowpath::compile(&request, stop))?;
    compiled.map_err(as_value_error)
}

/// Whether the compiled program does what the BPF program does, as JSON text. Raises `ValueError`
/// as `compile_program` does. `stop` ends it with what is known by then.
#[pyfunction]
#[pyo3(signature = (file, data, program, kernel, stop, *, mtu, map_abi))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of the Python function")]
pub fn verify_program(
    py: Python<'_>,
    file: String,
    data: Vec<u8>,
    program: usize,
    kernel: Option<&Kernel>,
    stop: &Stop,
    mtu: u16,
    map_abi: Option<String>,
) -> PyResult<String> {
    let options = Options { mtu, map_abi, ..Options::default() };
    let kernel = kernel.map(Kernel::shared);
    let request = Request { file, data, program, kernel, options, ..Request::default() };
    let verified = worker::run(py, stop, move |stop| slowpath::verify(&request, stop))?;
    let verification = verified.map_err(as_value_error)?;
    serde_json::to_string(&verification).map_err(|error| PyValueError::new_err(error.to_string()))
}
