//! Reads of symbolic memory for all paths at once, and the reasons for which they fail.

/// Kind of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Read {
    /// This number of bytes, written by one store.
    Slice(u8),
    /// One byte, written by any store.
    Byte,
}

impl Read {
    /// Returns the size of the read in bytes.
    pub fn bytes(self) -> u8 {
        match self {
            Read::Slice(bytes) => bytes,
            Read::Byte => 1,
        }
    }
}

/// The reason that a read has no common value for all paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missing {
    /// Several stores wrote parts of the bytes, or none did. Single bytes may still have values.
    Split,
    /// Stores to unknown regions, or too many stores, may have written the bytes.
    Unknown,
}
