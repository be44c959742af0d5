//! Programs of BPF objects compiled for a device, and the proof that they do the same there.

use crate::errors;
use crate::objects::{Btf, Object};
use crate::target::Target;
use crate::values;
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slowpath::{Options, ProgramRequest};

/// A file's name, what is in it, the number of a program there, and the kernel that it is for.
type Subject = (String, Py<Object>, usize, Option<Py<Btf>>);

fn request(
    (file, object, program, btf): Subject,
    target: &Target,
    options: &Bound<'_, PyDict>,
) -> PyResult<ProgramRequest> {
    let options = Options { target: target.shared(), ..values::from_table(options)? };
    let (object, kernel) = (object.get().shared(), btf.map(|btf| btf.get().shared()));
    Ok(ProgramRequest { file, object, program, kernel, options })
}

/// A program as a device runs it, as JSON text. `options` are as those of an `Analysis`. Raises
/// `Error` when the device cannot run the program, or `stop` says so.
#[pyfunction]
pub fn compile_program(
    py: Python<'_>,
    subject: Subject,
    target: &Target,
    options: &Bound<'_, PyDict>,
    stop: &Stop,
) -> PyResult<String> {
    let request = request(subject, target, options)?;
    let compiled = worker::run(py, stop, move |stop| slowpath::compile(&request, stop))?;
    compiled.map_err(|error| errors::exception(py, &error))
}

/// Whether the compiled program does what the BPF program does with packets of `target`, as JSON
/// text. Raises `Error` as `compile_program` does. `stop` ends it with what is known by then.
#[pyfunction]
pub fn verify_program(
    py: Python<'_>,
    subject: Subject,
    target: &Target,
    options: &Bound<'_, PyDict>,
    stop: &Stop,
) -> PyResult<String> {
    let request = request(subject, target, options)?;
    let verified = worker::run(py, stop, move |stop| slowpath::verify(&request, stop))?;
    let verification = verified.map_err(|error| errors::exception(py, &error))?;
    serde_json::to_string(&verification).map_err(|error| errors::defect(py, &error))
}
