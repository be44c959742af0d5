//! Makes programs exit early at chosen instructions.
//!
//! A check before each chosen instruction decides whether the program exits there. One program
//! contains all checks, and a word in a separate map selects one of them
//! ([`ExitSelector::select`]). Therefore runs that end at different instructions execute the same
//! code. The verifier does not know the value of the word, so it keeps the code after each check.
//!
//! A program can exit early only in its entry function, and only where it holds no lock and no
//! reference. The verifier rejects checks at other instructions.

mod rewrite;
#[cfg(test)]
mod tests;

use slowpath_bpf::{MapDef, MapKind, Object};

use crate::count::{self, Answer, CountingProgram, Weights};
use crate::error::{LoadError, MapError};
use crate::reachable::Reachable;
use crate::{Kernel, LoadedProgram};

pub use rewrite::{EXIT_ACTION, exit_points};

/// Number of instructions that an early-exit check executes if it does not exit. A 64-bit immediate
/// load counts as one.
pub const CHECK_INSNS: u64 = 3;
/// Number of instructions that are executed after an early-exit check in order to exit.
pub const EXIT_INSNS: u64 = 2;

/// Name of the map whose value selects the instruction at which the program exits early.
const NAME: &str = "slowpath.cut";

/// Selects the instruction at which a loaded program exits early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitSelector {
    map: usize,
}

impl ExitSelector {
    fn new(map: usize) -> ExitSelector {
        ExitSelector { map }
    }

    /// Selects the instruction before which the program exits, by its index in the `places` that
    /// were passed when the program was loaded. With `None`, the program runs to its end.
    ///
    /// # Errors
    /// If the map that contains the selection cannot be written.
    pub fn select(self, program: &LoadedProgram, place: Option<usize>) -> Result<(), MapError> {
        let Some(map) = program.map_by_number(self.map) else { return Ok(()) };
        let number = place.and_then(|place| u32::try_from(place).ok()?.checked_add(1));
        map.update(&0u32.to_ne_bytes(), &number.unwrap_or(0).to_ne_bytes())
    }
}

/// Returns the definition of the map whose value selects the instruction at which the program exits
/// early.
fn word() -> MapDef {
    MapDef { kind: MapKind::ARRAY, key_size: 4, value_size: 4, max_entries: 1, ..MapDef::new(NAME) }
}

impl Kernel {
    /// Like [`Kernel::load_with_answers`], but the program can be made to exit early, before the
    /// instruction in one of the slots `places`.
    ///
    /// # Errors
    /// As [`Kernel::load_with_answers`]; [`LoadError::NoEarlyExit`] if the program cannot exit at
    /// one of the slots, and [`LoadError::Rejected`] if it holds a lock or a reference there.
    pub fn load_with_exits(
        &self,
        object: &Object,
        program: usize,
        answers: &[Answer],
        places: &[usize],
    ) -> Result<(LoadedProgram, ExitSelector), LoadError> {
        let number = object.maps.len();
        let reachable = self.cut(object, program, answers, (number, places))?;
        let further: [(usize, &MapDef); 1] = [(number, &word())];
        Ok((self.load_reachable(object, program, reachable, &further)?, ExitSelector::new(number)))
    }

    /// Like [`Kernel::load_with_exits`], but the loaded programs also count instructions, as those
    /// of [`Kernel::load_fingerprinted`] do. The count includes the code of early exits:
    /// [`CHECK_INSNS`] for each check, and [`EXIT_INSNS`] for an exit.
    ///
    /// # Errors
    /// As [`Kernel::load_with_exits`], and if there is no room for counting.
    pub fn load_cuttable_counted(
        &self,
        object: &Object,
        program: usize,
        answers: &[Answer],
        places: &[usize],
    ) -> Result<(CountingProgram, ExitSelector), LoadError> {
        let counter = object.maps.len();
        let number = counter + 1;
        let mut reachable = self.cut(object, program, answers, (number, places))?;
        for (&of, linked) in &mut reachable.programs {
            *linked = count::counting(linked, counter as u32, &[], Weights::Random(of))?;
        }
        let further: [(usize, &MapDef); 2] = [(counter, &count::counter()), (number, &word())];
        let loaded = self.load_reachable(object, program, reachable, &further)?;
        Ok((CountingProgram::new(loaded, counter, true), ExitSelector::new(number)))
    }

    /// Returns the entry program and all programs in its program arrays. The entry program can exit
    /// before the slots `places`, and the calls listed in `answers` have fixed results. `number` is
    /// the index of the map that selects the exit.
    fn cut(
        &self,
        object: &Object,
        program: usize,
        answers: &[Answer],
        (number, places): (usize, &[usize]),
    ) -> Result<Reachable, LoadError> {
        let mut reachable = self.reachable_any(object, program)?;
        if let Some(linked) = reachable.programs.get_mut(&program) {
            let name = linked.name.clone();
            *linked = rewrite::cuttable(linked, number as u32, places, answers)
                .map_err(|reason| LoadError::NoEarlyExit { program: name, reason })?;
        }
        Ok(reachable)
    }
}
