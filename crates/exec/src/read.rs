//! Reads of symbolic memory for all paths at once, and the reasons for failed reads.

/// A kind of read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Read {
    /// The given number of bytes, all written by one store.
    Slice(u8),
    /// One byte, whichever store wrote it.
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

/// The reason why a read has no value that is valid on all paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missing {
    /// Several stores, or none, wrote the bytes. A read of each single byte may still succeed.
    Split,
    /// Stores to unknown regions, or too many stores, may have written the bytes.
    Unknown,
}
