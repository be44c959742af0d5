//! Which path a run takes.

use std::fmt;
use std::hash::Hasher;

use fnv::FnvHasher;
use serde::{Serialize, Serializer};
use slowpath_exec::concrete::Taken;

/// Identity of a path through a lifted program: the same for two runs if they go through the same
/// blocks in the same order, and different otherwise but for a chance of 2^-64. It is the same in
/// every process that lifts the same object with the same options.
///
/// A block is an instruction together with the calls that lead to it, so that look-ups which find
/// something and look-ups which do not, and rounds of loops, are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u64);

impl PathId {
    /// The identity of these blocks in this order (FNV-1a).
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
