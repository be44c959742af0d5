//! Computes the additional time of helper calls on maps with many entries, if packets are spread
//! over all entries. The base times of calls are measured on maps with one entry. Models that were
//! fitted to measurements give the additional time.

use crate::Call;
use slowpath_target::Timing;

/// Helpers that search a map for an entry.
const SEEKING: [&str; 4] =
    ["map_lookup_elem", "map_update_elem", "map_delete_elem", "redirect_map"];

/// Additional time of a call because its map has more than one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// No additional time: the call does not search a map, or the map has at most one entry.
    None,
    /// Unknown: no model covers the call, or the model has no value for this number of entries.
    Unknown,
    /// Predicted by a model.
    Known {
        /// Additional time in thousandths of a cycle.
        cycles: u64,
        /// Smallest and largest number of entries that was measured. Set only if the prediction
        /// needs numbers outside of this range: the map has more entries, or a map with one entry
        /// was not measured.
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

/// Returns the additional time of a call if its map has `entries` entries. `name` consists of the
/// helper and the map type. `zero` is true if the call returns 0, and `None` if this is not known.
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
    /// Returns the additional time of this call if its map has `entries` entries, but no more than
    /// its capacity.
    pub fn growth(&self, timing: &Timing, entries: u64) -> Growth {
        let entries = self.capacity.map_or(entries, |room| entries.min(room.into()));
        growth(&self.name, self.zero, entries, timing)
    }
}

#[cfg(test)]
mod tests;
