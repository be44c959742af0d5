//! Finds the facts that still hold for packets after they have crossed a network to another device.
//! Facts about bytes that the network may change are dropped. Facts about bytes after the end of
//! short packets are dropped as well, because interfaces may pad short packets.

use super::{LEAST_PACKET, any_packet};
use slowpath::Network;
use slowpath_ir::{Field, PacketFacts};
use std::collections::BTreeSet;

/// Size in bytes of the shortest Ethernet frame without its checksum (IEEE 802.3, 3.2.8).
const SHORTEST: u16 = 60;
/// Offset in bytes of the type field of an Ethernet frame. A VLAN tag ([`TAG`] bytes) moves this
/// field and all later ones.
const TYPE: u16 = 12;
const TAG: u16 = 4;
/// Offsets of bytes that routers change in an Ethernet frame: time to live and checksum of IPv4,
/// and hop limit of IPv6.
const IPV4: [u16; 3] = [14 + 8, 14 + 10, 14 + 11];
const IPV6: [u16; 1] = [14 + 7];

/// Flags that tell whether the programs at the two ends of a network support packets in several
/// fragments. A program with this support sees only the first fragment, whose length depends on the
/// device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fragments {
    /// True if the program on the sending side of the network supports fragments.
    pub before: bool,
    /// True if the program on the receiving side of the network supports fragments.
    pub behind: bool,
}

/// Returns the facts that hold for packets after they have crossed `network`. `facts` contains the
/// facts that hold before the network.
pub fn after_network(facts: &PacketFacts, network: &Network, fragments: Fragments) -> PacketFacts {
    let mut changed: BTreeSet<u16> = network.changes.iter().flat_map(Clone::clone).collect();
    if network.routes {
        changed.extend(routed(facts));
    }
    // All kinds of facts are listed, so that none is forgotten that the network may change.
    let PacketFacts { mut min_length, mut max_length, mut bits, mut values, mut equal } =
        facts.clone();
    if min_length < SHORTEST {
        changed.extend(min_length..SHORTEST);
        max_length = max_length.max(SHORTEST);
    }
    if fragments.before {
        // Packets can be longer than the first fragment, with any bytes after it.
        changed.extend(min_length..=u16::MAX);
        max_length = any_packet().max_length;
    }
    if fragments.behind {
        min_length = LEAST_PACKET;
    }
    let stays = |field: &Field| {
        let end = u16::try_from(field.end()).unwrap_or(u16::MAX);
        changed.range(field.offset..end).next().is_none()
    };
    bits.retain(|offset, _| !changed.contains(offset));
    values.retain(|field, _| stays(field));
    equal.retain(|(first, second)| stays(first) && stays(second));
    PacketFacts { min_length, max_length, bits, values, equal }
}

/// Returns the offsets of all bytes that a router may change in a packet for which the facts hold.
fn routed(facts: &PacketFacts) -> BTreeSet<u16> {
    let mut changed = BTreeSet::new();
    for skipped in [0, TAG, 2 * TAG] {
        let offset = TYPE + skipped;
        let frame_type = facts.constant(Field { offset, bytes: 2 });
        let (four, six, tagged) = match frame_type {
            Some(0x0800) => (true, false, false),
            Some(0x86dd) => (false, true, false),
            Some(0x8100 | 0x88a8) => (false, false, true),
            Some(_) => (false, false, false),
            None => (true, true, true),
        };
        changed.extend(IPV4.iter().filter(|_| four).map(|at| at + skipped));
        changed.extend(IPV6.iter().filter(|_| six).map(|at| at + skipped));
        if !tagged {
            break;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_ir::KnownBits;

    fn facts() -> PacketFacts {
        let mut facts = PacketFacts::lengths(74, 1500);
        for (offset, byte) in [(0, 2), (12, 0x86), (13, 0xdd), (21, 64), (22, 1), (54, 6)] {
            facts.bits.insert(offset, KnownBits::all(byte));
        }
        facts.equal.insert((Field { offset: 0, bytes: 6 }, Field { offset: 6, bytes: 6 }));
        facts
    }

    #[test]
    fn what_the_network_changes_is_not_known() {
        let addresses = 0..12;
        let network = Network { changes: Vec::from([addresses]), routes: true };
        let left = after_network(&facts(), &network, Fragments::default());
        assert_eq!(left.bits.keys().copied().collect::<Vec<_>>(), [12, 13, 22, 54]);
        assert!(left.equal.is_empty());
        assert_eq!((left.min_length, left.max_length), (74, 1500));
    }

    #[test]
    fn where_the_protocol_is_not_known_anything_a_router_changes_is_not() {
        let mut facts = facts();
        facts.bits.remove(&13);
        let left = after_network(
            &facts,
            &Network { changes: Vec::new(), routes: true },
            Fragments::default(),
        );
        assert_eq!(left.bits.keys().copied().collect::<Vec<_>>(), [0, 12, 54]);
    }

    #[test]
    fn padding_is_not_known() {
        let mut facts = facts();
        facts.min_length = 20;
        facts.max_length = 50;
        let left = after_network(&facts, &Network::default(), Fragments::default());
        assert_eq!((left.min_length, left.max_length), (20, 60));
        assert_eq!(left.bits.keys().copied().collect::<Vec<_>>(), [0, 12, 13]);
    }

    #[test]
    fn only_what_was_in_the_first_fragment_is_known() {
        let before = Fragments { before: true, behind: false };
        let left = after_network(&facts(), &Network::default(), before);
        assert_eq!((left.min_length, left.max_length), (74, any_packet().max_length));
        assert_eq!(left.bits.len(), facts().bits.len());
        let mut short = facts();
        short.min_length = 60;
        short.bits.insert(70, KnownBits::all(1));
        let left = after_network(&short, &Network::default(), before);
        assert!(left.bits.contains_key(&54) && !left.bits.contains_key(&70));
        let behind = Fragments { before: false, behind: true };
        let left = after_network(&facts(), &Network::default(), behind);
        assert_eq!((left.min_length, left.max_length), (any_packet().min_length, 1500));
        assert_eq!(left.bits.len(), facts().bits.len());
    }
}
