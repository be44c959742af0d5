//! Describes reads of symbolic memory that must be valid on all paths, and the reasons why such
//! reads fail.

/// A read of symbolic memory, with the way in which it combines the bytes of several stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Read {
    /// Reads this number of bytes as one value; a single store must have written all of them.
    Slice(u8),
    /// Reads one byte, no matter how wide the store was that wrote it.
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

/// The reason why no single value of a read is valid on all paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missing {
    /// Several stores wrote the bytes, or none did. Reading each byte separately may still succeed.
    Split,
    /// Stores to unknown regions, or too many stores, may have written the bytes.
    Unknown,
}
