//! Gives access to the running kernel, which can load and run programs.

use crate::errors;
use pyo3::prelude::*;
use slowpath_codes as codes;
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
    /// Tests whether programs can be loaded and run on this machine.
    ///
    /// Raises an `Error` of kind `unavailable` with the missing requirement and a remedy.
    #[staticmethod]
    fn open(py: Python<'_>) -> PyResult<Self> {
        let opened = py.detach(slowpath_kernel::Kernel::available);
        let inner = opened.map_err(|reason| {
            errors::exception(
                py,
                &slowpath::Error::Unavailable(codes::KERNEL_UNAVAILABLE, reason.to_string()),
            )
        })?;
        Ok(Kernel { inner: Arc::new(inner) })
    }

    /// Returns the kernel's IDs of all programs, maps and links on this machine, in three lists.
    ///
    /// Raises `OSError` if the kernel does not list them.
    fn objects(&self) -> PyResult<(Vec<u32>, Vec<u32>, Vec<u32>)> {
        let (programs, maps) = (listing::programs()?, listing::maps()?);
        Ok((programs, maps, listing::links()?))
    }
}
