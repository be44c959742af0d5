//! The SAT solver by itself, for tests and to be measured beside others.

use super::Trace;
use crate::sat::{Answer, Hook, Lit, Sat};

/// Decides clauses of literals as the DIMACS format writes them. What is learnt at one question is
/// used at the next.
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
    /// A solver that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that tells `trace` what it does.
    pub fn traced(trace: Box<dyn Trace>) -> Self {
        let mut solver = Self::default();
        solver.sat.hook = Hook { trace: Some(trace) };
        solver
    }

    /// Adds a clause for good.
    pub fn clause(&mut self, literals: &[i32]) {
        let literals: Vec<Lit> = literals.iter().map(|&lit| self.literal(lit)).collect();
        self.sat.clause(&literals);
    }

    /// Whether the assumptions can hold, as far as the variables with these numbers are concerned:
    /// only they are decided.
    pub fn solve(&mut self, assumptions: &[i32], relevant: &[i32]) -> bool {
        let assumptions: Vec<Lit> = assumptions.iter().map(|&lit| self.literal(lit)).collect();
        let relevant: Vec<usize> =
            relevant.iter().map(|&number| self.literal(number).variable()).collect();
        self.sat.solve(&assumptions, &relevant, None, &|| false) == Answer::Satisfiable
    }

    /// Forgets at once learnt clauses that would be forgotten some day.
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
