//! Measures the time that paths take in the running kernel, with live packets.

use crate::measure::{Case, Station};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use slowpath_measure::live::LiveSubject;
use std::sync::Arc;

/// A path that is timed with live packets: the kernel sends them where the program directs them.
#[pyclass(frozen, module = "slowpath._core")]
pub struct LiveCase {
    inner: Arc<slowpath_measure::live::LiveCase>,
}

#[pymethods]
impl LiveCase {
    /// Prepares a path for live packets that are sent in batches of `batch`.
    ///
    /// Raises an `Error` if live packets do not take the path.
    #[new]
    fn new(py: Python<'_>, station: &Station, case: &Case, batch: u32) -> PyResult<Self> {
        let Station { kernel, inner, .. } = station;
        let prepared = station.perform(py, || {
            slowpath_measure::live::LiveCase::prepare(inner, kernel, &case.inner, batch)
        });
        Ok(LiveCase { inner: Arc::new(prepared?) })
    }

    /// True if another program must rewrite each packet before the timed program processes it.
    #[getter]
    fn rewritten(&self) -> bool {
        self.inner.rewritten()
    }

    /// Number of successive packets that were seen to take the path. A measurement times at most
    /// this number before it fills the maps again, because further packets might take another path.
    #[getter]
    fn counted(&self) -> u32 {
        self.inner.counted()
    }

    /// Reason why a network device cannot receive the packets of the path; `None` if it can.
    #[getter]
    fn unreceived(&self) -> Option<&str> {
        self.inner.receive_obstacle()
    }
}

/// Paths loaded in the kernel, each with its own devices, to be timed with live packets.
#[pyclass(frozen, module = "slowpath._core")]
pub struct LiveLoad {
    inner: Arc<slowpath_measure::live::LiveLoad>,
}

#[pymethods]
impl LiveLoad {
    /// Loads the paths, each with its own devices.
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

    /// Times live packets. `asked` has the index of a path and the index of the subject: its
    /// program, a minimal program, or a device (`slowpath_measure::live::LiveSubject::ALL`).
    /// Returns the nanoseconds until all packets were sent, and the numbers of packets that were
    /// sent, arrived and were dropped.
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
