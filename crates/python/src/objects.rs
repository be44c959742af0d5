//! Files with programs, what they contain, and the types of the kernel they are for.

use crate::errors;
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use slowpath::{ProgramFile, ShowRequest};
use std::sync::Arc;

/// Types (BTF) of the kernel that programs are for. Raises `Error` when they cannot be read.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Btf {
    inner: Arc<slowpath::KernelTypes>,
}

impl Btf {
    pub fn shared(&self) -> Arc<slowpath::KernelTypes> {
        Arc::clone(&self.inner)
    }
}

#[pymethods]
impl Btf {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let read = py.detach(|| slowpath::KernelTypes::parse(data));
        let inner = read.map(Arc::new).map_err(|error| errors::exception(py, &error))?;
        Ok(Btf { inner })
    }
}

/// The content of a file with programs, read once: a BPF object, or an NFP listing. Raises `Error`
/// when it cannot be read.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Object {
    inner: ProgramFile,
}

impl Object {
    pub fn of(inner: ProgramFile) -> Self {
        Object { inner }
    }

    pub fn shared(&self) -> ProgramFile {
        self.inner.clone()
    }
}

#[pymethods]
impl Object {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let read = py.detach(|| ProgramFile::read(data));
        let inner = read.map_err(|error| errors::exception(py, &error))?;
        Ok(Object { inner })
    }

    /// The same with `variables` (`NAME=VALUE`) and read-only data as `maps`, a file with content
    /// of maps, have them. Raises `Error` when there is no such variable, or a value does not fit.
    fn configured(
        &self,
        py: Python<'_>,
        variables: Vec<String>,
        maps: Option<&str>,
    ) -> PyResult<Object> {
        let configured = py.detach(|| self.inner.configured(&variables, maps));
        Ok(Object { inner: configured.map_err(|error| errors::exception(py, &error))? })
    }

    /// The names of the maps of a BPF object; a listing has none.
    fn map_names(&self) -> Vec<String> {
        let object = self.inner.object();
        object.map_or_else(Vec::new, |object| {
            object.maps.iter().map(|map| map.name.clone()).collect()
        })
    }

    /// What maps hold when a run begins, as JSON text: what `text`, a file with content of maps, says,
    /// and what the object puts into program arrays and maps of maps that it does not name. Raises
    /// `Error` when it cannot be read, or the content is no BPF object.
    fn run_maps(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        let object = self.inner.object().ok_or_else(|| {
            let what = "it is a listing; its maps are not known".to_owned();
            errors::exception(py, &slowpath::Error::Input(what))
        })?;
        let maps = py.detach(|| slowpath::run_maps(text, &object));
        Ok(maps.map_err(|error| errors::exception(py, &error))?.to_string())
    }

    /// The programs of a BPF object; `None` for a listing.
    fn programs(&self, py: Python<'_>) -> Option<Vec<Program>> {
        let programs = py.detach(|| self.inner.programs())?;
        let converted = |program: slowpath::ProgramInfo| {
            let slowpath::ProgramInfo { index, section, name, kind, needs_kernel } = program;
            Program { index, section, name, kind, needs_kernel }
        };
        Some(programs.into_iter().map(converted).collect())
    }
}

/// A program of an object, for choosing.
#[pyclass(frozen, get_all, module = "slowpath._core")]
pub struct Program {
    /// Its number in the object.
    pub index: usize,
    /// Section of its entry function.
    pub section: String,
    /// Name of its entry function.
    pub name: String,
    /// `xdp`, `sched_cls`, ...; `unknown` when nothing tells.
    pub kind: String,
    /// Whether it depends on the types of the kernel that it runs on.
    pub needs_kernel: bool,
}

/// What programs of a BPF object contain, as JSON text. Raises `Error` when it is none.
#[pyfunction]
#[pyo3(signature = (file, object, programs, btf, stop, *, listing, deadline_seconds))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of the Python function")]
pub fn show(
    py: Python<'_>,
    file: String,
    object: &Object,
    programs: Vec<usize>,
    btf: Option<&Btf>,
    stop: &Stop,
    listing: bool,
    deadline_seconds: f64,
) -> PyResult<String> {
    let (object, kernel) = (object.shared(), btf.map(Btf::shared));
    let request = ShowRequest { file, object, programs, kernel, listing, deadline_seconds };
    let shown = worker::run(py, stop, move |stop| slowpath::show(&request, stop))?;
    shown.map_err(|error| errors::exception(py, &error))
}
