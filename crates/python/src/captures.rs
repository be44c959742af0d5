//! Reads capture files, packet by packet.

use crate::errors;
use pyo3::prelude::*;
use slowpath::Error;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A packet: its captured bytes, its length on the wire in bytes, and its timestamp in nanoseconds
/// (`None` if the file has none).
type Packet = (Vec<u8>, usize, Option<u64>);

/// A capture file that is being read.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Capture {
    inner: Mutex<slowpath_capture::Capture>,
}

#[pymethods]
impl Capture {
    /// Opens a capture file.
    ///
    /// Raises an `Error` if it cannot be read.
    #[new]
    fn new(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| slowpath_capture::Capture::open(&file));
        let inner = opened.map_err(|error| unreadable(py, &error))?;
        Ok(Capture { inner: Mutex::new(inner) })
    }

    /// Returns the next packets of the file, at most `count`; an empty list at the end.
    ///
    /// Raises an `Error` if the file is damaged. The packets before the damage that this call has
    /// read are then lost.
    fn packets(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Packet>> {
        let read = py.detach(|| {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            let mut packets = Vec::new();
            while packets.len() < count
                && let Some(packet) = inner.next_packet()?
            {
                packets.push((packet.bytes, packet.wire_length, packet.nanoseconds));
            }
            Ok(packets)
        });
        read.map_err(|error| unreadable(py, &error))
    }
}

fn unreadable(py: Python<'_>, error: &slowpath_capture::CaptureError) -> PyErr {
    errors::exception(py, &Error::Input(error.code(), error.to_string()))
}
