//! Programs that can be made to exit early at chosen instructions, called places.
//!
//! A check in front of each place decides whether to exit there. One program contains the checks of
//! all places, and a word in a separate map selects the place ([`ExitSelector::select`]). Therefore
//! runs that end at different places execute the same code. The verifier does not know the word, so
//! it keeps the code after each check.
//!
//! A program can exit early only in its entry function, and only where it holds no lock and no
//! reference. The verifier rejects a check in any other place.

mod load;
mod rewrite;
#[cfg(test)]
mod tests;

use slowpath_bpf::{BpfProgram, MapDef, MapKind};

use crate::count::Answer;
use crate::error::{LoadError, MapError};
use crate::loaded::LoadedProgram;

pub use rewrite::{EXIT_ACTION, exit_points};

/// Instructions of a check that does not exit; a 64-bit immediate load counts as one.
pub const CHECK_INSNS: u64 = 3;
/// Instructions that exit, after the check.
pub const EXIT_INSNS: u64 = 2;

/// Name of the map with the word that selects the place.
const NAME: &str = "slowpath.cut";

/// A handle that selects the place where a loaded program exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitSelector {
    map: usize,
}

impl ExitSelector {
    fn new(map: usize) -> ExitSelector {
        ExitSelector { map }
    }

    /// Selects the place where the program exits, by its index in the `places` passed on loading.
    /// With `None`, the program runs to its end.
    ///
    /// # Errors
    /// If the map cannot be written.
    pub fn select(self, program: &LoadedProgram, place: Option<usize>) -> Result<(), MapError> {
        let Some(map) = program.map_by_number(self.map) else { return Ok(()) };
        let number = place.and_then(|place| u32::try_from(place).ok()?.checked_add(1));
        map.update(&0u32.to_ne_bytes(), &number.unwrap_or(0).to_ne_bytes())
    }
}

/// Returns the definition of the map with the word that selects the place.
fn word() -> MapDef {
    MapDef { kind: MapKind::ARRAY, key_size: 4, value_size: 4, max_entries: 1, ..MapDef::new(NAME) }
}

/// Inserts checks at the slots `places`, and replaces calls by `answers`. `word` is the number of
/// the map with the word that selects the place.
fn cuttable(
    program: &BpfProgram,
    word: u32,
    places: &[usize],
    answers: &[Answer],
) -> Result<BpfProgram, LoadError> {
    rewrite::cuttable(program, word, places, answers)
        .map_err(|reason| LoadError::NoEarlyExit { program: program.name.clone(), reason })
}
