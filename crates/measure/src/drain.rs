//! Empties ring buffers between calls of a test run, like a reader that keeps up with the program.
//!
//! During a test run, ring buffers have no reader. Therefore the room in the buffers limits the
//! number of runs in a call, and a sample consists of several calls.

use slowpath_kernel::timing::{Sample, TimingError};
use slowpath_kernel::{LoadedProgram, MapError, Ring};

use crate::error::MeasureError;

/// Maximum number of calls for one sample. Each call takes some microseconds in addition to its
/// runs.
const MAX_CALLS: u32 = 500;

/// The ring buffers to empty between calls, by name, and the number of runs after which they must
/// be emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draining {
    /// Names of the ring buffers that the timed path writes to.
    written: Vec<String>,
    /// Number of runs after which the ring buffers must be emptied, because they may be full.
    runs: u32,
}

/// The ring buffers of one loaded program that must be emptied between calls.
#[derive(Debug)]
pub struct Drains {
    rings: Vec<Ring>,
    runs: u32,
}

impl Draining {
    /// Finds the ring buffers that the program writes to during one call of `run`. Returns `None`
    /// if it writes to none.
    ///
    /// # Errors
    /// If a ring buffer does not have room for the records of two runs, or if the kernel gives no
    /// access to the positions at which records are written and read.
    pub fn find(
        program: &LoadedProgram,
        run: impl FnOnce() -> Result<(), MeasureError>,
    ) -> Result<Option<Draining>, MeasureError> {
        let rings = program.rings()?;
        let before: Vec<usize> = rings.iter().map(Ring::position).collect();
        run()?;
        let mut found = Draining { written: Vec::new(), runs: u32::MAX };
        for (ring, before) in rings.iter().zip(before) {
            let bytes = ring.position().wrapping_sub(before);
            if bytes == 0 {
                continue;
            }
            let runs = u32::try_from(ring.fits(bytes)).unwrap_or(u32::MAX);
            if runs < 2 {
                let name = ring.name();
                let reason =
                    format!("{name} has no room for the output of two runs, {bytes} bytes each");
                return Err(MeasureError::NotRepeatable { reason });
            }
            found.runs = found.runs.min(runs);
            found.written.push(ring.name().to_owned());
        }
        Ok((!found.written.is_empty()).then_some(found))
    }

    /// Finds the ring buffers listed in this value in a loaded program.
    pub fn find_in(&self, program: &LoadedProgram) -> Result<Drains, MapError> {
        let all = program.rings()?.into_iter();
        let written = |ring: &Ring| self.written.iter().any(|name| name == ring.name());
        Ok(Drains { rings: all.filter(written).collect(), runs: self.runs })
    }
}

impl Drains {
    fn drain(&self) {
        for ring in &self.rings {
            ring.drain();
        }
    }

    /// Returns for each ring buffer the position at which the next record will be written, in
    /// bytes.
    pub fn positions(&self) -> Vec<usize> {
        self.rings.iter().map(Ring::position).collect()
    }

    /// Returns the number of bytes written to each ring buffer since its position in `before`.
    pub fn written_since(&self, before: &[usize]) -> Vec<usize> {
        let rings = self.rings.iter().zip(before);
        rings.map(|(ring, &before)| ring.position().wrapping_sub(before)).collect()
    }

    /// Divides `repeat` runs of the program into several calls, and empties the ring buffers
    /// between them, so that the records of each call fit. `call` makes the given number of runs.
    /// Stops early if `call` returns `None`. Returns the last result of `call`.
    pub fn calls<T, E>(
        &self,
        repeat: u32,
        mut call: impl FnMut(u32) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let mut left = repeat;
        loop {
            self.drain();
            let runs = left.min(self.runs);
            let result = call(runs)?;
            left -= runs;
            if left == 0 || result.is_none() {
                return Ok(result);
            }
        }
    }

    /// Times about `repeat` runs in several calls, without the fixed time of each call. If no
    /// wrapper reads the clock (`wrapped` is false), subtracts the time of a call with one run from
    /// the time of each call.
    pub fn sample(
        &self,
        repeat: u32,
        wrapped: bool,
        mut once: impl FnMut(u32) -> Result<Sample, TimingError>,
    ) -> Result<Sample, TimingError> {
        let batch = repeat.clamp(2, self.runs.max(2));
        let mut all = Sample { nanoseconds: 0, runs: 0, return_value: 0 };
        let mut single_runs = 0;
        for _ in 0..repeat.div_ceil(batch).clamp(1, MAX_CALLS) {
            self.drain();
            let many = once(batch)?;
            all.nanoseconds += many.nanoseconds;
            all.runs += many.runs;
            all.return_value = many.return_value;
            if !wrapped {
                self.drain();
                let one = once(1)?;
                single_runs += one.nanoseconds;
                all.runs -= one.runs;
            }
        }
        all.nanoseconds = all.nanoseconds.saturating_sub(single_runs);
        Ok(all)
    }
}
