//! Remembers the programs of a topology, to find out which of them changed since the last plan.

use serde::{Deserialize, Serialize};
use slowpath_cache::{Cache, Key};
use std::collections::BTreeMap;

/// The state of a topology's programs when it was last planned.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct LastPlan {
    /// Digest of each program's object file, by name of the program.
    pub programs: BTreeMap<String, String>,
}

impl LastPlan {
    /// Reads from the cache the programs of a topology when it was last planned. Returns an empty
    /// list if the cache does not contain them.
    pub fn read(cache: &Cache, topology: &str) -> LastPlan {
        cache.read(key(topology)).map_or_else(LastPlan::default, |(last, _)| last)
    }

    /// Stores the programs of a topology, for comparison when it is planned again.
    pub fn write(&self, cache: &Cache, topology: &str) {
        cache.write(key(topology), self, None);
    }
}

/// Returns the cache key of a topology's last plan, which is the same for all versions of slowpath.
fn key(topology: &str) -> Key {
    Key::of(&("last plan", topology))
}
