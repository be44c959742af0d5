//! What is read of symbolic memory for all paths at once, and why there may be no such value.

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Read {
    /// So many bytes that one store wrote.
    Slice(u8),
    /// One byte, whoever wrote it.
    Byte,
}

impl Read {
    /// How many bytes it is.
    pub fn bytes(self) -> u8 {
        match self {
            Read::Slice(bytes) => bytes,
            Read::Byte => 1,
        }
    }
}

/// Why a read has no value for all paths at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missing {
    /// Several stores wrote parts of it, or none did: its bytes may have values.
    Apart,
    /// Stores to unknown regions, or too many stores, may have written it.
    Hopeless,
}
