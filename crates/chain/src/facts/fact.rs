//! Facts by what they are about.

use slowpath_ir::Field;

/// One of the facts about packets that leave.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// The least length.
    MinLength,
    /// The greatest length.
    MaxLength,
    /// How much room there is in front.
    HeadRoom,
    /// How long the metadata is.
    Metadata,
    /// Bits of the byte at an offset.
    Bits(u16),
    /// The values of a field.
    Values(Field),
    /// Two fields are equal.
    Equal(Field, Field),
}
