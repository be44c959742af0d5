//! The main loop of conflict-driven clause learning. It propagates, learns from conflicts, restarts
//! and deletes clauses when these are due, and otherwise makes the next decision. The assumptions
//! of a check are its first decisions.

use super::Sat;
use super::answer::Answer;
use super::arena::ClauseId;
use super::literal::Lit;

/// Maximum number of conflicts between two polls of the stop condition. A learnt clause can be
/// long, so a conflict can take long.
const POLL: u64 = 16;
/// Maximum number of assignments between two polls of the stop condition.
const POLL_STEPS: u64 = 200_000;

impl Sat {
    /// Decides whether the assumptions can hold. Only variables in `relevant` are decided. The
    /// answer is "satisfiable" once all of them are assigned without a conflict. Gives up after
    /// about `effort` assignments, or when `stop` returns true.
    pub(crate) fn solve(
        &mut self,
        assumptions: &[Lit],
        relevant: &[usize],
        effort: Option<u64>,
        stop: &dyn Fn() -> bool,
    ) -> Answer {
        self.hook.asked(assumptions, relevant);
        let answer = self.answer(assumptions, relevant, effort, stop);
        self.hook.answered(answer, &self.failed);
        answer
    }

    fn answer(
        &mut self,
        assumptions: &[Lit],
        relevant: &[usize],
        effort: Option<u64>,
        stop: &dyn Fn() -> bool,
    ) -> Answer {
        self.failed.clear();
        if self.contradictory {
            return Answer::Contradiction;
        }
        let shared = self.assumed.iter().zip(assumptions).take_while(|(a, b)| a == b).count();
        self.backtrack(shared);
        self.query += 1;
        self.order.clear();
        for &variable in relevant {
            self.variables[variable].query = self.query;
            if self.values[Lit::new(variable, false).index()] == 0 {
                self.order.insert(variable);
            }
        }
        let limit = effort.map(|effort| self.steps + effort);
        let (mut polled, mut conflicts) = (self.steps, 0u64);
        self.restart_schedule.since_restart = 0;
        loop {
            if let Some(conflict) = self.propagate() {
                if self.decisions.is_empty() {
                    self.contradictory = true;
                    return Answer::Contradiction;
                }
                conflicts += 1;
                self.learn(conflict);
                if !conflicts.is_multiple_of(POLL) && self.steps - polled <= POLL_STEPS {
                    continue;
                }
                polled = self.steps;
                if limit.is_some_and(|limit| self.steps > limit) || stop() {
                    return Answer::Stopped;
                }
                continue;
            }
            if self.steps - polled > POLL_STEPS {
                polled = self.steps;
                if limit.is_some_and(|limit| self.steps > limit) || stop() {
                    return Answer::Stopped;
                }
            }
            if self.restart_schedule.restart_is_due() {
                self.backtrack(assumptions.len());
            }
            if self.restart_schedule.reduction_is_due() {
                self.backtrack(0);
                self.reduce();
                if stop() {
                    return Answer::Stopped;
                }
                continue;
            }
            match self.decide(assumptions) {
                Decision::Made => {}
                Decision::Unnecessary => return Answer::Satisfiable,
                Decision::Contradicted => return Answer::Contradiction,
            }
        }
    }

    fn learn(&mut self, conflict: ClauseId) {
        let analysis = self.analyse(conflict);
        self.hook.learnt(&analysis.clause);
        self.restart_schedule.learnt(analysis.levels);
        self.order.decay();
        self.backtrack(analysis.level);
        let asserting = analysis.clause[0];
        if analysis.clause.len() == 1 {
            self.assign(asserting, ClauseId::NONE);
            return;
        }
        let id = self.clauses.add(&analysis.clause, Some(analysis.levels));
        self.learnt.push(id);
        self.watch(id);
        self.assign(asserting, id);
    }

    /// Makes the next decision: the next assumption if one is left, otherwise a relevant variable.
    fn decide(&mut self, assumptions: &[Lit]) -> Decision {
        while let Some(&assumption) = assumptions.get(self.decisions.len()) {
            self.decisions.push(self.trail.len());
            self.assumed.push(assumption);
            match self.value(assumption) {
                Some(true) => {}
                Some(false) => {
                    self.collect_failed_assumptions(&[assumption]);
                    self.failed.push(assumption);
                    // The failed assumption must be removed from the trail.
                    self.backtrack(self.decisions.len() - 1);
                    return Decision::Contradicted;
                }
                None => {
                    self.assign(assumption, ClauseId::NONE);
                    return Decision::Made;
                }
            }
        }
        while let Some(variable) = self.order.pop() {
            let lit = Lit::new(variable, !self.variables[variable].phase);
            if self.value(lit).is_none() {
                self.decisions.push(self.trail.len());
                self.assign(lit, ClauseId::NONE);
                return Decision::Made;
            }
        }
        Decision::Unnecessary
    }
}

enum Decision {
    Made,
    Unnecessary,
    Contradicted,
}
