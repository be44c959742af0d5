//! Sets of facts about packets and maps on which a result of the analysis depends.

use std::ops::BitOr;

/// Number of bytes at the start of the packet about which a fact set can contain facts.
pub(crate) const FOLLOWED: u16 = 256;

/// Maximum number of packet fields with a list of possible values that a fact set can contain: one
/// per bit of its mask.
pub(crate) const FIELDS: usize = u64::BITS as usize;

/// A set of facts that the analysis was given. The facts are about packet bytes, fields with few
/// possible values, the packet length, buffer space around the packet, and map contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FactSet {
    bytes: [u64; FOLLOWED as usize / 64],
    /// Bit mask of packet fields with a list of possible values. Bit `n` stands for the field with
    /// index `n` in the list of these fields.
    fields: u64,
    /// True if the set contains the fact about the minimum and maximum packet length.
    pub length: bool,
    /// True if the set contains the facts about the buffer space around the packet.
    pub buffer_space: bool,
    /// Bit mask of maps. Bit `n` is set if the set contains the known content of the map with index
    /// `n`.
    maps: u64,
}

impl FactSet {
    pub const NONE: FactSet = FactSet {
        bytes: [0; FOLLOWED as usize / 64],
        fields: 0,
        length: false,
        buffer_space: false,
        maps: 0,
    };

    /// The set that contains only the fact about the minimum and maximum packet length.
    pub const LENGTH: FactSet = FactSet { length: true, ..FactSet::NONE };

    /// The set that contains only the facts about the headroom and tailroom of the packet.
    pub const ROOM: FactSet = FactSet { buffer_space: true, ..FactSet::NONE };

    /// Returns the set that contains only the fact about the packet byte at an offset. Returns the
    /// empty set if the analysis does not track facts about this byte.
    pub fn byte(offset: u16) -> FactSet {
        let mut reason = FactSet::NONE;
        if let Some(word) = reason.bytes.get_mut(usize::from(offset) / 64) {
            *word |= 1 << (offset % 64);
        }
        reason
    }

    /// Returns the set that contains only the fact about the possible values of a packet field;
    /// `number` is the index of the field.
    pub fn field(number: usize) -> FactSet {
        FactSet { fields: 1 << (number % FIELDS), ..FactSet::NONE }
    }

    /// Lists the indices of the fields in the set, in ascending order.
    pub fn fields(self) -> impl Iterator<Item = usize> {
        (0..FIELDS).filter(move |number| self.fields >> number & 1 == 1)
    }

    /// Returns the set that contains only the fact about the content of the map with index
    /// `number`. Returns the empty set if the index is too large to be tracked.
    pub fn map(number: u32) -> FactSet {
        FactSet { maps: 1_u64.checked_shl(number).unwrap_or(0), ..FactSet::NONE }
    }

    /// Lists the indices of the maps in the set, in ascending order.
    pub fn maps(self) -> impl Iterator<Item = u32> {
        (0..u64::BITS).filter(move |number| self.maps >> number & 1 == 1)
    }

    /// Lists the offsets of the packet bytes in the set, in ascending order.
    pub fn bytes(self) -> impl Iterator<Item = u16> {
        let among =
            move |offset: &u16| self.bytes[usize::from(*offset) / 64] >> (offset % 64) & 1 == 1;
        (0..FOLLOWED).filter(among)
    }
}

impl BitOr for FactSet {
    type Output = FactSet;

    fn bitor(mut self, other: FactSet) -> FactSet {
        for (word, more) in self.bytes.iter_mut().zip(other.bytes) {
            *word |= more;
        }
        self.fields |= other.fields;
        self.length |= other.length;
        self.buffer_space |= other.buffer_space;
        self.maps |= other.maps;
        self
    }
}
