//! Events that a SAT solver reports.

/// An event of a SAT solver. Literals are in DIMACS notation: the number of the variable, from 1,
/// negative for a negated variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A clause that holds for all later checks.
    Original(Vec<i32>),
    /// A learnt clause, which the solver claims to follow from all clauses so far.
    Learnt(Vec<i32>),
    /// A learnt clause that the solver no longer uses.
    Deleted(Vec<i32>),
    /// A check of assumptions, in which only relevant variables are decided.
    Query {
        /// Assumed literals.
        assumptions: Vec<i32>,
        /// Numbers of the relevant variables, in increasing order.
        relevant: Vec<i32>,
    },
    /// The assumptions of the last check can hold.
    Sat,
    /// These assumptions of the last check cannot hold together.
    Unsat(Vec<i32>),
    /// The last check ended undecided.
    Unknown,
}

/// A receiver of SAT solver events, in order.
pub trait Trace: std::fmt::Debug + Send {
    /// Receives an event.
    fn event(&mut self, event: Event);

    /// Creates a trace for another set of clauses. A solver uses a second set once it needs one
    /// without opaque terms.
    fn fork(&self) -> Box<dyn Trace>;
}
