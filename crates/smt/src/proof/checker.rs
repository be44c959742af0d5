//! Checks the events that a SAT solver reports, one by one. The checker trusts only the given
//! clauses.

use std::collections::HashMap;
use std::fmt;

use super::event::Event;
use super::propagation::{ClauseNumber, Propagation};

/// The reason why an event of a SAT solver is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A learnt clause does not follow by unit propagation.
    Learnt(Vec<i32>),
    /// The failed assumptions do not contradict each other by unit propagation.
    Contradiction(Vec<i32>),
    /// The solver reported a failed assumption that was not among the assumptions of the check.
    NotAssumed(i32),
    /// A forgotten clause was never learnt, or was forgotten before.
    Forgotten(Vec<i32>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Learnt(clause) => write!(f, "the learnt clause {clause:?} does not follow"),
            Fault::Contradiction(failed) => {
                write!(f, "the assumptions {failed:?} do not contradict each other")
            }
            Fault::NotAssumed(lit) => write!(f, "{lit} is blamed and was not assumed"),
            Fault::Forgotten(clause) => write!(f, "{clause:?} is forgotten and was not learnt"),
        }
    }
}

impl std::error::Error for Fault {}

/// Checks the events of one solver.
#[derive(Debug, Default)]
pub struct Checker {
    propagation: Propagation,
    /// The learnt clauses that the solver still uses: by its sorted literals, the numbers of a
    /// clause. A clause that was learnt several times has several numbers.
    learnt: HashMap<Vec<i32>, Vec<ClauseNumber>>,
    assumptions: Vec<i32>,
}

impl Checker {
    /// Creates a checker for a new solver.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks the next event of the solver.
    ///
    /// # Errors
    ///
    /// Fails if earlier events do not justify the event.
    pub fn step(&mut self, event: &Event) -> Result<(), Fault> {
        match event {
            Event::Original(clause) => {
                self.propagation.add(clause);
            }
            Event::Learnt(clause) => {
                let opposite: Vec<i32> = clause.iter().map(|lit| -lit).collect();
                if !self.propagation.contradicts(&opposite) {
                    return Err(Fault::Learnt(clause.clone()));
                }
                let number = self.propagation.add(clause);
                self.learnt.entry(in_order(clause)).or_default().push(number);
            }
            Event::Deleted(clause) => {
                let places = self.learnt.get_mut(&in_order(clause));
                let Some(number) = places.and_then(Vec::pop) else {
                    return Err(Fault::Forgotten(clause.clone()));
                };
                self.propagation.remove(number);
            }
            Event::Query { assumptions, .. } => self.assumptions.clone_from(assumptions),
            Event::Unsat(failed) => {
                if let Some(&lit) = failed.iter().find(|lit| !self.assumptions.contains(lit)) {
                    return Err(Fault::NotAssumed(lit));
                }
                if !self.propagation.contradicts(failed) {
                    return Err(Fault::Contradiction(failed.clone()));
                }
            }
            Event::Sat | Event::Unknown => {}
        }
        Ok(())
    }
}

fn in_order(clause: &[i32]) -> Vec<i32> {
    let mut literals = clause.to_vec();
    literals.sort_unstable();
    literals
}
