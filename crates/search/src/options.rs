//! Options that select the techniques of the search. By default all are used; experiments disable
//! some of them to measure their benefit.

/// Selects when the search tries all values of inputs, in case only few inputs matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEnumeration {
    /// Inputs are never enumerated.
    Never,
    /// After the search has taken some steps, it alternates with the enumeration.
    Interleaved,
    /// The enumeration runs first. The search runs only if there are too many inputs to enumerate.
    First,
}

/// Selects optional techniques. They do not change results, only the time that the search takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// True to generalise nogoods: reduce them to the arcs that cause the conflict, minimise them,
    /// and search for them in other iterations of loops. Otherwise a nogood is the whole path up to
    /// the conflict.
    pub generalise: bool,
    /// True to derive conflicts and packet lengths from facts about terms, without a solver.
    pub facts: bool,
    /// True to guess a packet for a path before asking a solver.
    pub guess: bool,
    /// True to remove paths with known nogoods from the graph (folding).
    pub fold: bool,
    /// True to improve bounds with Lagrange multipliers of nogoods.
    pub relax: bool,
    /// Selects when inputs are enumerated.
    pub inputs: InputEnumeration,
    /// Number of operations after which input enumeration gives up.
    pub max_operations: u64,
    /// Component to which the search is restricted; `None` for all components.
    pub only_component: Option<usize>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions {
            generalise: true,
            facts: true,
            guess: true,
            fold: true,
            relax: true,
            inputs: InputEnumeration::Interleaved,
            max_operations: 1 << 30,
            only_component: None,
        }
    }
}
