//! The price of a cost class: a base price per component and two rules that depend on recent
//! events.
//!
//! A mark records that an event of some kind just ended (`cc`: condition codes were written, `mem`:
//! memory was accessed). Classes set marks; rules of other classes depend on the cycles since then.
//! See Krude et al., CoNEXT 2021, sections 4.1 (branches) and 4.2 (spacing of memory accesses).
//! `model` evaluates prices, `decode` reads them.

use std::collections::BTreeMap;

/// Clock cycles of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Cycles(pub u64);

/// The most marks that a target can have.
pub const MAX_MARKS: usize = 4;

/// The largest number of cycles in a rule: distances are kept in 16 bits.
pub(crate) const MAX_RULE_CYCLES: u64 = 60_000;

/// A kind of event that later prices can depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) name: String,
    /// True if the start of the program sets the mark.
    pub(crate) set_at_start: bool,
}

/// A number of cycles that applies depending on a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Index into the target's marks.
    pub(crate) mark: usize,
    /// Number of cycles, at most [`MAX_RULE_CYCLES`].
    pub(crate) cycles: u64,
}

/// The price of one event on one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    /// Base price in ticks.
    pub(crate) ticks: u64,
    /// Replaces the base price if no cycle has passed since the mark was set. Cores only.
    pub(crate) just_after: Option<Rule>,
    /// Least number of cycles from the mark to the end of the event. Cores only.
    pub(crate) spacing: Option<Rule>,
}

/// Prices and marks of a cost class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassPrice {
    /// Prices by component; `None` if unknown.
    pub(crate) prices: Vec<Option<Price>>,
    /// Marks that the end of such an event sets; `None` if not stated.
    pub(crate) sets: Option<Vec<usize>>,
}

/// Prices by class name.
pub(crate) type PriceTable = BTreeMap<String, ClassPrice>;
