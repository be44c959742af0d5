//! Compiles BPF programs for a device, and proves that the compiled program is equivalent.

use crate::errors;
use crate::objects::{Btf, Object};
use crate::target::Target;
use crate::values;
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slowpath::{Options, ProgramRequest};

/// A program to compile: the name of its file, the file's content, the program's index in it, and
/// the types (BTF) of its kernel, if given.
pub type Subject = (String, Py<Object>, usize, Option<Py<Btf>>);

/// Returns the request to analyse a program with these options.
pub fn request(
    (file, object, program, btf): Subject,
    target: &Target,
    options: &Bound<'_, PyDict>,
) -> PyResult<ProgramRequest> {
    let options = Options { target: target.shared(), ..values::from_table(options)? };
    let (object, kernel) = (object.get().shared(), btf.map(|btf| btf.get().shared()));
    Ok(ProgramRequest { file, object, program, kernel, options })
}

/// Compiles a program for a device. Returns the result as JSON text. `options` are as for
/// `Analysis`. Raises `Error` if the device cannot run the program, or if `stop` ends the work.
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

/// A compiled program as JSON text; its functions, each with the slot of its first instruction
/// (`None` if not compiled); and the instructions that stand-ins replace: function, slot, reason,
/// and true for an access to memory. A slot is an index of an instruction in units of 8 bytes.
type WithStandIns = (String, Vec<(String, Option<usize>)>, Vec<(String, usize, String, bool)>);

/// Compiles a program for a device. Other instructions, the stand-ins, replace all instructions
/// that the device lacks. `kernel_calls` lists calls of functions outside the object: name of the
/// calling function, slot of the call in it, and name of the callee. `verified` is false for a
/// program that the kernel's verifier might reject. Raises `Error` if stand-ins do not help, or if
/// `stop` ends the work.
#[pyfunction]
pub fn compile_with_stand_ins(
    py: Python<'_>,
    subject: Subject,
    target: &Target,
    options: &Bound<'_, PyDict>,
    kernel_calls: Vec<(String, usize, String)>,
    verified: bool,
    stop: &Stop,
) -> PyResult<WithStandIns> {
    let request = request(subject, target, options)?;
    let calls = kernel_calls.into_iter();
    let calls: Vec<_> = calls.map(|(function, slot, callee)| ((function, slot), callee)).collect();
    let done = worker::run(py, stop, move |stop| {
        slowpath::compile_with_stand_ins(&request, &calls, verified, stop)
    })?;
    let done = done.map_err(|error| errors::exception(py, &error))?;
    let stand_ins = done.stand_ins.into_iter();
    let stand_ins = stand_ins.map(|one| (one.function, one.slot, one.reason, one.accesses_memory));
    Ok((done.compiled, done.functions, stand_ins.collect()))
}

/// Checks whether the compiled program is equivalent to the BPF program for packets of `target`.
/// Returns the result as JSON text. Raises `Error` as `compile_program` does. `stop` ends the work
/// with the results so far.
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
