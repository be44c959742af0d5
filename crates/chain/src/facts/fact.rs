//! The kinds of facts about packets, such as a minimum length or the known bits of a byte.

use slowpath_ir::Field;

/// A fact about the packets that leave a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// Minimum length of packets.
    MinLength,
    /// Maximum length of packets.
    MaxLength,
    /// Range of the headroom.
    HeadRoom,
    /// Range of the length of the metadata.
    Metadata,
    /// Known bits of the byte at an offset.
    Bits(u16),
    /// Possible values of a field.
    Values(Field),
    /// Equality of two fields.
    Equal(Field, Field),
}
