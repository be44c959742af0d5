//! Defines the price of a cost class. It consists of a base price per component and two rules that
//! depend on recent events.
//!
//! A mark records the end of an event of some kind, such as `cc` for writes of condition codes and
//! `mem` for memory accesses. Events of some cost classes set marks, and prices of other classes
//! depend on the number of cycles since then. See Krude et al., CoNEXT 2021, sections 4.1
//! (branches) and 4.2 (spacing of memory accesses). `decode` reads prices, and `model` evaluates
//! them.

use std::collections::BTreeMap;

/// A number of clock cycles of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Cycles(pub u64);

/// Maximum number of marks of a target, which record recent events.
pub const MAX_MARKS: usize = 4;

/// Maximum number of cycles in a price rule, because contexts have 16 bits per mark.
pub(crate) const MAX_RULE_CYCLES: u64 = 60_000;

/// A mark: a kind of event, such as a memory access, on which the prices of later events can
/// depend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) name: String,
    /// True if the start of a program sets the mark.
    pub(crate) set_at_start: bool,
}

/// A rule that makes a price depend on a recent event: the mark that records the event, and a
/// number of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Index into the target's marks.
    pub(crate) mark: usize,
    /// Number of cycles, at most [`MAX_RULE_CYCLES`].
    pub(crate) cycles: u64,
}

/// The price of one event on one component.
///
/// A new kind of rule is also read (`decode/prices.rs`), put into words for assumptions
/// (`decode/assume.rs`), evaluated (`model.rs`), and part of the reference model in
/// `tests/cost_automaton.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    /// Base price in ticks of the component.
    pub(crate) ticks: u64,
    /// Rule with a price that replaces the base price if no cycle has passed since the mark was
    /// set. `None` if there is no such rule; only cores can have it.
    pub(crate) just_after: Option<Rule>,
    /// Rule with the minimum number of cycles from the setting of the mark to the end of the event.
    /// `None` if there is no such rule; only cores can have it.
    pub(crate) spacing: Option<Rule>,
}

/// Prices of a cost class, and the marks that its events set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassPrice {
    /// Prices by index of the component. `None` if the price on a component is unknown.
    pub(crate) prices: Vec<Option<Price>>,
    /// Indices of the marks that are set at the end of an event of this class. `None` if the
    /// description does not state them.
    pub(crate) sets: Option<Vec<usize>>,
}

/// Prices by name of the cost class.
pub(crate) type PriceTable = BTreeMap<String, ClassPrice>;
