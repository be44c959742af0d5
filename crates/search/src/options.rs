//! Options of the search: which of its techniques it uses. All of them, unless somebody measures
//! what each is worth.

/// When inputs are tried one by one, where few of them matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEnumeration {
    /// Not at all.
    Never,
    /// By turns with the search, once that has taken some steps.
    Interleaved,
    /// Before the search, which only follows if they are too many.
    First,
}

/// Techniques that can be left out. The results are the same without them, later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// Nogoods consist of the arcs behind a conflict only, are made small, and looked for in other
    /// rounds of loops. Else each is all of its path up to the conflict.
    pub generalise: bool,
    /// Facts about terms find conflicts and packet lengths.
    pub facts: bool,
    /// Packets are guessed before a solver is asked for one.
    pub guess: bool,
    /// Nogoods become part of the states of the dynamic program.
    pub fold: bool,
    /// Nogoods get Lagrange multipliers, for better bounds.
    pub relax: bool,
    /// Inputs are tried one by one where few of them matter.
    pub inputs: InputEnumeration,
    /// Operations that may take before it is given up.
    pub most_operations: u64,
    /// All components are searched together. Else only the one with this number.
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
            most_operations: 1 << 30,
            only_component: None,
        }
    }
}
