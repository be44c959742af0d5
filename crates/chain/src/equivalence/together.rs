//! Compares all paths of two programs together, for programs with many paths. It follows both
//! programs in lockstep ([`slowpath_product::lockstep()`]) and compares their final states once.
//!
//! The result is a proof that the programs do the same, or nothing. A difference is inconclusive,
//! because joined states include runs that do not exist. Without a proof, the comparison continues
//! path by path, which can also find a packet with different results.

use super::test_inputs::MAX_TEST_INPUTS;
use super::validation::{Together, Validation};
use super::{alignment, compare};
use slowpath_product::{Answer, Lockstep, Path, StructuralEquality, TermPair, lockstep};
use slowpath_smt::{SolverError, TermId};

/// Number of pairs of paths that are compared one by one before all paths are compared together.
/// Most programs have fewer pairs.
const ONE_BY_ONE: u64 = 64;
/// The search for more test inputs after a proof may take the remaining time divided by this
/// number.
const PART: u32 = 8;

impl Validation<'_, '_> {
    /// Returns true if many pairs of paths were already compared one by one, so that comparing all
    /// paths together is worthwhile.
    pub(super) fn is_long(&self) -> bool {
        self.found.pairs >= ONE_BY_ONE
    }

    /// Returns true if the comparison can end: all paths are proved together, and there are enough
    /// test inputs or no time is left to find more.
    pub(super) fn is_covered(&self) -> bool {
        let Together::Proved(stop) = &self.together else { return false };
        self.found.test_inputs.len() >= MAX_TEST_INPUTS || stop.reason().is_some()
    }

    /// Compares all paths together, unless this was tried before. Returns true if all paths are
    /// proved.
    pub(super) fn compare_together(&mut self) -> Result<bool, SolverError> {
        if let Together::NotTried = self.together {
            self.together = Together::Open;
            let open = std::mem::take(&mut self.found.undecided);
            self.pair.alike = Some(StructuralEquality::default());
            let same = self.run_in_lockstep()?;
            self.pair.alike = None;
            for side in [&mut self.pair.original.side, &mut self.pair.other.side] {
                side.joined = None;
            }
            if same {
                let stop = self.queries.stop();
                self.together =
                    Together::Proved(stop.within(stop.remaining().map(|left| left / PART)));
            } else {
                self.found.undecided = open;
            }
        }
        Ok(self.is_proved())
    }

    /// Executes both programs in lockstep, and compares their final states. Returns true if they
    /// are proved to be the same.
    fn run_in_lockstep(&mut self) -> Result<bool, SolverError> {
        let programs = [&self.pair.original, &self.pair.other];
        let [original, other] = programs.map(|member| member.side.executor.program());
        let Ok(orders) = alignment::orders(original, other, self.origins) else { return Ok(false) };
        let conditions = self.pair.facts.conditions.clone();
        let sides = [&mut self.pair.original.side, &mut self.pair.other.side];
        match lockstep(sides, &orders, &conditions, &mut self.draws, self.queries)? {
            Ok(runs) => self.same(&runs),
            // The comparison path by path will report the reason again.
            Err(_) => Ok(false),
        }
    }

    /// Returns true if both programs are proved to leave the same state.
    fn same(&mut self, runs: &Lockstep) -> Result<bool, SolverError> {
        let [path, other] = &runs.paths;
        if self.relies(path, other)? {
            return Ok(false);
        }
        loop {
            let Ok(differences) = compare::differences_of_all(self.pair, path, other) else {
                return Ok(false);
            };
            if differences.is_empty() {
                break;
            }
            if !self.settle(other)? {
                if !self.none(other, differences)? {
                    return Ok(false);
                }
                break;
            }
        }
        let executed = &mut self.found.executed;
        executed.after = executed.after.max(other.instructions);
        executed.slower = executed.slower.max(runs.max_extra_instructions);
        Ok(true)
    }

    /// Asks the solver about pairs of terms that may be equal. Pairs inside larger terms come
    /// first, because they are easier. Returns true if the solver proves that any pair is equal.
    fn settle(&mut self, runs: &Path) -> Result<bool, SolverError> {
        let undecided =
            self.pair.alike.as_mut().map(StructuralEquality::take_undecided).unwrap_or_default();
        let mut settled = false;
        for pair in undecided {
            if self.pair.alike.as_ref().is_some_and(|alike| alike.is_known_equal(&pair)) {
                continue;
            }
            let equal = self.equal_under(runs, &pair)?;
            if let (Some(equal), Some(alike)) = (equal, &mut self.pair.alike) {
                alike.note_equal(equal);
                settled = true;
            }
        }
        Ok(settled)
    }

    /// Proves that two terms are equal in all runs. Returns the pair with the conditions that the
    /// proof needs, or `None` if the terms can differ or the solver cannot decide.
    ///
    /// Most known conditions on runs do not matter for a pair, so the first query leaves them out.
    fn equal_under(
        &mut self,
        runs: &Path,
        pair: &TermPair,
    ) -> Result<Option<TermPair>, SolverError> {
        self.tell_bits();
        let pool = self.pair.pool();
        let same = pool.eq(pair.terms.0, pair.terms.1);
        let differs = pool.not(same);
        let choices = pair.conditions.iter().copied().chain([differs]);
        for known in [&[][..], &runs.conditions[..]] {
            if self.queries.stop_reason().is_some() {
                break;
            }
            let all: Vec<TermId> = choices.clone().chain(known.iter().copied()).collect();
            if let Some(core) = self.queries.contradiction(self.pair.pool(), &all)? {
                let needed = core.iter().filter_map(|&position| pair.conditions.get(position));
                let conditions = needed.copied().collect();
                return Ok(Some(TermPair { terms: pair.terms, conditions }));
            }
        }
        Ok(None)
    }

    fn none(
        &mut self,
        runs: &Path,
        differences: Vec<compare::Difference>,
    ) -> Result<bool, SolverError> {
        for (_, differs) in self.not_ruled_out(runs, differences) {
            if !matches!(self.ask(runs, differs)?, Answer::Unsat) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
