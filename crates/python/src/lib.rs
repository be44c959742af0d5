//! The Python module `slowpath._core`: the Rust API of `slowpath` as Python objects.
//!
//! Only converts: the analyses, defaults and texts for users are elsewhere. While Python waits for
//! events, the interpreter lock is released and Ctrl-C is noticed. `make bless` generates the type
//! stub `python/slowpath/_core.pyi` from these sources.

mod analysis;
mod cache;
mod captures;
mod certificate;
mod chains;
mod compile;
mod errors;
mod estimate;
mod events;
mod functions;
mod kernel;
mod live;
mod measure;
mod model;
mod neighbours;
mod objects;
mod offered;
mod p4;
mod rehearsal;
mod stretches;
mod target;
mod topologies;
mod trace;
mod values;
mod waiting;
mod worker;

use pyo3::prelude::*;

/// Returns the version of the engine.
#[pyfunction]
fn version() -> &'static str {
    slowpath::version()
}

/// Returns the names of the built-in targets.
#[pyfunction]
fn target_names() -> Vec<&'static str> {
    slowpath::target_names()
}

/// Returns the description of a built-in target, or `None` if the name is unknown.
#[pyfunction]
fn target_text(name: &str) -> Option<&'static str> {
    slowpath::target_text(name)
}

/// Returns the names of the kernel's helpers, in the order of their numbers, from number 1 on.
#[pyfunction]
fn helper_names() -> &'static [&'static str] {
    slowpath::helper_names()
}

/// Returns the kernel's map types in the order of their numbers, each with its number and its name.
#[pyfunction]
fn map_kinds() -> Vec<(u32, &'static str)> {
    slowpath::MapKind::ALL.iter().filter_map(|kind| Some((kind.0, kind.name()?))).collect()
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::analysis::Analysis;
    #[pymodule_export]
    use super::cache::{Cache, cache_limit, cache_usage, clear_cache};
    #[pymodule_export]
    use super::captures::Capture;
    #[pymodule_export]
    use super::certificate::{check_certificate, export_proofs};
    #[pymodule_export]
    use super::chains::{Chain, KnownStart, Rewriting, verify};
    #[pymodule_export]
    use super::compile::{compile_program, compile_with_stand_ins, verify_program};
    #[pymodule_export]
    use super::errors::Error;
    #[pymodule_export]
    use super::estimate::{Flow, flow, nanoseconds};
    #[pymodule_export]
    use super::events::{Bound, Path, Result, SoFar};
    #[pymodule_export]
    use super::functions::{Functions, Given};
    #[pymodule_export]
    use super::kernel::Kernel;
    #[pymodule_export]
    use super::live::{LiveCase, LiveLoad};
    #[pymodule_export]
    use super::measure::{Busy, Case, Cold, Later, Load, Pace, Station};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::neighbours::{Mix, allowed_cpus, surroundings, why_no_counters};
    #[pymodule_export]
    use super::objects::{Btf, Object, Program, show};
    #[pymodule_export]
    use super::offered::OfferedLoad;
    #[pymodule_export]
    use super::p4::{p4_entries, p4_swx_entries, p4_to_c, p4_to_swx, p4_walks};
    #[pymodule_export]
    use super::p4::{swx_description, swx_print};
    #[pymodule_export]
    use super::rehearsal::rehearse;
    #[pymodule_export]
    use super::stretches::{Stretch, stretches};
    #[pymodule_export]
    use super::target::Target;
    #[pymodule_export]
    use super::topologies::Topology;
    #[pymodule_export]
    use super::trace::Trace;
    #[pymodule_export]
    use super::worker::Stop;
    #[pymodule_export]
    use super::{helper_names, map_kinds, target_names, target_text, version};
}
