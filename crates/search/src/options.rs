//! Options of the search: optional techniques. By default all are used; experiments disable some of
//! them to measure their benefit.

/// Schedule of input enumeration, which tries all values of inputs if only few inputs matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEnumeration {
    /// No enumeration.
    Never,
    /// Enumeration and search alternate, after the search has taken some steps.
    Interleaved,
    /// Enumeration comes first; the search runs only if there are too many inputs.
    First,
}

/// Optional techniques. They do not change results, only the time that the search takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// True to generalise nogoods: reduce them to the arcs that cause the conflict, minimise them,
    /// and search for them in other iterations of loops. Otherwise a nogood is the whole path up to
    /// the conflict.
    pub generalise: bool,
    /// True to derive conflicts and packet lengths from facts about terms.
    pub facts: bool,
    /// True to guess packets before asking a solver.
    pub guess: bool,
    /// True to fold nogoods into the states of the dynamic program.
    pub fold: bool,
    /// True to improve bounds with Lagrange multipliers of nogoods.
    pub relax: bool,
    /// Schedule of input enumeration.
    pub inputs: InputEnumeration,
    /// Number of operations after which input enumeration gives up.
    pub max_operations: u64,
    /// The only component to search; `None` for all components.
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
