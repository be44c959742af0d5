//! Counts how often a program was loaded at each place. A place is the offset of its machine code
//! in a cache line.
//!
//! The kernel loads a program at a random address. The offset in the cache line determines how
//! branches are aligned, which changes the time by up to a fifth. If programs are loaded equally
//! often at all offsets, samples do not depend on this random choice.

use std::sync::Mutex;

use slowpath_kernel::LoadedProgram;
use slowpath_kernel::listing::LINE;

/// Resolution in bytes of cache-line offsets. Programs start at multiples of this number.
const STEP: usize = 4;
const PLACES: usize = LINE as usize / STEP;

/// Number of loads of a program at each cache-line offset. `None` stands for an offset at which the
/// program was never loaded; the kernel does not use all offsets.
#[derive(Debug, Default)]
pub struct Places {
    visits: Mutex<[Option<u32>; PLACES]>,
}

/// Number of times that a program was loaded at one cache-line offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visits {
    pub times: u32,
    /// True if the program was loaded at least as often at all other offsets that the kernel used.
    pub is_rarest: bool,
}

impl Places {
    /// Returns the number of earlier loads at the current cache-line offset of `program`. Returns
    /// `None` if the kernel hides the address of the program.
    pub fn visits_at(&self, program: &LoadedProgram) -> Option<Visits> {
        let place = program.cache_line_offset()? / STEP;
        let mut visits = self.visits.lock().ok()?;
        let times = *visits.get_mut(place)?.get_or_insert(0);
        Some(Visits { times, is_rarest: visits.iter().flatten().all(|&other| times <= other) })
    }

    /// Counts one load at the cache-line offset of `program`.
    pub fn visit(&self, program: &LoadedProgram) {
        let place = program.cache_line_offset().map(|place| place / STEP);
        if let (Some(place), Ok(mut visits)) = (place, self.visits.lock())
            && let Some(times) = visits.get_mut(place)
        {
            *times = Some(times.unwrap_or(0).saturating_add(1));
        }
    }
}
