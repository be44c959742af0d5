//! Paths in stretches.

use pyo3::prelude::*;

use crate::measure::{Case, Station};

/// A part of a path.
#[pyclass(frozen, get_all, module = "slowpath._core")]
pub struct Stretch {
    /// The path up to its end; of the last one all of it, with the questions at all points.
    case: Py<Case>,
    /// How many questions the case asks.
    questions: usize,
    /// Its first instruction.
    from_instruction: usize,
    /// The first instruction behind it; None: the end of the program.
    to_instruction: Option<usize>,
    /// How many instructions it executes.
    instructions: usize,
    /// What it calls, if that is one thing.
    call: Option<String>,
    /// Source file, line and its text.
    source: Option<(String, u32, String)>,
}

/// Cuts a path into stretches; also the instructions at which it could not be cut.
///
/// Raises an `Error` if it is not known which instructions the path takes.
#[pyfunction]
pub fn stretches(
    py: Python<'_>,
    station: &Station,
    case: &Case,
) -> PyResult<(Vec<Stretch>, Vec<usize>)> {
    let Station { kernel, inner, .. } = station;
    let cut = station.perform(py, || case.inner.stretches(inner, kernel))?;
    let part = |part: slowpath_measure::Stretch| {
        let slowpath_measure::Stretch { case, questions, from, to, instructions, call, source } =
            part;
        let case = Py::new(py, Case { inner: case })?;
        let (from_instruction, to_instruction) = (from, to);
        Ok(Stretch {
            case,
            questions,
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
