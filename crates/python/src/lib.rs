//! The Python module `slowpath._core`: the Rust API of `slowpath` as Python objects.
//!
//! Conversion only: no analysis, no defaults, no text for users. Python waits for events with the
//! interpreter lock released and notices Ctrl-C while it waits. The typed face of this module is
//! `python/slowpath/_core.pyi`.

mod analysis;
mod events;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The version of the engine.
#[pyfunction]
fn version() -> &'static str {
    slowpath::version()
}

/// Names of the built-in targets.
#[pyfunction]
fn target_names() -> Vec<&'static str> {
    slowpath::target_names()
}

/// The description of a built-in target, or `None` when there is none of that name.
#[pyfunction]
fn target_text(name: &str) -> Option<&'static str> {
    slowpath::target_text(name)
}

/// What is wrong with a target description; empty when nothing is.
#[pyfunction]
fn check_target(text: &str) -> Vec<String> {
    slowpath::check_target(text)
}

/// What a BPF object contains, as JSON text. Raises `ValueError` when it or `btf`, the kernel's type
/// information, cannot be read.
#[pyfunction]
fn show(py: Python<'_>, file: &str, data: &[u8], btf: Option<&[u8]>) -> PyResult<String> {
    let shown = py.detach(|| slowpath::show(file, data, btf));
    shown.map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::analysis::Analysis;
    #[pymodule_export]
    use super::events::{Bound, Path, Result};
    #[pymodule_export]
    use super::{check_target, show, target_names, target_text, version};
}
