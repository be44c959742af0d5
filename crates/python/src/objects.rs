//! Reads files with programs, and the types of the kernels that the programs are for.

use crate::errors;
use crate::worker::{self, Stop};
use pyo3::prelude::*;
use slowpath::{ProgramFile, ShowRequest};
use slowpath_codes as codes;
use std::sync::Arc;

/// Types (BTF) of the kernel for which programs are compiled. Raises `Error` if they cannot be
/// read.
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

/// The content of a file with programs, read once: a BPF object or an NFP listing. Raises `Error`
/// if it cannot be read.
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

    /// Returns the object with new values of variables and read-only data. `variables` has texts
    /// `NAME=VALUE`. Read-only data come from `maps`, the text of a file with map content. Raises
    /// `Error` if a variable is unknown or a value does not fit.
    fn configured(
        &self,
        py: Python<'_>,
        variables: Vec<String>,
        maps: Option<&str>,
    ) -> PyResult<Object> {
        let configured = py.detach(|| self.inner.configured(&variables, maps));
        Ok(Object { inner: configured.map_err(|error| errors::exception(py, &error))? })
    }

    /// Returns a copy of the object in which other instructions replace the given calls. Each call
    /// is given by the name of its function and its slot there, an index in units of 8 bytes.
    /// Raises `Error` if there is no such call.
    fn with_replaced_calls(&self, py: Python<'_>, calls: Vec<(String, usize)>) -> PyResult<Object> {
        let replaced = py.detach(|| slowpath::replace_calls(&self.inner, &calls));
        Ok(Object { inner: replaced.map_err(|error| errors::exception(py, &error))? })
    }

    /// Returns each function's name and its number of 8-byte instruction slots. The list is empty
    /// for a listing.
    fn function_slots(&self) -> Vec<(String, usize)> {
        let Some(object) = self.inner.object() else { return Vec::new() };
        object.function_slots().map(|(name, slots)| (name.to_owned(), slots)).collect()
    }

    /// Returns the names of the maps of a BPF object; none for a listing.
    fn map_names(&self) -> Vec<String> {
        let object = self.inner.object();
        object.map_or_else(Vec::new, |object| {
            object.maps.iter().map(|map| map.name.clone()).collect()
        })
    }

    /// Returns the initial content of maps for a run, as JSON text. The content comes from `text`,
    /// a file with map content. Program arrays and maps of maps that `text` does not name get the
    /// object's own content. Raises `Error` if the text cannot be read, or the file is not a BPF
    /// object.
    fn run_maps(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        let object = self.inner.object().ok_or_else(|| {
            let what = "it is a listing; its maps are not known".to_owned();
            errors::exception(py, &slowpath::Error::Input(codes::LISTING_IN_KERNEL, what))
        })?;
        let maps = py.detach(|| slowpath::runner_maps(text, &object));
        Ok(maps.map_err(|error| errors::exception(py, &error))?.to_string())
    }

    /// Returns the programs of a BPF object; `None` for a listing.
    fn programs(&self, py: Python<'_>) -> Option<Vec<Program>> {
        let programs = py.detach(|| self.inner.programs())?;
        let converted = |program: slowpath::ProgramInfo| {
            let slowpath::ProgramInfo { index, section, name, kind, needs_kernel } = program;
            Program { index, section, name, kind, needs_kernel }
        };
        Some(programs.into_iter().map(converted).collect())
    }
}

/// Description of a program of an object.
#[pyclass(frozen, get_all, module = "slowpath._core")]
pub struct Program {
    /// Index of the program in the object.
    pub index: usize,
    /// Section of the program's entry function.
    pub section: String,
    /// Name of the program's entry function.
    pub name: String,
    /// Type of the program: `xdp`, `sched_cls`, ...; `unknown` if it cannot be derived.
    pub kind: String,
    /// True if the meaning of the program depends on the BTF types of the kernel that runs it.
    pub needs_kernel: bool,
}

/// Describes programs of a BPF object. Returns the description as JSON text, and true if no limit
/// affected it. Raises `Error` if the file is not a BPF object.
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
) -> PyResult<(String, bool)> {
    let (object, kernel) = (object.shared(), btf.map(Btf::shared));
    let request = ShowRequest { file, object, programs, kernel, listing, deadline_seconds };
    let shown = worker::run(py, stop, move |stop| slowpath::show(&request, stop))?;
    let slowpath::Shown { json, complete, .. } =
        shown.map_err(|error| errors::exception(py, &error))?;
    Ok((json, complete))
}
