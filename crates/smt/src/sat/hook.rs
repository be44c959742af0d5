//! Reports solver events to a `Trace` if the feature `proof` is enabled. Without the feature, the
//! functions do nothing and cost nothing.

use super::answer::Answer;
use super::literal::Lit;

/// Passes solver events to a `Trace`, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Hook {
    #[cfg(feature = "proof")]
    pub(crate) trace: Option<Box<dyn crate::Trace>>,
}

#[cfg(feature = "proof")]
mod reporting {
    use super::{Answer, Hook, Lit};
    use crate::Event;

    /// Converts literals to DIMACS numbers.
    fn numbers(literals: &[Lit]) -> Vec<i32> {
        let number = |lit: &Lit| {
            let number = lit.variable() as i32 + 1;
            if lit.is_negative() { -number } else { number }
        };
        literals.iter().map(number).collect()
    }

    impl Hook {
        fn report(&mut self, event: impl FnOnce() -> Event) {
            if let Some(trace) = &mut self.trace {
                trace.event(event());
            }
        }

        /// Returns a hook for another solver, whose events a new trace receives.
        pub(crate) fn fork(&self) -> Hook {
            Hook { trace: self.trace.as_ref().map(|trace| trace.fork()) }
        }

        pub(in crate::sat) fn given(&mut self, clause: &[Lit]) {
            self.report(|| Event::Original(numbers(clause)));
        }

        pub(in crate::sat) fn learnt(&mut self, clause: &[Lit]) {
            self.report(|| Event::Learnt(numbers(clause)));
        }

        pub(in crate::sat) fn forgotten(&mut self, clause: impl FnOnce() -> Vec<Lit>) {
            self.report(|| Event::Deleted(numbers(&clause())));
        }

        pub(in crate::sat) fn asked(&mut self, assumptions: &[Lit], relevant: &[usize]) {
            self.report(|| Event::Query {
                assumptions: numbers(assumptions),
                relevant: relevant.iter().map(|&variable| variable as i32 + 1).collect(),
            });
        }

        pub(in crate::sat) fn answered(&mut self, answer: Answer, failed: &[Lit]) {
            self.report(|| match answer {
                Answer::Satisfiable => Event::Sat,
                Answer::Contradiction => Event::Unsat(numbers(failed)),
                Answer::Stopped => Event::Unknown,
            });
        }
    }
}

#[cfg(not(feature = "proof"))]
#[allow(clippy::unused_self)]
impl Hook {
    /// Returns a hook for another solver. Without the feature `proof`, it does nothing.
    pub(crate) fn fork(&self) -> Hook {
        Hook::default()
    }

    pub(super) fn given(&mut self, _clause: &[Lit]) {}

    pub(super) fn learnt(&mut self, _clause: &[Lit]) {}

    pub(super) fn forgotten(&mut self, _clause: impl FnOnce() -> Vec<Lit>) {}

    pub(super) fn asked(&mut self, _assumptions: &[Lit], _relevant: &[usize]) {}

    pub(super) fn answered(&mut self, _answer: Answer, _failed: &[Lit]) {}
}
