//! The kinds of facts about packets, such as a minimum length or the known bits of a byte.

use slowpath_ir::Field;

/// A fact about the packets that leave a program, without its values: only its kind and the bytes
/// that it is about. Values are in the collected facts, such as
/// [`Discovery::facts`](super::Discovery::facts).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// Packets have at least a certain length.
    MinLength,
    /// Packets have at most a certain length.
    MaxLength,
    /// The headroom in front of the packet is in a certain range.
    HeadRoom,
    /// The length of the metadata in front of the packet is in a certain range.
    Metadata,
    /// Some bits of the byte at this offset have known values.
    Bits(u16),
    /// The field has one of a few values.
    Values(Field),
    /// The two fields are equal.
    Equal(Field, Field),
}
