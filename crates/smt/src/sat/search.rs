//! Deciding, learning, restarting.

use super::arena::ClauseId;
use super::literal::Lit;
use super::{Answer, Sat};

/// Conflicts between two looks at whether to stop. What is learnt from one can be long.
const POLL: u64 = 16;
/// Assignments between two looks at whether to stop.
const POLL_STEPS: u64 = 200_000;
/// Fewest conflicts between two restarts.
const SHORTEST_RUN: u64 = 30;
/// A restart is due when clauses are so much worse lately than they were on the whole.
const WORSE: f64 = 1.2;
/// Conflicts before the first reduction, and by how many more before each later one.
const FIRST_REDUCTION: u64 = 3000;
const LATER_REDUCTION: u64 = 600;

/// When to restart and when to forget.
#[derive(Debug)]
pub(super) struct Pace {
    /// Means of the levels of learnt clauses, lately and on the whole.
    lately: f64,
    overall: f64,
    conflicts: u64,
    since_restart: u64,
    next_reduction: u64,
    reductions: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            lately: 0.0,
            overall: 0.0,
            conflicts: 0,
            since_restart: 0,
            next_reduction: FIRST_REDUCTION,
            reductions: 0,
        }
    }
}

impl Pace {
    fn learnt(&mut self, levels: u32) {
        let levels = f64::from(levels);
        self.lately += (levels - self.lately) / 32.0;
        self.overall += (levels - self.overall) / 4096.0_f64.min(1.0 + self.conflicts as f64);
        self.conflicts += 1;
        self.since_restart += 1;
    }

    fn restart_is_due(&mut self) -> bool {
        let due = self.since_restart >= SHORTEST_RUN && self.lately > WORSE * self.overall;
        if due {
            self.since_restart = 0;
        }
        due
    }

    fn reduction_is_due(&mut self) -> bool {
        let due = self.conflicts >= self.next_reduction;
        if due {
            self.reductions += 1;
            self.next_reduction =
                self.conflicts + FIRST_REDUCTION + LATER_REDUCTION * self.reductions;
        }
        due
    }
}

impl Sat {
    /// Whether the assumptions can hold. Only variables of `relevant` are decided: when all of
    /// them are assigned without a conflict, the answer is yes. Gives up after about `effort`
    /// assignments, or when `stop` says so.
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
        self.question += 1;
        self.order.clear();
        for &variable in relevant {
            self.variables[variable].question = self.question;
            if self.values[Lit::new(variable, false).index()] == 0 {
                self.order.insert(variable);
            }
        }
        let limit = effort.map(|effort| self.steps + effort);
        let (mut polled, mut conflicts) = (self.steps, 0u64);
        self.pace.since_restart = 0;
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
            if self.pace.restart_is_due() {
                self.backtrack(assumptions.len());
            }
            if self.pace.reduction_is_due() {
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
        let lesson = self.analyse(conflict);
        self.hook.learnt(&lesson.clause);
        self.pace.learnt(lesson.levels);
        self.order.decay();
        self.backtrack(lesson.level);
        let asserting = lesson.clause[0];
        if lesson.clause.len() == 1 {
            self.assign(asserting, ClauseId::NONE);
            return;
        }
        let id = self.clauses.add(&lesson.clause, Some(lesson.levels));
        self.learnt.push(id);
        self.watch(id);
        self.assign(asserting, id);
    }

    /// The next decision: assumptions first, then what matters.
    fn decide(&mut self, assumptions: &[Lit]) -> Decision {
        while let Some(&assumption) = assumptions.get(self.decisions.len()) {
            self.decisions.push(self.trail.len());
            self.assumed.push(assumption);
            match self.value(assumption) {
                Some(true) => {}
                Some(false) => {
                    self.blame(&[assumption]);
                    self.failed.push(assumption);
                    // Not part of the assignment.
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

/// What came of looking for something to decide.
enum Decision {
    Made,
    Unnecessary,
    Contradicted,
}
