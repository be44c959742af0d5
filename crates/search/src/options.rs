//! Options of the search: the techniques to use. By default all are used; experiments disable some
//! to measure their benefit.

/// Schedule of input enumeration, which tries all inputs if only few of them matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEnumeration {
    /// No enumeration.
    Never,
    /// Alternates with the search after the search has taken some steps.
    Interleaved,
    /// Before the search, which only runs if there are too many inputs.
    First,
}

/// Optional techniques. Without them, the results are the same but take longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// True to reduce nogoods to the arcs that cause a conflict, minimise them, and look for them
    /// in other iterations of loops. Otherwise a nogood is the whole path up to the conflict.
    pub generalise: bool,
    /// True to derive conflicts and packet lengths from facts about terms.
    pub facts: bool,
    /// True to guess packets before asking a solver.
    pub guess: bool,
    /// True to fold nogoods into the states of the dynamic program.
    pub fold: bool,
    /// True to charge nogoods with Lagrange multipliers for better bounds.
    pub relax: bool,
    /// Schedule of input enumeration.
    pub inputs: InputEnumeration,
    /// Number of operations after which input enumeration gives up.
    pub max_operations: u64,
    /// Component to search alone; `None` for all components together.
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
