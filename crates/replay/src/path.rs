//! Identity of paths.

use std::fmt;
use std::hash::Hasher;

use fnv::FnvHasher;
use serde::{Serialize, Serializer};
use slowpath_exec::concrete::Taken;

/// Identity of a path through a lifted program. Two runs have the same identity if they pass
/// through the same blocks in the same order. Other runs have different ones, except for a chance
/// of 2^-64. All processes that lift the same object with the same options agree on it.
///
/// A block is an instruction together with its call chain. Lookups that hit and lookups that miss,
/// and different iterations of loops, are therefore different paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u64);

impl PathId {
    /// Computes the identity of a sequence of blocks (FNV-1a).
    pub fn of(path: &[Taken]) -> PathId {
        let mut hasher = FnvHasher::default();
        for taken in path {
            hasher.write(&taken.block.0.to_le_bytes());
            hasher.write(&(taken.edge as u32).to_le_bytes());
        }
        PathId(hasher.finish())
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for PathId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
