//! A SAT solver for clauses over Boolean variables, with conflict-driven clause learning.
//!
//! The solver is designed for many small checks on one growing set of clauses. Each check passes
//! assumptions, and the variables that are relevant to it. Only relevant variables are decided, so
//! the cost of a check does not depend on earlier checks. Learnt clauses are kept for later checks.
//!
//! The solver does not know terms or gates. Effort is counted in steps, never in time, so equal
//! sequences of calls give equal answers.
//!
//! Sources: Eén and Sörensson, "An Extensible SAT-solver" (SAT 2003), for structure and
//! assumptions; Sörensson and Biere, "Minimizing Learned Clauses" (SAT 2009); Audemard and Simon,
//! "Predicting Learnt Clauses Quality in Modern SAT Solvers" (IJCAI 2009), for deletion of clauses
//! and for restarts.

mod analyse;
mod answer;
mod arena;
mod hook;
mod literal;
mod order;
mod propagate;
mod reduce;
mod restart_schedule;
mod search;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use answer::Answer;
pub(crate) use hook::Hook;
pub(crate) use literal::Lit;

use arena::{Arena, ClauseId};
use order::Order;
use restart_schedule::RestartSchedule;
use watch::Watch;

/// State of a Boolean variable, except its current value.
#[derive(Clone, Copy, Debug)]
struct Variable {
    /// Decision level: the number of decisions on the trail when the variable was assigned,
    /// including a decision on the variable itself.
    level: u32,
    /// The clause that implied the value, or [`ClauseId::NONE`].
    reason: ClauseId,
    /// Last value of the variable, which the next decision on it repeats.
    phase: bool,
    /// Serial number of the last check for which the variable was relevant.
    query: u32,
}

/// A SAT solver: its clauses, and the state of its search.
#[derive(Debug)]
pub(crate) struct Sat {
    clauses: Arena,
    /// For each literal, the clauses to visit when this literal becomes true.
    watches: Vec<Vec<Watch>>,
    /// Value of each literal: 1 for true, -1 for false, 0 for unassigned.
    values: Vec<i8>,
    variables: Vec<Variable>,
    order: Order,
    /// Assigned literals in order of assignment.
    trail: Vec<Lit>,
    /// Length of the trail at each decision.
    decisions: Vec<usize>,
    /// Number of literals at the start of the trail that have been propagated.
    propagated: usize,
    learnt: Vec<ClauseId>,
    /// Assumptions at the start of the trail; each is a decision with its own level. If the next
    /// check begins with the same assumptions, their levels are kept.
    assumed: Vec<Lit>,
    failed: Vec<Lit>,
    /// True if the clauses contradict each other without any assumption.
    contradictory: bool,
    query: u32,
    restart_schedule: RestartSchedule,
    /// Number of assignments so far, as a measure of effort.
    steps: u64,
    /// For each variable, its mark during conflict analysis.
    marks: Vec<u8>,
    marked: Vec<Lit>,
    levels_seen: Vec<u64>,
    stamp: u64,
    pub(crate) hook: Hook,
}

impl Sat {
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
            query: 0,
            restart_schedule: RestartSchedule::default(),
            steps: 0,
            marks: Vec::new(),
            marked: Vec::new(),
            levels_seen: Vec::new(),
            stamp: 0,
            hook: Hook::default(),
        }
    }

    /// Creates a variable and returns its positive literal.
    pub(crate) fn variable(&mut self) -> Lit {
        let lit = Lit::new(self.variables.len(), false);
        self.variables.push(Variable { level: 0, reason: ClauseId::NONE, phase: false, query: 0 });
        self.values.extend([0, 0]);
        self.watches.extend([Vec::new(), Vec::new()]);
        self.marks.push(0);
        self.order.grow();
        lit
    }

    /// Adds a clause permanently. Discards the current assignment.
    pub(crate) fn clause(&mut self, literals: &[Lit]) {
        self.hook.given(literals);
        // At level 0, all values are permanent. So clauses that are true can be skipped, and
        // literals that are false can be removed.
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
            // At level 0, the assignment is permanent. Propagating it at once simplifies later
            // clauses.
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

    /// Returns the value of a literal, or `None` if it is not assigned. Valid after
    /// [`Answer::Satisfiable`], until the next clause or check.
    pub(crate) fn value(&self, lit: Lit) -> Option<bool> {
        match self.values[lit.index()] {
            0 => None,
            value => Some(value > 0),
        }
    }

    /// Returns the assumptions that contradict each other, after [`Answer::Contradiction`]. Empty
    /// if the clauses are contradictory without assumptions.
    pub(crate) fn failed(&self) -> &[Lit] {
        &self.failed
    }

    /// Returns the effort so far: the number of variables created plus the number of assignments
    /// made.
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

    /// Undoes all decisions above `level`, and the assignments that followed from them.
    fn backtrack(&mut self, level: usize) {
        let Some(&length) = self.decisions.get(level) else { return };
        for at in (length..self.trail.len()).rev() {
            let lit = self.trail[at];
            self.values[lit.index()] = 0;
            self.values[(!lit).index()] = 0;
            let variable = &mut self.variables[lit.variable()];
            // Phase saving (Pipatsrisawat and Darwiche, SAT 2007): the next decision on the
            // variable repeats its value.
            variable.phase = !lit.is_negative();
            // Variables that are irrelevant to this check are never decided. The next check lists
            // its own relevant variables.
            if variable.query == self.query {
                self.order.insert(lit.variable());
            }
        }
        self.trail.truncate(length);
        self.decisions.truncate(level);
        // Assumptions are the first decisions, one per level.
        self.assumed.truncate(level);
        self.propagated = length;
    }
}
