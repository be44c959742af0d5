//! Defines the price of a cost class, which consists of a base price per component and two rules
//! that depend on recent events.
//!
//! A mark records the end of an event of some kind, such as `cc` for writes of condition codes and
//! `mem` for memory accesses. Classes set marks. Rules of other classes depend on the number of
//! cycles since then. See Krude et al., CoNEXT 2021, sections 4.1 (branches) and 4.2 (spacing of
//! memory accesses). `decode` reads prices, and `model` evaluates them.

use std::collections::BTreeMap;

/// Clock cycles of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Cycles(pub u64);

/// Maximum number of marks of a target.
pub const MAX_MARKS: usize = 4;

/// Maximum number of cycles in a rule. Contexts have 16 bits per mark.
pub(crate) const MAX_RULE_CYCLES: u64 = 60_000;

/// A kind of event on which the prices of later events can depend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) name: String,
    /// True if the start of the program sets the mark.
    pub(crate) set_at_start: bool,
}

/// A rule of a price, which consists of the mark that it depends on and a number of cycles.
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
    /// Price that replaces the base price if no cycle has passed since the mark was set. Only for
    /// cores.
    pub(crate) just_after: Option<Rule>,
    /// Minimum number of cycles from the time at which the mark was set to the end of the event.
    /// Only for cores.
    pub(crate) spacing: Option<Rule>,
}

/// Prices and marks of a cost class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassPrice {
    /// Prices by component. `None` if unknown.
    pub(crate) prices: Vec<Option<Price>>,
    /// Marks that are set at the end of an event of this class. `None` if the description does not
    /// state them.
    pub(crate) sets: Option<Vec<usize>>,
}

/// Prices by class name.
pub(crate) type PriceTable = BTreeMap<String, ClassPrice>;
