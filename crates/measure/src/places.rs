//! Places of a program's machine code in its cache line.
//!
//! The kernel loads a program to a random address. Its offset in a cache line determines the
//! alignment of its branches, which changes its time by up to a fifth. Loads that visit all places
//! equally often remove this source of chance from the samples.

use std::sync::Mutex;

use slowpath_kernel::LoadedProgram;
use slowpath_kernel::listing::LINE;

/// Bytes between two places: programs start at multiples of this number.
const STEP: usize = 4;
const PLACES: usize = LINE as usize / STEP;

/// Numbers of loads that had the code of a program at each place of a cache line. `None` marks a
/// place that was never seen, because the kernel leaves some places free.
#[derive(Debug, Default)]
pub struct Places {
    visits: Mutex<[Option<u32>; PLACES]>,
}

/// Number of loads that had the code at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visits {
    /// Number of loads.
    pub times: u32,
    /// True if no other known place has fewer loads.
    pub is_rarest: bool,
}

impl Places {
    /// Returns the number of loads that had the code at this program's place; `None` if the kernel
    /// does not reveal the address.
    pub fn visits_at(&self, program: &LoadedProgram) -> Option<Visits> {
        let place = program.cache_line_offset()? / STEP;
        let mut visits = self.visits.lock().ok()?;
        let times = *visits.get_mut(place)?.get_or_insert(0);
        Some(Visits { times, is_rarest: visits.iter().flatten().all(|&other| times <= other) })
    }

    /// Counts one load at the program's place.
    pub fn visit(&self, program: &LoadedProgram) {
        let place = program.cache_line_offset().map(|place| place / STEP);
        if let (Some(place), Ok(mut visits)) = (place, self.visits.lock())
            && let Some(times) = visits.get_mut(place)
        {
            *times = Some(times.unwrap_or(0).saturating_add(1));
        }
    }
}
