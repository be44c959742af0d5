//! Describes the packets that arrive in a rehearsal, and changes packets so that given facts hold.

use slowpath_ir::{Field, PacketFacts};

use crate::random::Random;

/// Maximum number of passes over the facts. Several passes are needed because a change that makes
/// one fact hold may violate another one.
const MAX_PASSES: usize = 4;

/// A description of the packets that arrive at the first program of the chain.
#[derive(Clone, Copy, Debug)]
pub struct Packets<'a> {
    /// Seed packets of at least 14 bytes, which should pass the upstream programs.
    pub seeds: &'a [Vec<u8>],
    /// Facts that hold for all arriving packets. Generated packets are changed so that the facts
    /// hold; `None` if any packet may arrive. The facts do not apply to packets that bypass the
    /// upstream programs.
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

/// Changes a packet as little as possible so that the facts hold for it. Returns `None` if this is
/// not possible.
pub fn adapt_to_facts(
    facts: &PacketFacts,
    mut packet: Vec<u8>,
    random: &mut Random,
) -> Option<Vec<u8>> {
    let PacketFacts { min_length, max_length, bits, values, equal } = facts;
    packet.truncate((*max_length).into());
    while packet.len() < usize::from(*min_length) {
        packet.push(random.bits() as u8);
    }
    for _ in 0..MAX_PASSES {
        if facts.hold(&packet) {
            return Some(packet);
        }
        for &(first, second) in equal {
            copy(&mut packet, first, second);
        }
        for (&field, values) in values {
            let holds = field.read(&packet).is_none_or(|value| values.contains(&value));
            let value = values.iter().nth(random.below(values.len()));
            if let (false, Some(&value)) = (holds, value) {
                write(&mut packet, field, value);
            }
        }
        for (&offset, bits) in bits {
            if let Some(byte) = packet.get_mut(usize::from(offset)) {
                *byte = *byte & !bits.mask | bits.value;
            }
        }
        // Copy fixed bits of the second of two equal fields to the first one.
        for &(first, second) in equal {
            copy(&mut packet, second, first);
        }
    }
    facts.hold(&packet).then_some(packet)
}

/// Copies one field of a packet to another. Does nothing if the packet does not contain both.
fn copy(packet: &mut [u8], from: Field, to: Field) {
    if let (Some(value), Some(_)) = (from.read(packet), to.read(packet)) {
        write(packet, to, value);
    }
}

/// Writes a number into a field of a packet, in network byte order.
fn write(packet: &mut [u8], field: Field, value: u64) {
    let bytes = value.to_be_bytes();
    let low = &bytes[bytes.len().saturating_sub(field.bytes.into())..];
    if let Some(target) = packet.get_mut(usize::from(field.offset)..field.end()) {
        target.copy_from_slice(low);
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
    fn any_packet_can_be_adapted() {
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
    fn a_packet_with_these_facts_is_unchanged() {
        let (facts, mut random) = (facts(), Random::new(3));
        let once = adapt_to_facts(&facts, vec![0; 60], &mut random).expect("there is one");
        assert_eq!(adapt_to_facts(&facts, once.clone(), &mut random), Some(once));
    }

    #[test]
    fn contradictory_facts_yield_no_packet() {
        let mut facts = facts();
        facts.bits.insert(27, KnownBits::all(8));
        assert_eq!(adapt_to_facts(&facts, vec![0; 60], &mut Random::new(3)), None);
    }
}
