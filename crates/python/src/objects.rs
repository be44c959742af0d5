//! BPF objects: their programs, what they contain, and the types of the kernel they are for.

use crate::worker::{self, Stop, as_value_error};
use pyo3::prelude::*;
use slowpath::ShowRequest;
use std::sync::Arc;

/// Types (BTF) of the kernel that programs are for. Raises `ValueError` when they cannot be read.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Kernel {
    inner: Arc<slowpath::Kernel>,
}

impl Kernel {
    pub fn shared(&self) -> Arc<slowpath::Kernel> {
        Arc::clone(&self.inner)
    }
}

#[pymethods]
impl Kernel {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let kernel = py.detach(|| slowpath::Kernel::parse(data)).map_err(as_value_error)?;
        Ok(Kernel { inner: Arc::new(kernel) })
    }
}

/// The content of a file, read as far as all its programs have in common.
#[pyclass(frozen, module = "slowpath._core")]
pub struct File {
    data: Vec<u8>,
    object: Option<Arc<slowpath::Object>>,
}

impl File {
    /// For a request: the object, or else the bytes.
    pub fn parts(&self) -> (Vec<u8>, Option<Arc<slowpath::Object>>) {
        match &self.object {
            Some(object) => (Vec::new(), Some(Arc::clone(object))),
            None => (self.data.clone(), None),
        }
    }
}

#[pymethods]
impl File {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> Self {
        let object = py.detach(|| slowpath::read_object(data)).map(Arc::new);
        File { data: data.to_vec(), object }
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

/// The programs of the BPF object in `data`; `None` when it is no object. Raises `ValueError` when
/// it cannot be read.
#[pyfunction]
pub fn programs(py: Python<'_>, data: &[u8]) -> PyResult<Option<Vec<Program>>> {
    let found = py.detach(|| slowpath::programs(data)).map_err(as_value_error)?;
    let converted = |program: slowpath::ProgramInfo| {
        let slowpath::ProgramInfo { index, section, name, kind, needs_kernel } = program;
        Program { index, section, name, kind, needs_kernel }
    };
    Ok(found.map(|list| list.into_iter().map(converted).collect()))
}

/// What programs of a BPF object contain, as JSON text. Raises `ValueError` when the object cannot
/// be read.
#[pyfunction]
#[pyo3(signature = (file, data, programs, kernel, stop, *, listing, deadline_seconds))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of the Python function")]
pub fn show(
    py: Python<'_>,
    file: String,
    data: Vec<u8>,
    programs: Vec<usize>,
    kernel: Option<&Kernel>,
    stop: &Stop,
    listing: bool,
    deadline_seconds: f64,
) -> PyResult<String> {
    let kernel = kernel.map(Kernel::shared);
    let request = ShowRequest { file, data, programs, kernel, listing, deadline_seconds };
    let shown = worker::run(py, stop, move |stop| slowpath::show(&request, stop))?;
    shown.map_err(as_value_error)
}
