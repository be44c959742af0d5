//! What a cost class costs: a base price per component and two rules that look at recent events.
//!
//! Marks are names for "something of this kind just ended" (`cc`: condition codes were written,
//! `mem`: memory was accessed). Classes set marks; rules of other classes see how many cycles ago
//! that was. Krude et al., CoNEXT 2021, sections 4.1 (branches) and 4.2 (spacing of memory
//! accesses). Evaluation is in `model`, reading in `decode`.

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
    /// Whether the start of the program counts as such an event.
    pub(crate) set_at_start: bool,
}

/// "Costs `cycles` when …": a number and the mark that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Index into the target's marks.
    pub(crate) mark: usize,
    /// At most [`MAX_RULE_CYCLES`].
    pub(crate) cycles: u64,
}

/// The price of one event on one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    /// Base price in ticks.
    pub(crate) ticks: u64,
    /// Replaces the base price when no cycle has passed since the mark was set. Cores only.
    pub(crate) just_after: Option<Rule>,
    /// The event ends no earlier than this many cycles after the mark was set. Cores only.
    pub(crate) spacing: Option<Rule>,
}

/// Everything known about a cost class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassPrice {
    /// By component; `None` where no price is known.
    pub(crate) prices: Vec<Option<Price>>,
    /// Marks that the end of such an event sets; `None` where nothing was said.
    pub(crate) sets: Option<Vec<usize>>,
}

/// Prices by class name.
pub(crate) type PriceTable = BTreeMap<String, ClassPrice>;
