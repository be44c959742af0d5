//! Keeps results on disk for later commands.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use slowpath_cache::{Key, pruning};
use std::path::PathBuf;

/// A folder of results, which need not exist.
///
/// A key is a digest of 32 bytes, in hexadecimal, of everything that a result depends on.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Cache {
    inner: slowpath_cache::Cache,
}

fn parsed(key: &str) -> PyResult<Key> {
    Key::of_text(key).ok_or_else(|| PyValueError::new_err("not 64 hexadecimal digits"))
}

#[pymethods]
impl Cache {
    #[new]
    fn new(folder: PathBuf) -> Self {
        Cache { inner: slowpath_cache::Cache::new(Some(folder), String::new()) }
    }

    /// Returns the result for a key; `None` if it is not stored, damaged or unreadable.
    fn read(&self, py: Python<'_>, key: &str) -> PyResult<Option<Vec<u8>>> {
        let key = parsed(key)?;
        let found = py.detach(|| self.inner.read::<()>(key));
        Ok(found.and_then(|((), bytes)| bytes))
    }

    /// Stores a result. Raises `OSError` if it cannot be written.
    fn write(&self, py: Python<'_>, key: &str, data: &[u8]) -> PyResult<()> {
        let key = parsed(key)?;
        Ok(py.detach(|| self.inner.store(key, &(), Some(data)))?)
    }

    /// Deletes results that were not used for a long time. Does nothing if no results were stored,
    /// or if another command did this recently.
    fn prune(&self, py: Python<'_>) {
        py.detach(|| self.inner.prune());
    }
}

/// Returns the number of results in a folder, and their total size in bytes.
#[pyfunction]
pub fn cache_usage(py: Python<'_>, folder: PathBuf) -> (u64, u64) {
    let usage = py.detach(|| pruning::usage(&folder));
    (usage.results, usage.bytes)
}

/// Deletes all results in a folder. Returns the number and the total size in bytes of the deleted
/// results. Raises `OSError` if a result cannot be deleted.
#[pyfunction]
pub fn clear_cache(py: Python<'_>, folder: PathBuf) -> PyResult<(u64, u64)> {
    let cleared = py.detach(|| pruning::clear(&folder));
    let usage = cleared.map_err(|(file, error)| {
        let number = error.raw_os_error().unwrap_or_default();
        PyOSError::new_err((number, error.to_string(), file))
    })?;
    Ok((usage.results, usage.bytes))
}

/// Returns the maximum total size in bytes of the results in a folder.
#[pyfunction]
pub fn cache_limit() -> u64 {
    pruning::LIMITS.bytes
}
