//! Converts errors of the engine to a Python exception whose fields describe the error.

use crate::values;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slowpath::Failure;

pyo3::create_exception!(
    _core,
    Error,
    PyException,
    "Error of the engine. Its fields are those of `slowpath::Failure`, and `refusals`: the reasons \
     why a device cannot run the program."
);

/// Converts an error of the engine into a Python exception.
pub fn exception(py: Python<'_>, error: &slowpath::Error) -> PyErr {
    fielded(py, error).unwrap_or_else(|problem| problem)
}

/// Converts a description of an internal defect into a Python exception.
pub fn defect(py: Python<'_>, what: &dyn std::fmt::Display) -> PyErr {
    exception(py, &slowpath::Error::Panic(what.to_string()))
}

fn fielded(py: Python<'_>, error: &slowpath::Error) -> PyResult<PyErr> {
    let raised = Error::new_err(error.to_string());
    let fields = values::to_python(py, &Failure::of(error))?;
    for (name, value) in fields.bind(py).cast::<PyDict>()? {
        raised.value(py).setattr(name.extract::<&str>()?, value)?;
    }
    let refusals = values::to_python(py, &error.refusals())?;
    raised.value(py).setattr("refusals", refusals)?;
    Ok(raised)
}
