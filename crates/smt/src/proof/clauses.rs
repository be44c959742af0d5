//! Gives access to the SAT solver without terms, for tests and for comparisons with other SAT
//! solvers.

use super::Trace;
use crate::sat::{Answer, Hook, Lit, Sat};

/// A SAT solver for clauses whose literals are numbers, as in the DIMACS format. Learnt clauses are
/// kept for later calls.
#[derive(Debug)]
pub struct ClauseSolver {
    sat: Sat,
    variables: Vec<Lit>,
}

impl Default for ClauseSolver {
    fn default() -> Self {
        ClauseSolver { sat: Sat::new(), variables: Vec::new() }
    }
}

impl ClauseSolver {
    /// Creates a solver without clauses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a solver that reports its steps to `trace`.
    pub fn traced(trace: Box<dyn Trace>) -> Self {
        let mut solver = Self::default();
        solver.sat.hook = Hook { trace: Some(trace) };
        solver
    }

    /// Adds a clause permanently.
    pub fn clause(&mut self, literals: &[i32]) {
        let literals: Vec<Lit> = literals.iter().map(|&lit| self.literal(lit)).collect();
        self.sat.clause(&literals);
    }

    /// Returns true if all assumptions can hold together with the clauses. The solver decides only
    /// the variables in `relevant`, and derives others by unit propagation. Literals are numbers as
    /// in DIMACS.
    pub fn solve(&mut self, assumptions: &[i32], relevant: &[i32]) -> bool {
        let assumptions: Vec<Lit> = assumptions.iter().map(|&lit| self.literal(lit)).collect();
        let relevant: Vec<usize> =
            relevant.iter().map(|&number| self.literal(number).variable()).collect();
        self.sat.solve(&assumptions, &relevant, None, &|| false) == Answer::Satisfiable
    }

    /// Searches for values of all variables that satisfy the clauses. Ends undecided (`None`) after
    /// `effort` steps, or if `stop` returns true.
    pub fn decide(&mut self, effort: u64, stop: &dyn Fn() -> bool) -> Option<bool> {
        let relevant: Vec<usize> = self.variables.iter().map(|lit| lit.variable()).collect();
        match self.sat.solve(&[], &relevant, Some(effort), stop) {
            Answer::Satisfiable => Some(true),
            Answer::Contradiction => Some(false),
            Answer::Stopped => None,
        }
    }

    /// Returns the value of a variable after the answer "satisfiable", by its number. Variables
    /// that occur in no clause are false.
    pub fn value(&self, variable: usize) -> bool {
        let lit = variable.checked_sub(1).and_then(|at| self.variables.get(at));
        lit.is_some_and(|&lit| self.sat.value(lit) == Some(true))
    }

    /// Deletes the less useful learnt clauses now, without waiting for the schedule.
    #[cfg(test)]
    pub(super) fn forget(&mut self) {
        self.sat.forget();
    }

    fn literal(&mut self, number: i32) -> Lit {
        let variable = number.unsigned_abs() as usize - 1;
        while self.variables.len() <= variable {
            self.variables.push(self.sat.variable());
        }
        let positive = self.variables[variable];
        if number < 0 { !positive } else { positive }
    }
}
