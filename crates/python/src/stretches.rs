//! Divides paths into stretches, so that the time of each stretch can be measured.

use pyo3::prelude::*;

use crate::measure::{Case, Station};

/// A part of a path.
#[pyclass(frozen, get_all, module = "slowpath._core")]
pub struct Stretch {
    /// The path up to the end of the stretch. The last case is the whole path, with queries at all
    /// points.
    case: Py<Case>,
    /// Number of queries that the case executes.
    questions: usize,
    /// First instruction of the stretch.
    from_instruction: usize,
    /// First instruction after the stretch; None at the end of the program.
    to_instruction: Option<usize>,
    /// Number of executed instructions.
    instructions: usize,
    /// Name of the only function that the stretch calls, if it calls one.
    call: Option<String>,
    /// Source file, line number and text.
    source: Option<(String, u32, String)>,
}

/// Divides a path into stretches. Returns them with the instructions at which it cannot be divided.
///
/// Raises an `Error` if the sequence of instructions is unknown.
#[pyfunction]
pub fn stretches(
    py: Python<'_>,
    station: &Station,
    case: &Case,
) -> PyResult<(Vec<Stretch>, Vec<usize>)> {
    let Station { kernel, inner, .. } = station;
    let cut = station.perform(py, || case.inner.stretches(inner, kernel))?;
    let part = |part: slowpath_measure::Stretch| {
        let slowpath_measure::Stretch { case, queries, from, to, instructions, call, source } =
            part;
        let case = Py::new(py, Case { inner: case })?;
        let (from_instruction, to_instruction) = (from, to);
        Ok(Stretch {
            case,
            questions: queries,
            from_instruction,
            to_instruction,
            instructions,
            call,
            source,
        })
    };
    let shown: PyResult<Vec<Stretch>> = cut.stretches.into_iter().map(part).collect();
    Ok((shown?, cut.uncut))
}
