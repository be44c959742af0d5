//! The Python module `slowpath._core`: the Rust API of `slowpath` as Python objects.
//!
//! Conversion only: no analysis, no defaults, no text for users. Python waits for events with the
//! interpreter lock released and notices Ctrl-C while it waits. The typed face of this module is
//! `python/slowpath/_core.pyi`.

mod analysis;
mod compile;
mod events;
mod objects;
mod worker;

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

/// The metrics of a target that counts; `None` for other targets and for what is none.
#[pyfunction]
fn target_counters(target: &str, is_text: bool) -> Option<Vec<String>> {
    slowpath::target_counters(target, is_text)
}

/// Whether programs of BPF objects are compiled for a target.
#[pyfunction]
fn target_compiles(target: &str, is_text: bool) -> bool {
    slowpath::target_compiles(target, is_text)
}

/// What is wrong with a target description; empty when nothing is.
#[pyfunction]
fn check_target(text: &str) -> Vec<String> {
    slowpath::check_target(text)
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::analysis::Analysis;
    #[pymodule_export]
    use super::compile::{compile_program, verify_program};
    #[pymodule_export]
    use super::events::{Bound, Path, Result, SoFar};
    #[pymodule_export]
    use super::objects::{File, Kernel, Program, programs, show};
    #[pymodule_export]
    use super::worker::Stop;
    #[pymodule_export]
    use super::{
        check_target, target_compiles, target_counters, target_names, target_text, version,
    };
}
