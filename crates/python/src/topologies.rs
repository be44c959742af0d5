//! Reads descriptions of topologies, and plans rewritten programs for their nodes.

use crate::errors;
use crate::objects::{Btf, Object};
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use slowpath::Error;
use slowpath_chain::Loaded;
use slowpath_chain::plan::{PlanOptions, Subject};
use slowpath_codes as codes;
use slowpath_specialise::Mode;
use std::path::PathBuf;

/// Programs on the paths of a network, read from a description. Raises `Error` if it is invalid.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Topology {
    inner: slowpath_chain::plan::Topology,
}

/// A program of a topology: its name in the topology, the name of its file, and its name in the
/// file (`None` if not stated).
type Member = (String, String, Option<String>);

#[pymethods]
impl Topology {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let inner =
            slowpath_chain::plan::Topology::parse(text).map_err(|error| wrong(py, &error))?;
        Ok(Topology { inner })
    }

    /// Programs of the topology, in the order of its description.
    #[getter]
    fn members(&self) -> Vec<Member> {
        let member = |program: &slowpath_chain::plan::PlacedProgram| {
            (program.name.clone(), program.object.clone(), program.program.clone())
        };
        self.inner.programs.iter().map(member).collect()
    }

    /// Numbers of the lines in the description that name the programs, in the order of `members`.
    #[getter]
    fn lines(&self) -> Vec<u64> {
        self.inner.programs.iter().map(|program| program.line).collect()
    }

    /// Chooses the variants of programs that pay off. Returns the report as JSON text, and the
    /// object of each variant in the order of the report.
    ///
    /// Each of `objects` comes with the index of its program and the digest of its file. `mode` is
    /// `trust` or `guard`. `cache` is a folder for results. `build` and `identity` become part of
    /// the keys of these results: `build` identifies the version of slowpath, and `identity` this
    /// topology. `stop` ends the work with the results so far. Raises `Error` if a program cannot
    /// be linked.
    #[pyo3(signature = (objects, btf, stop, *, mode, neighbours, variants, threads, cache, build,
                        identity))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of the Python function")]
    fn plan(
        &self,
        py: Python<'_>,
        objects: Vec<(Py<Object>, usize, String)>,
        btf: Option<Py<Btf>>,
        stop: &Stop,
        mode: &str,
        neighbours: bool,
        variants: usize,
        threads: usize,
        cache: Option<PathBuf>,
        build: String,
        identity: String,
    ) -> PyResult<(String, Vec<Vec<u8>>)> {
        let subject = |(object, program, digest): (Py<Object>, usize, String)| {
            let object = object.get().shared().object().ok_or_else(|| {
                let what = "a listing cannot be part of a topology; programs must be BPF objects";
                errors::exception(py, &Error::Input(codes::CHAIN_MEMBER_LISTING, what.to_owned()))
            })?;
            let wrong = |what| Error::Input(codes::UNSUPPORTED_PROGRAM_TYPE, what);
            let loaded = Loaded::new(object, program);
            let loaded = loaded.map_err(|what| errors::exception(py, &wrong(what)))?;
            Ok(Subject { loaded, digest })
        };
        let subjects = objects.into_iter().map(subject).collect::<PyResult<Vec<Subject>>>()?;
        let mode = if mode == "trust" { Mode::Trust } else { Mode::Guard };
        let mut options = PlanOptions {
            mode,
            neighbours,
            variants,
            threads,
            cache,
            build,
            topology: identity,
            ..PlanOptions::default()
        };
        options.lift.kernel_types = btf.map(|btf| btf.get().shared().shared());
        let topology = self.inner.clone();
        let work = move |stop: &slowpath::Stop| {
            slowpath_chain::plan::plan(&topology, &subjects, &options, stop)
        };
        let planned = worker::run(py, stop, work)?.map_err(|error| wrong(py, &error))?;
        let text = serde_json::to_string(&planned.report);
        Ok((text.map_err(|error| errors::defect(py, &error))?, planned.objects))
    }
}

fn wrong(py: Python<'_>, error: &slowpath_chain::ChainError) -> PyErr {
    errors::exception(py, &Error::Input(error.code(), error.to_string()))
}
