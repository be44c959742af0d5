//! Proofs of the SAT solver's answers "unsatisfiable", for tests and benchmarks (feature `proof`).
//!
//! A [`Trace`] is told what the solver does: clauses that are given, learnt and forgotten, questions
//! and answers. [`Proof`] is one that checks every step with a [`Checker`], which shares no code
//! with the solver: each learnt clause has to follow from those before it by unit propagation, and
//! so does, at an answer "unsatisfiable", the clause that says that the assumptions to blame do not
//! hold together. Then the answer follows from the given clauses alone, whatever the solver did.
//!
//! What is not shown by this: that the given clauses say what the terms do (circuits and domains;
//! `bit_solver/tests.rs`, the agreement with Z3), and that the layers above blame the right terms
//! (the agreement with Z3).
//!
//! Source: Goldberg and Novikov, "Verification of Proofs of Unsatisfiability for CNF Formulas" (DATE
//! 2003), for the check; the format DRUP (Heule, Hunt, Wetzler, FMCAD 2013) for clauses forgotten.

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

/// Checks what any number of solvers do, and counts it.
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
    /// One that has checked nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A trace for a new solver. It panics at the first step that does not follow.
    pub fn trace(&self) -> Box<dyn Trace> {
        Box::new(Checked { checker: Checker::new(), proof: self.clone() })
    }

    /// Learnt clauses that were checked.
    pub fn learnt(&self) -> usize {
        self.counts.learnt.load(Ordering::Relaxed)
    }

    /// Answers "unsatisfiable" that were checked.
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
            Event::Contradiction(_) => counts.contradictions.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    fn another(&self) -> Box<dyn Trace> {
        self.proof.trace()
    }
}
