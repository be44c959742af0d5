//! Options that select the techniques of the search. By default all are used; experiments disable
//! some of them to measure their benefit.

/// Options for enumerating inputs: running the program on all combinations of inputs, if only few
/// inputs matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEnumeration {
    /// Inputs are never enumerated.
    Never,
    /// The search and the enumeration alternate, after the search has taken some steps.
    Interleaved,
    /// The enumeration runs first. The search runs only if there are too many inputs to enumerate.
    First,
}

/// Selection of optional techniques. They do not change results, only the time that the search
/// takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// True to generalise nogoods: reduce them to the arcs that cause a contradiction, minimise
    /// them, and search for similar ones in other loop iterations. Otherwise, a nogood is the whole
    /// path up to the contradiction.
    pub generalise: bool,
    /// True to derive contradictions and packet lengths from facts about terms (known bits and
    /// intervals), without a solver.
    pub facts: bool,
    /// True to guess a packet for a path before asking a solver.
    pub guess: bool,
    /// True to remove paths with known nogoods from the search graph (folding).
    pub fold: bool,
    /// True to improve bounds by Lagrangian relaxation, which prices nogoods with multipliers.
    pub relax: bool,
    /// Option that decides when the program is run on all combinations of inputs.
    pub inputs: InputEnumeration,
    /// Number of operations after which the enumeration of inputs gives up.
    pub max_operations: u64,
    /// Index of the component to which the search is restricted; `None` for all components.
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
