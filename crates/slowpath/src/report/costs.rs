//! Converts the cost of a path to numbers of cycles or events for each component of the target.

use crate::result::Amount;
use indexmap::IndexMap;
use slowpath_target::{CostVector, Target};

/// Converts a cost to one amount for each component of the target: a number of cycles, or a count
/// of events.
pub(super) fn costs(target: &Target, cost: &CostVector) -> IndexMap<String, Amount> {
    let component = |(index, &ticks): (usize, &u64)| {
        let cycles = target.cycles(index, ticks);
        let whole = cycles.fract() == 0.0 && cycles < 9e15;
        let amount = if whole { Amount::Whole(cycles as u64) } else { Amount::Fraction(cycles) };
        (target.component_name(index).to_owned(), amount)
    };
    cost.as_slice().iter().enumerate().map(component).collect()
}

/// Converts a cost to counts by component, for targets that count events, such as instructions,
/// instead of computing rates.
pub(super) fn counts(target: &Target, cost: &CostVector) -> IndexMap<String, u64> {
    let named = |(index, &count): (usize, &u64)| (target.component_name(index).to_owned(), count);
    cost.as_slice().iter().enumerate().map(named).collect()
}
