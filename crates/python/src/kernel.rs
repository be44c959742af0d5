//! The running kernel.

use crate::errors;
use pyo3::prelude::*;
use slowpath_kernel::listing;
use std::sync::Arc;

/// The running kernel, which loads and runs XDP programs.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Kernel {
    inner: Arc<slowpath_kernel::Kernel>,
}

impl Kernel {
    pub fn shared(&self) -> Arc<slowpath_kernel::Kernel> {
        Arc::clone(&self.inner)
    }
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
        Ok(Kernel { inner: Arc::new(inner) })
    }

    /// Numbers of all programs, maps and links that the kernel has, whoever made them.
    ///
    /// Raises `OSError` where they are not told.
    fn objects(&self) -> PyResult<(Vec<u32>, Vec<u32>, Vec<u32>)> {
        let (programs, maps) = (listing::programs()?, listing::maps()?);
        Ok((programs, maps, listing::links()?))
    }
}
