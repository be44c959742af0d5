//! Follows a solver step by step. Nothing is believed but the given clauses.

use std::collections::HashMap;
use std::fmt;

use super::event::Event;
use super::propagation::{ClauseNumber, Propagation};

/// A step that does not follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A learnt clause does not follow by unit propagation.
    Learnt(Vec<i32>),
    /// The assumptions to blame do not contradict each other by unit propagation.
    Contradiction(Vec<i32>),
    /// Something is blamed that was not assumed.
    Blamed(i32),
    /// A clause is forgotten that was not learnt, or twice.
    Forgotten(Vec<i32>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Learnt(clause) => write!(f, "the learnt clause {clause:?} does not follow"),
            Fault::Contradiction(failed) => {
                write!(f, "the assumptions {failed:?} do not contradict each other")
            }
            Fault::Blamed(lit) => write!(f, "{lit} is blamed and was not assumed"),
            Fault::Forgotten(clause) => write!(f, "{clause:?} is forgotten and was not learnt"),
        }
    }
}

impl std::error::Error for Fault {}

/// Checks the steps of one solver.
#[derive(Debug, Default)]
pub struct Checker {
    propagation: Propagation,
    /// Where learnt clauses are, by their literals in order.
    learnt: HashMap<Vec<i32>, Vec<ClauseNumber>>,
    assumptions: Vec<i32>,
}

impl Checker {
    /// A checker of a solver that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next thing that the solver does.
    ///
    /// # Errors
    ///
    /// It does not follow from what was before.
    pub fn step(&mut self, event: &Event) -> Result<(), Fault> {
        match event {
            Event::Given(clause) => {
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
            Event::Forgotten(clause) => {
                let places = self.learnt.get_mut(&in_order(clause));
                let Some(number) = places.and_then(Vec::pop) else {
                    return Err(Fault::Forgotten(clause.clone()));
                };
                self.propagation.remove(number);
            }
            Event::Asked { assumptions, .. } => self.assumptions.clone_from(assumptions),
            Event::Contradiction(failed) => {
                if let Some(&lit) = failed.iter().find(|lit| !self.assumptions.contains(lit)) {
                    return Err(Fault::Blamed(lit));
                }
                if !self.propagation.contradicts(failed) {
                    return Err(Fault::Contradiction(failed.clone()));
                }
            }
            Event::Satisfiable | Event::Stopped => {}
        }
        Ok(())
    }
}

fn in_order(clause: &[i32]) -> Vec<i32> {
    let mut literals = clause.to_vec();
    literals.sort_unstable();
    literals
}
