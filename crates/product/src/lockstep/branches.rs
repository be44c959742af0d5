//! Executes branches: finds the pairs of runs that follow after one or both programs have reached a
//! branch.

use super::runs::{Failed, Runs};
use super::scheduling::{Pair, Position};
use slowpath_smt::TermId;

/// The values that a branch condition can have in a pair of runs.
enum ConditionValue {
    /// The condition has this value in all runs of the pair.
    Always(bool),
    /// The pair of runs is impossible, so the condition is never evaluated.
    Unreachable,
    /// The condition may be true in some runs of the pair, and false in others.
    Either,
}

impl Runs<'_, '_> {
    /// Executes a branch, and returns the pairs of runs that continue after it. `due` lists the
    /// indices (0 or 1) of the programs that are at a branch.
    pub fn branch(&mut self, mut pair: Pair, due: &[usize]) -> Result<Vec<Pair>, Failed> {
        let mut conditions = Vec::new();
        for &which in due {
            let Position::Branch { terms: [_, condition], .. } = pair.sides[which].at else {
                continue;
            };
            conditions.push((which, condition));
        }
        if let [(_, a), (_, b)] = conditions[..] {
            let opposite = self.pool().not(b);
            if a == b || a == opposite {
                return Ok(self.take_branches(&pair, &conditions, a == b));
            }
        }
        for &(which, condition) in &conditions {
            match self.decided(&pair, condition)? {
                ConditionValue::Always(value) => {
                    let goes_on = self.take(which, &mut pair, value);
                    return Ok(goes_on.then_some(pair).into_iter().collect());
                }
                ConditionValue::Unreachable => return Ok(Vec::new()),
                ConditionValue::Either => {}
            }
        }
        if let [(_, a), (_, b)] = conditions[..] {
            let pool = self.pool();
            let same = pool.eq(a, b);
            let different = pool.not(same);
            for (possible, alike) in [(different, true), (same, false)] {
                if !self.possible(&pair, &[possible])? {
                    return Ok(self.take_branches(&pair, &conditions, alike));
                }
            }
        }
        Ok(self.take_branches(&pair, &conditions[..1], true))
    }

    /// Takes the branches of one or both programs together: once for each truth value of the first
    /// condition in `branches`. `alike` is true if both conditions are equal, and false if the
    /// second is the negation of the first.
    fn take_branches(
        &mut self,
        pair: &Pair,
        branches: &[(usize, TermId)],
        alike: bool,
    ) -> Vec<Pair> {
        let mut ways = Vec::new();
        for value in [true, false] {
            let mut way = pair.clone();
            let mut goes_on = true;
            for (number, &(which, condition)) in branches.iter().enumerate() {
                let value = value == (alike || number == 0);
                let pool = self.pool();
                let holds = if value { condition } else { pool.not(condition) };
                if !way.conditions.contains(&holds) {
                    way.conditions.push(holds);
                }
                goes_on &= self.take(which, &mut way, value);
            }
            ways.extend(goes_on.then_some(way));
        }
        ways
    }

    /// Asks the solver for the values that a branch condition can have in a pair of runs.
    fn decided(&mut self, pair: &Pair, condition: TermId) -> Result<ConditionValue, Failed> {
        let opposite = self.pool().not(condition);
        let holds = self.possible(pair, &[condition])?;
        let fails = self.possible(pair, &[opposite])?;
        Ok(match (holds, fails) {
            (true, true) => ConditionValue::Either,
            (false, false) => ConditionValue::Unreachable,
            (holds, _) => ConditionValue::Always(holds),
        })
    }
}
