//! Events that a SAT solver reports.

/// An event of a SAT solver. Literals are in DIMACS notation: the number of the variable, from 1,
/// with a minus sign for a negated variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A clause was given to the solver. It holds in all later checks.
    Original(Vec<i32>),
    /// The solver learnt a clause. It claims that the clause follows from all clauses so far.
    Learnt(Vec<i32>),
    /// The solver stopped using a learnt clause.
    Deleted(Vec<i32>),
    /// The solver was asked whether the assumptions can hold together with the clauses. It decides
    /// only the relevant variables.
    Query {
        /// Assumed literals.
        assumptions: Vec<i32>,
        /// Numbers of the relevant variables, in increasing order.
        relevant: Vec<i32>,
    },
    /// The solver answered "satisfiable": the assumptions of the last check can hold.
    Sat,
    /// The solver answered "unsatisfiable": these assumptions of the last check cannot hold
    /// together.
    Unsat(Vec<i32>),
    /// The solver ended the last check undecided.
    Unknown,
}

/// A receiver of the events of a SAT solver, in order.
pub trait Trace: std::fmt::Debug + Send {
    /// Receives an event.
    fn event(&mut self, event: Event);

    /// Creates a trace for a second SAT solver with other clauses. A layered solver uses two SAT
    /// solvers: one treats hashes as unknowns, the other translates them exactly.
    fn fork(&self) -> Box<dyn Trace>;
}
