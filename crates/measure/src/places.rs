//! Where the machine code of a program has been.
//!
//! The kernel puts it to a random place, and where it starts in a cache line decides how its branches
//! lie and what it takes, by up to a fifth. Loads that visit all places equally often make a sample
//! of that which is not left to chance.

use std::sync::Mutex;

use slowpath_kernel::Loaded;
use slowpath_kernel::listing::LINE;

/// Bytes between two places: programs start at multiples of it.
const STEP: usize = 4;
const PLACES: usize = LINE as usize / STEP;

/// How often the code of a program was at each place of a cache line; `None` where it was never seen:
/// the kernel keeps some places free.
#[derive(Debug, Default)]
pub struct Places {
    visits: Mutex<[Option<u32>; PLACES]>,
}

/// How often it was at one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visits {
    /// How often.
    pub times: u32,
    /// Whether it was nowhere less often.
    pub is_rarest: bool,
}

impl Places {
    /// How often the code was where this one is; `None` where the kernel does not tell.
    pub fn rarer(&self, program: &Loaded) -> Option<Visits> {
        let place = program.place_in_line()? / STEP;
        let mut visits = self.visits.lock().ok()?;
        let times = *visits.get_mut(place)?.get_or_insert(0);
        Some(Visits { times, is_rarest: visits.iter().flatten().all(|&other| times <= other) })
    }

    /// Notes that it is there now.
    pub fn visit(&self, program: &Loaded) {
        let place = program.place_in_line().map(|place| place / STEP);
        if let (Some(place), Ok(mut visits)) = (place, self.visits.lock())
            && let Some(times) = visits.get_mut(place)
        {
            *times = Some(times.unwrap_or(0).saturating_add(1));
        }
    }
}
