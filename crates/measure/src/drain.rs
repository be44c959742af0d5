//! Ring buffers that would fill up: they are emptied between calls, as a reader does that keeps up.
//!
//! Nobody reads a ring buffer while a test run is under way, so a call has no more runs than there is
//! room for, and a sample is several calls.

use slowpath_kernel::timing::{Sample, TimingError};
use slowpath_kernel::{Loaded, MapError, Ring};

use crate::error::MeasureError;

/// Most calls of a sample: each takes some microseconds besides its runs.
const MOST_CALLS: u32 = 500;

/// Ring buffers that are emptied between calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draining {
    /// The names of their maps.
    written: Vec<String>,
    /// How many runs all of them have room for.
    runs: u32,
}

/// The same of a program in the kernel.
#[derive(Debug)]
pub struct Drains {
    rings: Vec<Ring>,
    runs: u32,
}

impl Draining {
    /// What a run does to ring buffers; `None` if it writes to none.
    ///
    /// # Errors
    /// If a ring buffer has no room for two runs, those of `run`, and if the kernel does not share
    /// where ring buffers are.
    pub fn find(
        program: &Loaded,
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
                let why = format!("{name} has no room for what two runs write, {bytes} bytes each");
                return Err(MeasureError::NotRepeatable { why });
            }
            found.runs = found.runs.min(runs);
            found.written.push(ring.name().to_owned());
        }
        Ok((!found.written.is_empty()).then_some(found))
    }

    /// The ring buffers of a program in the kernel.
    pub fn of(&self, program: &Loaded) -> Result<Drains, MapError> {
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

    /// Where the next records will be written.
    pub fn positions(&self) -> Vec<usize> {
        self.rings.iter().map(Ring::position).collect()
    }

    /// Bytes that were written since then to each.
    pub fn since(&self, before: &[usize]) -> Vec<usize> {
        let rings = self.rings.iter().zip(before);
        rings.map(|(ring, &before)| ring.position().wrapping_sub(before)).collect()
    }

    /// So many runs in calls of as many as there is room for; the last one's result, `None` as soon
    /// as one has none.
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

    /// Times about so many runs, without what calls take besides: where no wrapper reads the clock,
    /// a call with one run is taken off from each with many.
    pub fn sample(
        &self,
        repeat: u32,
        wrapped: bool,
        mut once: impl FnMut(u32) -> Result<Sample, TimingError>,
    ) -> Result<Sample, TimingError> {
        let batch = repeat.clamp(2, self.runs.max(2));
        let mut all = Sample { nanoseconds: 0, runs: 0, return_value: 0 };
        let mut besides = 0;
        for _ in 0..repeat.div_ceil(batch).clamp(1, MOST_CALLS) {
            self.drain();
            let many = once(batch)?;
            all.nanoseconds += many.nanoseconds;
            all.runs += many.runs;
            all.return_value = many.return_value;
            if !wrapped {
                self.drain();
                let one = once(1)?;
                besides += one.nanoseconds;
                all.runs -= one.runs;
            }
        }
        all.nanoseconds = all.nanoseconds.saturating_sub(besides);
        Ok(all)
    }
}
