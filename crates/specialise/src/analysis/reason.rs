//! Which facts something rests on.

use std::ops::BitOr;

/// How many bytes of a packet facts are followed of.
pub(crate) const FOLLOWED: u16 = 256;

/// How many fields with few values are followed.
pub(crate) const FIELDS: usize = u64::BITS as usize;

/// A set of facts: bytes of the packet, fields with few values, its length, what lies
/// around it, content of maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reason {
    bytes: [u64; FOLLOWED as usize / 64],
    /// By their number in the order of the facts.
    fields: u64,
    /// Whether the packet's length is among them.
    pub length: bool,
    /// Whether what lies around the packet is.
    pub room: bool,
    /// The maps whose content is among them, one bit for each.
    maps: u64,
}

impl Reason {
    /// No fact.
    pub const NONE: Reason = Reason {
        bytes: [0; FOLLOWED as usize / 64],
        fields: 0,
        length: false,
        room: false,
        maps: 0,
    };

    /// What is known of the packet's length.
    pub const LENGTH: Reason = Reason { length: true, ..Reason::NONE };

    /// What is known to lie around it.
    pub const ROOM: Reason = Reason { room: true, ..Reason::NONE };

    /// What is known of the byte at an offset, which is followed.
    pub fn byte(offset: u16) -> Reason {
        let mut reason = Reason::NONE;
        if let Some(word) = reason.bytes.get_mut(usize::from(offset) / 64) {
            *word |= 1 << (offset % 64);
        }
        reason
    }

    /// What is known of the values of a field, by its number, which is followed.
    pub fn field(number: usize) -> Reason {
        Reason { fields: 1 << (number % FIELDS), ..Reason::NONE }
    }

    /// The numbers of the fields, ascending.
    pub fn fields(self) -> impl Iterator<Item = usize> {
        (0..FIELDS).filter(move |number| self.fields >> number & 1 == 1)
    }

    /// The content of the map with this number, if it is one that can be frozen.
    pub fn map(number: u32) -> Reason {
        Reason { maps: 1_u64.checked_shl(number).unwrap_or(0), ..Reason::NONE }
    }

    /// The numbers of the maps, ascending.
    pub fn maps(self) -> impl Iterator<Item = u32> {
        (0..u64::BITS).filter(move |number| self.maps >> number & 1 == 1)
    }

    /// The offsets of the bytes, ascending.
    pub fn bytes(self) -> impl Iterator<Item = u16> {
        let among =
            move |offset: &u16| self.bytes[usize::from(*offset) / 64] >> (offset % 64) & 1 == 1;
        (0..FOLLOWED).filter(among)
    }
}

impl BitOr for Reason {
    type Output = Reason;

    fn bitor(mut self, other: Reason) -> Reason {
        for (word, more) in self.bytes.iter_mut().zip(other.bytes) {
            *word |= more;
        }
        self.fields |= other.fields;
        self.length |= other.length;
        self.room |= other.room;
        self.maps |= other.maps;
        self
    }
}
