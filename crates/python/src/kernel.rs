//! The running kernel.

use crate::errors;
use pyo3::prelude::*;

/// The running kernel, which loads and runs XDP programs.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Kernel {
    // Being held is its use: it says that programs can be loaded.
    _inner: slowpath_kernel::Kernel,
}

#[pymethods]
impl Kernel {
    /// Finds out by trying whether programs can be loaded and run here.
    ///
    /// Raises an `Error` of kind `unavailable` that says what is missing, and what to do about it.
    #[staticmethod]
    fn open(py: Python<'_>) -> PyResult<Self> {
        let opened = py.detach(slowpath_kernel::Kernel::available);
        let inner = opened.map_err(|reason| {
            errors::exception(py, &slowpath::Error::Unavailable(reason.to_string()))
        })?;
        Ok(Kernel { _inner: inner })
    }
}
