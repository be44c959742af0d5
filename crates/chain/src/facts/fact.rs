//! Kinds of facts.

use slowpath_ir::Field;

/// One of the facts about packets that leave.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// Minimum length.
    MinLength,
    /// Maximum length.
    MaxLength,
    /// Range of the headroom.
    HeadRoom,
    /// Range of the length of the metadata.
    Metadata,
    /// Known bits of the byte at an offset.
    Bits(u16),
    /// The values of a field.
    Values(Field),
    /// Two fields are equal.
    Equal(Field, Field),
}
