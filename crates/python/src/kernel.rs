//! Gives access to the running kernel, which can load and run programs.

use crate::errors;
use crate::objects::Object;
use pyo3::prelude::*;
use slowpath_codes as codes;
use slowpath_kernel::{LoadError, listing};
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

    /// Returns the numbers of all programs, maps and links in the kernel, of all processes.
    ///
    /// Raises `OSError` if the kernel does not list them.
    fn objects(&self) -> PyResult<(Vec<u32>, Vec<u32>, Vec<u32>)> {
        let (programs, maps) = (listing::programs()?, listing::maps()?);
        Ok((programs, maps, listing::links()?))
    }

    /// Loads a program of an object, and removes it. Returns the verifier's reason if it rejects the
    /// program; `None` if the program was loaded, or could not be loaded for another reason.
    fn rejection(&self, py: Python<'_>, object: &Object, program: usize) -> Option<String> {
        let (kernel, object) = (self.shared(), object.shared().object()?);
        py.detach(|| match kernel.load(&object, program) {
            Err(LoadError::Rejected { reason, .. }) => Some(reason),
            _ => None,
        })
    }
}
