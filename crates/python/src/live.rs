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
    /// Finds out whether live packets take a path, so many at a time.
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

    /// Whether each packet has to be written anew.
    #[getter]
    fn rewritten(&self) -> bool {
        self.inner.rewritten()
    }

    /// How many packets were seen to take it: no more are timed in one load.
    #[getter]
    fn counted(&self) -> u32 {
        self.inner.counted()
    }

    /// Why nothing is known of a device that receives these packets; `None` if something is.
    #[getter]
    fn unreceived(&self) -> Option<&str> {
        self.inner.unreceived()
    }
}

/// Live paths in the kernel.
#[pyclass(frozen, module = "slowpath._core")]
pub struct LiveLoad {
    inner: Arc<slowpath_measure::live::LiveLoad>,
}

#[pymethods]
impl LiveLoad {
    /// Loads them anew, with devices of their own.
    ///
    /// Raises an `Error` if the kernel does not take one of them.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "a list of Python objects")]
    fn new(py: Python<'_>, station: &Station, cases: Vec<PyRef<'_, LiveCase>>) -> PyResult<Self> {
        let cases = cases.iter().map(|case| Arc::clone(&case.inner)).collect();
        let Station { kernel, inner, .. } = station;
        let loaded =
            station.perform(py, || slowpath_measure::live::LiveLoad::new(inner, kernel, cases));
        Ok(LiveLoad { inner: Arc::new(loaded?) })
    }

    /// Times a path by its number, or what it is held against (see
    /// `slowpath_measure::live::LiveSubject::ALL`): nanoseconds until all packets were sent, how many
    /// these were, how many arrived, and how many found no room.
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
