//! What lies around a packet when it arrives at a program: the room in front of it, and metadata in
//! that. Nothing in the packet tells; it is what programs before have left.

/// What is known of it, for every packet that arrives. Ranges are in bytes, with both of their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// How far the packet's start can be moved outwards where there is no metadata. Of packets that
    /// leave less in a page, there is as much as they leave.
    pub head_room: (u16, u16),
    /// How long the metadata is that lies in this room, right in front of the packet: whole words of 4
    /// bytes.
    pub metadata: (u16, u16),
}

impl Surroundings {
    /// Longest metadata, in bytes (`xdp_metalen_invalid` of `include/net/xdp.h`).
    pub const MAX_METADATA: u16 = 252;

    /// Whatever there can be.
    pub const ANY: Surroundings =
        Surroundings { head_room: (0, u16::MAX), metadata: (0, Surroundings::MAX_METADATA) };

    /// What holds of packets of which either holds: of arrivals over one of two ways.
    #[must_use]
    pub fn join(self, other: Surroundings) -> Surroundings {
        let join = |a: (u16, u16), b: (u16, u16)| (a.0.min(b.0), a.1.max(b.1));
        Surroundings {
            head_room: join(self.head_room, other.head_room),
            metadata: join(self.metadata, other.metadata),
        }
    }

    /// The least and greatest number of words that metadata has.
    pub(super) fn words(self) -> (u64, u64) {
        let (least, most) = self.metadata;
        let most = most.min(Surroundings::MAX_METADATA) / 4;
        (u64::from(least.div_ceil(4).min(most)), most.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_surroundings_are_those_of_either() {
        let received = Surroundings { head_room: (216, 216), metadata: (0, 0) };
        let other = Surroundings { head_room: (184, 200), metadata: (4, 8) };
        let either = Surroundings { head_room: (184, 216), metadata: (0, 8) };
        assert_eq!((received.join(other), other.join(received)), (either, either));
        assert_eq!(either.join(Surroundings::ANY), Surroundings::ANY);
    }

    #[test]
    fn metadata_is_whole_words() {
        let of = |metadata| Surroundings { metadata, ..Surroundings::ANY }.words();
        assert_eq!((of((0, 0)), of((4, 8)), of((0, 252))), ((0, 0), (1, 2), (0, 63)));
        assert_eq!(of((5, 1000)), (2, 63));
    }
}
