//! Paths on live packets, timed in the running kernel.

use crate::measure::{Case, Station};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use slowpath_measure::live::LiveSubject;
use std::sync::Arc;

/// A path that live packets take.
#[pyclass(frozen, module = "slowpath._core")]
pub struct LiveCase {
    inner: Arc<slowpath_measure::live::LiveCase>,
}

#[pymethods]
impl LiveCase {
    /// Tests whether live packets take a path, in batches of `batch`.
    ///
    /// Raises an `Error` if they do not.
    #[new]
    fn new(py: Python<'_>, station: &Station, case: &Case, batch: u32) -> PyResult<Self> {
        let Station { kernel, inner, .. } = station;
        let prepared = station.perform(py, || {
            slowpath_measure::live::LiveCase::prepare(inner, kernel, &case.inner, batch)
        });
        Ok(LiveCase { inner: Arc::new(prepared?) })
    }

    /// True if each packet must be rewritten.
    #[getter]
    fn rewritten(&self) -> bool {
        self.inner.rewritten()
    }

    /// Number of packets that were seen to take the path; a load times at most as many.
    #[getter]
    fn counted(&self) -> u32 {
        self.inner.counted()
    }

    /// Reason why these packets cannot be received by a device; `None` if they can.
    #[getter]
    fn unreceived(&self) -> Option<&str> {
        self.inner.receive_obstacle()
    }
}

/// Live paths in the kernel.
#[pyclass(frozen, module = "slowpath._core")]
pub struct LiveLoad {
    inner: Arc<slowpath_measure::live::LiveLoad>,
}

#[pymethods]
impl LiveLoad {
    /// Loads the paths, with their own devices.
    ///
    /// Raises an `Error` if the kernel rejects one of them.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "a list of Python objects")]
    fn new(py: Python<'_>, station: &Station, cases: Vec<PyRef<'_, LiveCase>>) -> PyResult<Self> {
        let cases = cases.iter().map(|case| Arc::clone(&case.inner)).collect();
        let Station { kernel, inner, .. } = station;
        let loaded =
            station.perform(py, || slowpath_measure::live::LiveLoad::new(inner, kernel, cases));
        Ok(LiveLoad { inner: Arc::new(loaded?) })
    }

    /// Times a subject of a path, given by the number of the path and that of the subject (see
    /// `slowpath_measure::live::LiveSubject::ALL`). Returns the nanoseconds until all packets were
    /// sent, and the numbers of sent, arrived and dropped packets.
    fn sample(
        &self,
        py: Python<'_>,
        station: &Station,
        asked: (usize, usize),
        frames: u32,
        batch: u32,
    ) -> PyResult<(u64, u32, u64, u64)> {
        let (case, subject) = asked;
        let subject = LiveSubject::ALL.get(subject).copied();
        let subject = subject.ok_or_else(|| PyIndexError::new_err("no such subject"))?;
        let sample = station
            .perform(py, || self.inner.sample(&station.inner, case, subject, frames, batch))?;
        Ok((sample.nanoseconds, sample.frames, sample.arrived, sample.lost))
    }
}
