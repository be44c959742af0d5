//! The kinds of facts about packets, such as a minimum length or the known bits of a byte.

use slowpath_ir::Field;

/// A kind of fact about the packets that leave a program, with the bytes that it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// Packets have at least a certain length.
    MinLength,
    /// Packets have at most a certain length.
    MaxLength,
    /// The headroom is in a certain range.
    HeadRoom,
    /// The length of the metadata is in a certain range.
    Metadata,
    /// Some bits of the byte at this offset have known values.
    Bits(u16),
    /// This field has one of a few values.
    Values(Field),
    /// These two fields are equal.
    Equal(Field, Field),
}
