//! Divides paths into stretches, so that the time of each stretch can be measured.

use pyo3::prelude::*;

use crate::measure::{Case, Station};

/// A part of a path. Its time is the time of the path up to the end of the stretch, minus the time
/// of the path up to its start.
#[pyclass(frozen, get_all, module = "slowpath._core")]
pub struct Stretch {
    /// The path up to the end of the stretch. For the last stretch, this is the whole path, with
    /// checks at all points at which the path was divided.
    case: Py<Case>,
    /// Number of inserted checks, each of which can end the run early, that a run of the case
    /// executes.
    questions: usize,
    /// Index of the first instruction of the stretch, in units of 8 bytes.
    from_instruction: usize,
    /// Index of the first instruction after the stretch, in units of 8 bytes; None at the end of
    /// the program.
    to_instruction: Option<usize>,
    /// Number of instructions that the stretch executes.
    instructions: usize,
    /// Name of the function that the stretch calls; `None` if it does not contain exactly one call.
    call: Option<String>,
    /// Source file, line number and text of the line that the stretch belongs to.
    source: Option<(String, u32, String)>,
}

/// Divides a path into stretches. Returns the stretches, and the indices of the instructions at
/// which the path cannot be divided.
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
