//! Programs that can be made to end before they are done, at places on their way.
//!
//! In front of each such place stands a question: whether this is where to end. All places are in
//! one program, and a word in a map of its own says which of them ends it ([`Switch::turn`]), so
//! that runs that end at different places are runs of the same code. The verifier does not know the
//! word, so that it keeps what is behind.
//!
//! A program can only end in its entry function, and only where it holds no lock and no reference:
//! elsewhere the verifier refuses it.

mod load;
mod rewrite;
#[cfg(test)]
mod tests;

use slowpath_bpf::{BpfProgram, MapDef, MapKind};

use crate::count::Answer;
use crate::error::{LoadError, MapError};
use crate::loaded::Loaded;

pub use rewrite::{RESULT, possible};

/// Instructions of a question that is answered with no, a 64-bit immediate load as one.
pub const ASKING: u64 = 3;
/// Those that end the program, after the question.
pub const ENDING: u64 = 2;

/// Name of the map with the word.
const NAME: &str = "slowpath.cut";

/// What says where a loaded program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    map: usize,
}

impl Switch {
    fn new(map: usize) -> Switch {
        Switch { map }
    }

    /// From now on the program ends at the place with this number, in the order in which the places
    /// were given; `None`: where it ends by itself.
    ///
    /// # Errors
    /// If the map cannot be written.
    pub fn turn(self, program: &Loaded, place: Option<usize>) -> Result<(), MapError> {
        let Some(map) = program.map_at(self.map) else { return Ok(()) };
        let number = place.and_then(|place| u32::try_from(place).ok()?.checked_add(1));
        map.update(&0u32.to_ne_bytes(), &number.unwrap_or(0).to_ne_bytes())
    }
}

/// The map with the word.
fn word() -> MapDef {
    MapDef { kind: MapKind::ARRAY, key_size: 4, value_size: 4, max_entries: 1, ..MapDef::new(NAME) }
}

/// The program with questions at these slots, and with answers in place of calls; the word is in the
/// map with this number.
fn cuttable(
    program: &BpfProgram,
    word: u32,
    places: &[usize],
    answers: &[Answer],
) -> Result<BpfProgram, LoadError> {
    rewrite::cuttable(program, word, places, answers)
        .map_err(|why| LoadError::NotCut { program: program.name.clone(), why })
}
