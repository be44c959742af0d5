//! Verifies the SAT solver's "unsatisfiable" answers, in tests and benchmarks (feature `proof`).
//!
//! A [`Trace`] receives the solver's events: given, learnt and forgotten clauses, checks and
//! answers. [`Proof`] provides traces that verify every event with a [`Checker`], which shares no
//! code with the solver. Each learnt clause must follow from earlier clauses by unit propagation.
//! For an answer "unsatisfiable", the clause that negates the failed assumptions must follow in the
//! same way. The answer then depends only on the given clauses, not on the solver.
//!
//! A proof does not cover the translation of terms into clauses (circuits and domains). The tests
//! in `bit_solver/tests.rs` and the comparison with Z3 cover it. A proof does not cover the mapping
//! of failed assumptions to terms in the layers above either; the comparison with Z3 covers it.
//!
//! Sources: Goldberg and Novikov, "Verification of Proofs of Unsatisfiability for CNF Formulas"
//! (DATE 2003), for the check; the DRUP format (Heule, Hunt, Wetzler, FMCAD 2013) for forgotten
//! clauses.

mod checker;
mod clauses;
mod event;
mod propagation;
#[cfg(test)]
mod tests;

pub use checker::{Checker, Fault};
pub use clauses::ClauseSolver;
pub use event::{Event, Trace};

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Verifies the events of any number of SAT solvers, and counts the verified events.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    learnt: AtomicUsize,
    contradictions: AtomicUsize,
}

impl Proof {
    /// Creates a proof in which no events have been verified yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a trace to be passed to a new solver. The trace panics at the first event that does
    /// not follow from earlier events.
    pub fn trace(&self) -> Box<dyn Trace> {
        Box::new(Checked { checker: Checker::new(), proof: self.clone() })
    }

    /// Returns the number of verified learnt clauses.
    pub fn learnt(&self) -> usize {
        self.counts.learnt.load(Ordering::Relaxed)
    }

    /// Returns the number of verified answers "unsatisfiable".
    pub fn contradictions(&self) -> usize {
        self.counts.contradictions.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Checked {
    checker: Checker,
    proof: Proof,
}

impl Trace for Checked {
    fn event(&mut self, event: Event) {
        if let Err(fault) = self.checker.step(&event) {
            panic!("the solver's proof is wrong: {fault}");
        }
        let counts = &self.proof.counts;
        match event {
            Event::Learnt(_) => counts.learnt.fetch_add(1, Ordering::Relaxed),
            Event::Unsat(_) => counts.contradictions.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    fn fork(&self) -> Box<dyn Trace> {
        self.proof.trace()
    }
}
