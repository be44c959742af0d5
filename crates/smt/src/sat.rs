//! A satisfiability solver for clauses over Boolean variables: conflict-driven clause learning.
//!
//! Made for many small questions over one growing set of clauses. Each question is a list of
//! assumptions and a list of the variables that matter to it: only these are decided, so that a
//! question costs what it is about and not what was asked before. What is learnt stays.
//!
//! Knows no terms and no gates. Everything is counted in steps, never in time, so that equal
//! histories give equal answers.
//!
//! Sources: Eén and Sörensson, "An Extensible SAT-solver" (SAT 2003), for the structure and the
//! assumptions; Sörensson and Biere, "Minimizing Learned Clauses" (SAT 2009); Audemard and Simon,
//! "Predicting Learnt Clauses Quality in Modern SAT Solvers" (IJCAI 2009), for which clauses to keep
//! and when to restart.

mod analyse;
mod answer;
mod arena;
mod hook;
mod literal;
mod order;
mod pace;
mod propagate;
mod reduce;
mod search;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use answer::Answer;
pub(crate) use hook::Hook;
pub(crate) use literal::Lit;

use arena::{Arena, ClauseId};
use order::Order;
use pace::Pace;
use watch::Watch;

/// A variable's state besides its value.
#[derive(Clone, Copy, Debug)]
struct Variable {
    /// Number of decisions before it was assigned.
    level: u32,
    /// The clause that assigned it, or [`ClauseId::NONE`].
    reason: ClauseId,
    /// The value that it had last.
    phase: bool,
    /// The last question that it matters to.
    question: u32,
}

/// Clauses, and what was learnt from them.
#[derive(Debug)]
pub(crate) struct Sat {
    clauses: Arena,
    /// Clauses to look at when a literal becomes true, by that literal.
    watches: Vec<Vec<Watch>>,
    /// By literal: 1 for true, -1 for false, 0 for neither.
    values: Vec<i8>,
    variables: Vec<Variable>,
    order: Order,
    /// What was assigned, in order.
    trail: Vec<Lit>,
    /// Lengths of the trail at each decision.
    decisions: Vec<usize>,
    /// What of the trail has been propagated.
    propagated: usize,
    learnt: Vec<ClauseId>,
    /// The assumptions that are decided on the trail, for the next question to share.
    assumed: Vec<Lit>,
    failed: Vec<Lit>,
    /// Whether the clauses contradict each other without any assumption.
    contradictory: bool,
    question: u32,
    pace: Pace,
    /// Assignments made so far: the measure of effort.
    steps: u64,
    /// Scratch of the analysis of conflicts, by variable.
    marks: Vec<u8>,
    marked: Vec<Lit>,
    levels_seen: Vec<u64>,
    stamp: u64,
    /// Is told what happens.
    pub(crate) hook: Hook,
}

impl Sat {
    /// A solver without variables and clauses.
    pub(crate) fn new() -> Self {
        Sat {
            clauses: Arena::default(),
            watches: Vec::new(),
            values: Vec::new(),
            variables: Vec::new(),
            order: Order::default(),
            trail: Vec::new(),
            decisions: Vec::new(),
            propagated: 0,
            learnt: Vec::new(),
            assumed: Vec::new(),
            failed: Vec::new(),
            contradictory: false,
            question: 0,
            pace: Pace::default(),
            steps: 0,
            marks: Vec::new(),
            marked: Vec::new(),
            levels_seen: Vec::new(),
            stamp: 0,
            hook: Hook::default(),
        }
    }

    /// A new variable, as the literal that it is true.
    pub(crate) fn variable(&mut self) -> Lit {
        let lit = Lit::new(self.variables.len(), false);
        self.variables.push(Variable {
            level: 0,
            reason: ClauseId::NONE,
            phase: false,
            question: 0,
        });
        self.values.extend([0, 0]);
        self.watches.extend([Vec::new(), Vec::new()]);
        self.marks.push(0);
        self.order.grow();
        lit
    }

    /// Adds a clause for good. Forgets the last assignment.
    pub(crate) fn clause(&mut self, literals: &[Lit]) {
        self.hook.given(literals);
        // Then what has a value has it for good, so that clauses can be cut to what is left of
        // them.
        self.backtrack(0);
        let mut kept: Vec<Lit> = Vec::with_capacity(literals.len());
        for &lit in literals {
            if self.value(lit) == Some(true) || kept.contains(&!lit) {
                return;
            }
            if self.value(lit).is_none() && !kept.contains(&lit) {
                kept.push(lit);
            }
        }
        match *kept.as_slice() {
            [] => self.contradictory = true,
            // Without decisions it is never taken back. What follows from it is found at once, so
            // that later clauses are cut by that, too.
            [lit] => {
                self.assign(lit, ClauseId::NONE);
                self.contradictory |= self.propagate().is_some();
            }
            _ => {
                let clause = self.clauses.add(&kept, None);
                self.watch(clause);
            }
        }
    }

    /// The value of a literal: after [`Answer::Satisfiable`], until the next clause or question.
    pub(crate) fn value(&self, lit: Lit) -> Option<bool> {
        match self.values[lit.index()] {
            0 => None,
            value => Some(value > 0),
        }
    }

    /// After [`Answer::Contradiction`]: the assumptions that contradict each other. None, if the
    /// clauses do without them.
    pub(crate) fn failed(&self) -> &[Lit] {
        &self.failed
    }

    /// How much was done so far: variables made, and assignments.
    pub(crate) fn steps(&self) -> u64 {
        self.steps + self.variables.len() as u64
    }

    fn level(&self) -> u32 {
        self.decisions.len() as u32
    }

    /// Makes an unassigned literal true.
    fn assign(&mut self, lit: Lit, reason: ClauseId) {
        self.values[lit.index()] = 1;
        self.values[(!lit).index()] = -1;
        let level = self.decisions.len() as u32;
        let variable = &mut self.variables[lit.variable()];
        (variable.level, variable.reason) = (level, reason);
        self.trail.push(lit);
        self.steps += 1;
    }

    /// Takes back all decisions from `level` on, and what followed.
    fn backtrack(&mut self, level: usize) {
        let Some(&length) = self.decisions.get(level) else { return };
        for at in (length..self.trail.len()).rev() {
            let lit = self.trail[at];
            self.values[lit.index()] = 0;
            self.values[(!lit).index()] = 0;
            let variable = &mut self.variables[lit.variable()];
            // Phase saving (Pipatsrisawat and Darwiche, SAT 2007): decided the same way again.
            variable.phase = !lit.is_negative();
            // Others are not decided for this question; the next one lists what matters to it.
            if variable.question == self.question {
                self.order.insert(lit.variable());
            }
        }
        self.trail.truncate(length);
        self.decisions.truncate(level);
        // Assumptions are the first decisions, one on each level.
        self.assumed.truncate(level);
        self.propagated = length;
    }
}
