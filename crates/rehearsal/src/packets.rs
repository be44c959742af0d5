//! Seeds of a rehearsal, and the facts that hold for all arriving packets.

use slowpath_ir::{Field, PacketFacts};

use crate::random::Random;

/// Most passes over the facts; establishing one fact may violate another.
const PASSES: usize = 4;

/// The packets that arrive at the first program.
#[derive(Clone, Copy, Debug)]
pub struct Packets<'a> {
    /// Seed packets of at least 14 bytes, which are known to get through.
    pub seeds: &'a [Vec<u8>],
    /// Facts about all arriving packets, to which generated packets are adapted; without facts, any
    /// packet may arrive. They do not apply to packets that go to the two programs directly.
    pub facts: Option<&'a PacketFacts>,
}

impl<'a> From<&'a [Vec<u8>]> for Packets<'a> {
    fn from(seeds: &'a [Vec<u8>]) -> Self {
        Packets { seeds, facts: None }
    }
}

impl<'a, const N: usize> From<&'a [Vec<u8>; N]> for Packets<'a> {
    fn from(seeds: &'a [Vec<u8>; N]) -> Self {
        Packets::from(&seeds[..])
    }
}

impl<'a> From<&'a Vec<Vec<u8>>> for Packets<'a> {
    fn from(seeds: &'a Vec<Vec<u8>>) -> Self {
        Packets::from(&seeds[..])
    }
}

/// Changes a packet as little as possible so that the facts hold; `None` if that fails.
pub fn adapt_to_facts(
    facts: &PacketFacts,
    mut packet: Vec<u8>,
    random: &mut Random,
) -> Option<Vec<u8>> {
    packet.truncate(facts.max_length.into());
    while packet.len() < usize::from(facts.min_length) {
        packet.push(random.bits() as u8);
    }
    for _ in 0..PASSES {
        if facts.hold(&packet) {
            return Some(packet);
        }
        for &(first, second) in &facts.equal {
            copy(&mut packet, first, second);
        }
        for (&field, values) in &facts.values {
            let is_one = field.read(&packet).is_none_or(|value| values.contains(&value));
            let value = values.iter().nth(random.below(values.len()));
            if let (false, Some(&value)) = (is_one, value) {
                write(&mut packet, field, value);
            }
        }
        for (&offset, bits) in &facts.bits {
            if let Some(byte) = packet.get_mut(usize::from(offset)) {
                *byte = *byte & !bits.mask | bits.value;
            }
        }
        // Fixed bits of the second of two equal fields must also be in the first.
        for &(first, second) in &facts.equal {
            copy(&mut packet, second, first);
        }
    }
    facts.hold(&packet).then_some(packet)
}

/// Copies one field of a packet to another, if the packet has both.
fn copy(packet: &mut [u8], from: Field, to: Field) {
    if let (Some(value), Some(_)) = (from.read(packet), to.read(packet)) {
        write(packet, to, value);
    }
}

/// Writes a number in network byte order.
fn write(packet: &mut [u8], field: Field, value: u64) {
    let bytes = value.to_be_bytes();
    let own = &bytes[bytes.len().saturating_sub(field.bytes.into())..];
    if let Some(place) = packet.get_mut(usize::from(field.offset)..field.end()) {
        place.copy_from_slice(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_ir::KnownBits;
    use std::collections::BTreeSet;

    fn field(offset: u16, bytes: u8) -> Field {
        Field { offset, bytes }
    }

    fn facts() -> PacketFacts {
        let mut facts = PacketFacts::lengths(34, 60);
        facts.bits.insert(12, KnownBits::all(8));
        facts.bits.insert(14, KnownBits { mask: 0xf0, value: 0x40 });
        facts.bits.insert(31, KnownBits::all(7));
        facts.values.insert(field(23, 1), BTreeSet::from([6, 17]));
        facts.values.insert(field(50, 2), BTreeSet::from([80, 443]));
        facts.equal.insert((field(26, 4), field(30, 4)));
        facts
    }

    #[test]
    fn any_packet_is_made_to_be_like_that() {
        let (facts, mut random) = (facts(), Random::new(3));
        let mut lengths = BTreeSet::new();
        let mut protocols = BTreeSet::new();
        for _ in 0..2000 {
            let length = 14 + random.below(100);
            let packet: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
            let made = adapt_to_facts(&facts, packet.clone(), &mut random).expect("there is one");
            assert!(facts.hold(&made), "{made:?}");
            assert_eq!(made.get(..12), packet.get(..12), "of which nothing is known");
            lengths.insert(made.len());
            protocols.insert(made[23]);
        }
        assert_eq!((lengths.first(), lengths.last()), (Some(&34), Some(&60)));
        assert_eq!(protocols, BTreeSet::from([6, 17]));
    }

    #[test]
    fn a_packet_that_is_like_that_stays_as_it_is() {
        let (facts, mut random) = (facts(), Random::new(3));
        let once = adapt_to_facts(&facts, vec![0; 60], &mut random).expect("there is one");
        assert_eq!(adapt_to_facts(&facts, once.clone(), &mut random), Some(once));
    }

    #[test]
    fn where_no_packet_is_like_that_there_is_none() {
        let mut facts = facts();
        facts.bits.insert(27, KnownBits::all(8));
        assert_eq!(adapt_to_facts(&facts, vec![0; 60], &mut Random::new(3)), None);
    }
}
