//! How much longer calls take where their maps have many entries, and packets are spread over all of
//! them: what models of experiments say, beyond the one entry of the prices.

use crate::Call;
use slowpath_target::Timing;

/// Helpers that look for an entry.
const SEEKING: [&str; 4] =
    ["map_lookup_elem", "map_update_elem", "map_delete_elem", "redirect_map"];

/// What more entries do to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Nothing: it looks for no entry, or there is one at most.
    None,
    /// No model says it, or it has no value there.
    Unknown,
    /// So many thousandths of a cycle more.
    Known {
        /// Thousandths of a cycle.
        cycles: u64,
        /// The fewest and the most entries that were measured, where the model is asked for others:
        /// for more, or for the one entry of the prices.
        outside: Option<(u64, u64)>,
    },
}

impl Growth {
    /// Thousandths of a cycle, none where nothing is known.
    pub fn cycles(self) -> u64 {
        match self {
            Growth::Known { cycles, .. } => cycles,
            Growth::None | Growth::Unknown => 0,
        }
    }
}

/// What a call of a helper on a type of map does with so many entries.
pub(crate) fn growth(name: &str, zero: Option<bool>, entries: u64, timing: &Timing) -> Growth {
    let helper = name.split('.').next().unwrap_or(name);
    if entries <= 1 || !SEEKING.contains(&helper) {
        return Growth::None;
    }
    // What updates and deletions return says whether they were done.
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
    /// What it does that maps have so many entries, or as many as there is room for.
    pub fn growth(&self, timing: &Timing, entries: u64) -> Growth {
        let entries = self.room.map_or(entries, |room| entries.min(room.into()));
        growth(&self.name, self.zero, entries, timing)
    }
}

#[cfg(test)]
mod tests;
