//! Computes a number that identifies the path of a run.

use std::fmt;
use std::hash::Hasher;

use fnv::FnvHasher;
use serde::{Serialize, Serializer};
use slowpath_exec::concrete::Taken;

/// A number that identifies a path through a lifted program. Runs through the same blocks in the
/// same order have the same number. Other runs have different numbers, except with a probability of
/// 2^-64. The number depends only on the object, the lifting options and the path.
///
/// Functions are inlined, so each block belongs to one chain of calls. Map lookups that hit and
/// lookups that miss lead to different paths, and so do different numbers of loop iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u64);

impl PathId {
    /// Computes the number from the basic blocks of a path, with the hash function FNV-1a.
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
