//! Proves two programs equivalent path by path: compares each path of the original with the paths
//! of the specialised program that the same packets take.

use super::validation::Validation;
use super::{compare, replay, test_inputs};
use slowpath_product::{Answer, Equivalence, NextPath, Path, PathEnumerator, difference};
use slowpath_smt::{SolverError, TermId};

impl Validation<'_, '_> {
    /// Compares all paths of the original, one after the other. Returns true if all of them are
    /// proved equal to paths of the specialised program.
    pub(super) fn paths(&mut self) -> Result<bool, SolverError> {
        let conditions = self.pair.facts.conditions.clone();
        let inputs = self.pair.inputs();
        let mut paths = PathEnumerator::new(&self.pair.original.side, inputs, conditions);
        let mut complete = true;
        loop {
            if self.is_long() {
                self.compare_together()?;
            }
            if self.is_covered() {
                return Ok(true);
            }
            let side = &mut self.pair.original.side;
            match paths.next(side, None, &mut self.draws, self.queries)? {
                NextPath::Done => return Ok(complete || self.is_proved()),
                NextPath::Gap(_) | NextPath::Stopped(_) if self.is_proved() => return Ok(true),
                NextPath::Gap(why) => {
                    complete = false;
                    self.gap(why);
                }
                NextPath::Stopped(why) => {
                    self.gap(why.to_owned());
                    return Ok(false);
                }
                NextPath::Path(path) => match self.path(&path)? {
                    Equivalence::Proved => self.found.paths += 1,
                    Equivalence::Undecided => complete = false,
                    Equivalence::Differs | Equivalence::Stopped => return Ok(self.is_proved()),
                },
            }
        }
    }

    /// Compares one path of the original with all paths of the specialised program that the same
    /// packets take.
    fn path(&mut self, path: &Path) -> Result<Equivalence, SolverError> {
        let inputs = self.pair.inputs();
        self.pair.swap_terms();
        let side = &self.pair.other.side;
        let mut paths = PathEnumerator::following(side, inputs, path);
        self.pair.swap_terms();
        let mut equivalence = Equivalence::Proved;
        loop {
            self.pair.swap_terms();
            let side = &mut self.pair.other.side;
            let step = paths.next(side, None, &mut self.draws, self.queries);
            self.pair.swap_terms();
            let other = match step? {
                NextPath::Done => return Ok(equivalence),
                NextPath::Gap(_) | NextPath::Stopped(_) if self.is_proved() => {
                    return Ok(Equivalence::Proved);
                }
                NextPath::Gap(why) => {
                    self.gap(format!("in the specialised program: {why}"));
                    equivalence = Equivalence::Undecided;
                    continue;
                }
                NextPath::Stopped(why) => {
                    self.gap(why.to_owned());
                    return Ok(Equivalence::Stopped);
                }
                NextPath::Path(other) => other,
            };
            self.found.pairs += 1;
            self.queries.stop().count(self.found.pairs, "pairs of paths");
            self.found.executed.note(path.instructions, other.instructions);
            if self.found.test_inputs.len() < test_inputs::MAX_TEST_INPUTS {
                self.found.test_inputs.extend(test_inputs::test_input(
                    self.pair,
                    self.packets,
                    &other,
                ));
            }
            match self.both(path, &other)? {
                Equivalence::Proved => {}
                Equivalence::Undecided => equivalence = Equivalence::Undecided,
                end => return Ok(end),
            }
        }
    }

    /// Compares one path of the original with one path of the specialised program.
    fn both(&mut self, path: &Path, other: &Path) -> Result<Equivalence, SolverError> {
        if self.is_proved() {
            return Ok(Equivalence::Proved);
        }
        let mut equivalence = Equivalence::Proved;
        if self.relies(path, other)? {
            equivalence = Equivalence::Undecided;
        }
        let differences = match compare::differences(self.pair, path, other) {
            Ok(differences) => differences,
            Err(why) => {
                self.gap(why);
                return Ok(Equivalence::Undecided);
            }
        };
        let differences = self.not_ruled_out(other, differences);
        if differences.is_empty() {
            return Ok(equivalence);
        }
        if differences.len() > 1 {
            let pool = self.pair.pool();
            let no = pool.bool(false);
            let any = differences.iter().fold(no, |any, &(_, differs)| pool.or(any, differs));
            match self.ask(other, any)? {
                Answer::Unsat => return Ok(equivalence),
                Answer::Unknown(_) if self.compare_together()? => return Ok(Equivalence::Proved),
                _ => {}
            }
        }
        for (what, differs) in differences {
            if let Some(why) = self.queries.stop_reason() {
                self.gap(why.to_owned());
                return Ok(Equivalence::Stopped);
            }
            let answer = self.ask(other, differs)?;
            let terms: Vec<TermId> = other.conditions.iter().copied().chain([differs]).collect();
            match difference(&what, answer, |model| {
                let found = (what.clone(), &terms[..], model);
                replay::confirm(self.pair, self.packets, (path, other), found)
            }) {
                Ok(None) => {}
                Ok(Some(counterexample)) => {
                    self.found.counterexample = Some(counterexample);
                    return Ok(Equivalence::Differs);
                }
                Err(why) => {
                    self.gap(why);
                    equivalence = Equivalence::Undecided;
                }
            }
        }
        Ok(equivalence)
    }
}
