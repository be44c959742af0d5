//! What the solver tells of its work, step by step.

/// What the solver does. Literals are written as in the DIMACS format: the number of the variable,
/// from 1 on, negative where the variable is negated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A clause that holds for all further questions.
    Given(Vec<i32>),
    /// A clause that is said to follow from all clauses so far.
    Learnt(Vec<i32>),
    /// A learnt clause that is not used any more.
    Forgotten(Vec<i32>),
    /// Can the assumptions hold? Only the variables that matter (in increasing order) are decided.
    Asked {
        /// What is assumed.
        assumptions: Vec<i32>,
        /// Numbers of the variables that matter.
        relevant: Vec<i32>,
    },
    /// They can.
    Satisfiable,
    /// They cannot: not even these of them.
    Contradiction(Vec<i32>),
    /// It was not found out.
    Stopped,
}

/// Is told what a SAT solver does, in order.
pub trait Trace: std::fmt::Debug + Send {
    /// Something that the solver does.
    fn event(&mut self, event: Event);

    /// A trace for another set of clauses: a solver has two when terms are opaque to one.
    fn another(&self) -> Box<dyn Trace>;
}
