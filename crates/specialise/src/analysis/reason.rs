//! Which facts something rests on.

use std::ops::BitOr;

/// How many bytes of a packet facts are followed of.
pub(crate) const FOLLOWED: u16 = 256;

/// A set of facts: bytes of the packet, and its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reason {
    bytes: [u64; FOLLOWED as usize / 64],
    /// Whether the packet's length is among them.
    pub length: bool,
}

impl Reason {
    /// No fact.
    pub const NONE: Reason = Reason { bytes: [0; FOLLOWED as usize / 64], length: false };

    /// What is known of the packet's length.
    pub const LENGTH: Reason = Reason { length: true, ..Reason::NONE };

    /// What is known of the byte at an offset, which is followed.
    pub fn byte(offset: u16) -> Reason {
        let mut reason = Reason::NONE;
        if let Some(word) = reason.bytes.get_mut(usize::from(offset) / 64) {
            *word |= 1 << (offset % 64);
        }
        reason
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
        self.length |= other.length;
        self
    }
}
