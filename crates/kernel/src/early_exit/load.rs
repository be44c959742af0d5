//! Loading of programs with early exits.

use slowpath_bpf::{MapDef, Object};

use super::{ExitSelector, cuttable, word};
use crate::count::{self, Answer, CountingProgram, Weights};
use crate::error::LoadError;
use crate::reachable::{Reachable, find_reachable};
use crate::{Kernel, LoadedProgram};

impl Kernel {
    /// Like [`Kernel::load_with_answers`], but the program can be made to exit early: in front of
    /// the instructions at the slots `places`.
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

    /// Like [`Kernel::load_with_exits`], but all programs count their instructions, as those of
    /// [`Kernel::load_fingerprinted`] do. The count includes the code of early exits:
    /// [`super::CHECK_INSNS`] for each check, and [`super::EXIT_INSNS`] for an exit.
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

    fn cut(
        &self,
        object: &Object,
        program: usize,
        answers: &[Answer],
        (number, places): (usize, &[usize]),
    ) -> Result<Reachable, LoadError> {
        let mut reachable = find_reachable(object, program, &|| self.types())?;
        if let Some(linked) = reachable.programs.get_mut(&program) {
            *linked = cuttable(linked, number as u32, places, answers)?;
        }
        Ok(reachable)
    }
}
