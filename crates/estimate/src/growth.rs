//! Additional time of calls whose maps have many entries, when packets are spread over all entries.
//! Models fitted to experiments give this time; the prices themselves are for maps with one entry.

use crate::Call;
use slowpath_target::Timing;

/// Helpers that look up an entry.
const SEEKING: [&str; 4] =
    ["map_lookup_elem", "map_update_elem", "map_delete_elem", "redirect_map"];

/// Additional time of a call because its map has more than one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// No additional time: the call looks up no entry, or the map has at most one.
    None,
    /// Not known: no model covers the call, or the model has no value for this number of entries.
    Unknown,
    /// Time from a model.
    Known {
        /// Additional time in thousandths of a cycle.
        cycles: u64,
        /// Minimum and maximum measured number of entries, if the model is used outside of this
        /// range. This is the case for more entries, and if the single entry of the prices was not
        /// measured.
        outside: Option<(u64, u64)>,
    },
}

impl Growth {
    /// Returns the additional time in thousandths of a cycle; 0 if it is unknown.
    pub fn cycles(self) -> u64 {
        match self {
            Growth::Known { cycles, .. } => cycles,
            Growth::None | Growth::Unknown => 0,
        }
    }
}

/// Returns the additional time of the call `name` (helper and map type) for `entries` entries.
pub(crate) fn growth(name: &str, zero: Option<bool>, entries: u64, timing: &Timing) -> Growth {
    let helper = name.split('.').next().unwrap_or(name);
    if entries <= 1 || !SEEKING.contains(&helper) {
        return Growth::None;
    }
    // The result of updates and deletions does not tell whether they found an entry.
    let found = helper != "map_lookup_elem" || zero != Some(true);
    let Some(model) = timing.by_entries(name, found) else { return Growth::Unknown };
    let Some(nanoseconds) = model.growth(entries as f64) else { return Growth::Unknown };
    let (fewest, most) = model.range();
    let outside = fewest > 1.0 || entries as f64 > most;
    Growth::Known {
        cycles: timing.cycles(nanoseconds),
        outside: outside.then_some((fewest as u64, most as u64)),
    }
}

impl Call {
    /// Returns the additional time if the map has `entries` entries, but no more than its capacity.
    pub fn growth(&self, timing: &Timing, entries: u64) -> Growth {
        let entries = self.capacity.map_or(entries, |room| entries.min(room.into()));
        growth(&self.name, self.zero, entries, timing)
    }
}

#[cfg(test)]
mod tests;
