//! Checks certificates of guarantees.

use crate::compile::{Subject, request};
use crate::errors;
use crate::target::Target;
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Checks a certificate of a program. `claims` is the text that `Result.certificate` has. Returns
/// the proved result as JSON text. `options` are those with which the certificate was made. Raises
/// `Error` if the certificate proves nothing about the program, or if `stop` ends the work.
#[pyfunction]
pub fn check_certificate(
    py: Python<'_>,
    subject: Subject,
    target: &Target,
    options: &Bound<'_, PyDict>,
    claims: String,
    stop: &Stop,
) -> PyResult<String> {
    let request = request(subject, target, options)?;
    let checked = worker::run(py, stop, move |stop| {
        slowpath::check_certificate(&request, &claims, stop).map(|checked| checked.to_json())
    })?;
    checked.map_err(|error| errors::exception(py, &error))
}

/// Returns the clauses and the proof of each nogood of a certificate, as texts in the formats DIMACS
/// and LRAT. The arguments are those of `check_certificate`. The proofs are not checked. Raises
/// `Error` if the certificate does not fit the program, or if `stop` ends the work.
#[pyfunction]
pub fn export_proofs(
    py: Python<'_>,
    subject: Subject,
    target: &Target,
    options: &Bound<'_, PyDict>,
    claims: String,
    stop: &Stop,
) -> PyResult<Vec<(String, String)>> {
    let request = request(subject, target, options)?;
    let texts =
        worker::run(py, stop, move |stop| slowpath::export_proofs(&request, &claims, stop))?;
    texts.map_err(|error| errors::exception(py, &error))
}
