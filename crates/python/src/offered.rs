//! Offers packets to a program in the running kernel at given rates.

use crate::errors;
use crate::kernel::Kernel;
use crate::measure::exception;
use crate::objects::Object;
use pyo3::prelude::*;
use slowpath_codes as codes;
use slowpath_kernel::Mode;
use slowpath_kernel::echo::EchoPlaces;
use slowpath_measure::MeasureError;
use std::time::Duration;

/// Eight numbers of packets and a time: packets that were due, sent too late, sent, refused before
/// the program, kept by the program, lost on the way back, returned without their mark, and
/// received; and the time of sending in nanoseconds.
type Counts = (u64, u64, u64, u64, u64, u64, u64, u64, u64);

/// A program on a virtual device, with a sender of packets on another CPU.
#[pyclass(frozen, module = "slowpath._core")]
pub struct OfferedLoad {
    inner: slowpath_measure::offered::OfferedLoad,
}

#[pymethods]
impl OfferedLoad {
    /// Loads a program with the packet and maps of a witness, as JSON text. `program` is its index
    /// in `content`. `cpus` has the CPU that sends and receives, and the CPU of the program.
    /// `native` is true if the program runs in the device's driver.
    ///
    /// Raises an `Error` if the program cannot be loaded.
    #[new]
    fn new(
        py: Python<'_>,
        kernel: &Kernel,
        content: &Object,
        program: usize,
        witness: &str,
        cpus: (usize, usize),
        native: bool,
    ) -> PyResult<Self> {
        let object = content.shared().object().ok_or_else(|| {
            let what = "it is a listing; the kernel runs BPF objects".to_owned();
            errors::exception(py, &slowpath::Error::Input(codes::LISTING_IN_KERNEL, what))
        })?;
        let mode = if native { Mode::Native } else { Mode::Generic };
        let places = EchoPlaces { mode, sender: cpus.0, program: cpus.1 };
        let kernel = kernel.shared();
        let loaded = py.detach(|| {
            let mut witness = serde_json::from_str(witness)?;
            slowpath::with_stated(&object, &mut witness);
            let object = slowpath::as_witnessed(&object, &witness);
            let packet = slowpath_kernel::witness::bytes(&witness["packet"]);
            let program = (&*object, program);
            slowpath_measure::offered::OfferedLoad::new(&kernel, program, &witness, packet, places)
        });
        let inner = loaded.map_err(|error: MeasureError| exception(py, &error))?;
        Ok(OfferedLoad { inner })
    }

    /// Offers `rate` packets a second for `seconds` seconds; as many as possible if `rate` is
    /// `None`. Returns counts of packets, and latencies in nanoseconds: the minimum, the quantiles
    /// `slowpath_measure::offered::QUANTILES`, and the maximum. Without received packets, the
    /// latencies are empty.
    ///
    /// Raises an `Error` if packets cannot be sent or counted.
    #[pyo3(signature = (rate, seconds))]
    fn trial(
        &self,
        py: Python<'_>,
        rate: Option<f64>,
        seconds: f64,
    ) -> PyResult<(Counts, Vec<u32>)> {
        let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let trial = py.detach(|| self.inner.trial(rate, time));
        let trial = trial.map_err(|error| exception(py, &error))?;
        let paced = trial.paced;
        let counts = (
            paced.due,
            paced.late,
            paced.sent,
            trial.refused,
            trial.kept,
            trial.lost_back,
            trial.unmarked,
            trial.received,
            paced.nanoseconds,
        );
        Ok((counts, trial.latencies))
    }

    /// Ends the running trial, and all later ones at their start.
    fn stop(&self) {
        self.inner.stop();
    }
}
