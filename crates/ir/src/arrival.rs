//! What is known of every packet that arrives at a program: facts that hold before its first
//! instruction, whichever packet it is.
//!
//! Facts are about single packets and speak of their bytes and length only, so that a few
//! comparisons at a program's entry can check them. They form a lattice: [`PacketFacts::join`] is
//! what holds of packets of either kind, [`PacketFacts::meet`] of packets of both.

use std::collections::{BTreeMap, BTreeSet};

/// Some bits of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KnownBits {
    /// The bits that are known; not all are zero.
    pub mask: u8,
    /// What they are; the others are zero.
    pub value: u8,
}

impl KnownBits {
    /// The bits of `mask` in a byte; `None` if the mask is empty.
    pub fn of(mask: u8, byte: u8) -> Option<KnownBits> {
        (mask != 0).then_some(KnownBits { mask, value: byte & mask })
    }

    /// All bits.
    pub fn all(byte: u8) -> KnownBits {
        KnownBits { mask: u8::MAX, value: byte }
    }

    /// The byte, if all its bits are known.
    pub fn constant(self) -> Option<u8> {
        (self.mask == u8::MAX).then_some(self.value)
    }

    /// Whether a byte has these bits.
    pub fn holds(self, byte: u8) -> bool {
        byte & self.mask == self.value
    }

    /// The bits that are the same in both.
    fn join(self, other: KnownBits) -> Option<KnownBits> {
        KnownBits::of(self.mask & other.mask & !(self.value ^ other.value), self.value)
    }
}

/// Bytes of a packet that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Field {
    /// Where they begin, in bytes from the packet's first one.
    pub offset: u16,
    /// How many they are, 1 to 8.
    pub bytes: u8,
}

impl Field {
    /// The byte behind the last one.
    pub fn end(self) -> usize {
        usize::from(self.offset) + usize::from(self.bytes)
    }

    /// The field's number in a packet, in network byte order; `None` if it is not all there.
    pub fn read(self, packet: &[u8]) -> Option<u64> {
        let bytes = packet.get(usize::from(self.offset)..self.end())?;
        Some(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }
}

/// What holds for every packet that arrives. Of bytes that a packet is too short for, nothing is
/// said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketFacts {
    /// The least length in bytes, without the frame check sequence.
    pub min_length: u16,
    /// The greatest length in bytes, without the frame check sequence.
    pub max_length: u16,
    /// Bits that always have the same value, by the offset of their byte.
    pub bits: BTreeMap<u16, KnownBits>,
    /// Fields that have one of a few values, in network byte order.
    pub values: BTreeMap<Field, BTreeSet<u64>>,
    /// Fields of equal length that are equal; the first begins before the second.
    pub equal: BTreeSet<(Field, Field)>,
}

impl PacketFacts {
    /// Only a range of lengths, in bytes.
    pub fn lengths(min_length: u16, max_length: u16) -> PacketFacts {
        PacketFacts {
            min_length,
            max_length,
            bits: BTreeMap::new(),
            values: BTreeMap::new(),
            equal: BTreeSet::new(),
        }
    }

    /// The byte at an offset, if all its bits are known.
    pub fn byte(&self, offset: u16) -> Option<u8> {
        self.bits.get(&offset)?.constant()
    }

    /// The number in a field, in network byte order, if all its bytes are known.
    pub fn constant(&self, field: Field) -> Option<u64> {
        let mut number = 0;
        for offset in usize::from(field.offset)..field.end() {
            number = number << 8 | u64::from(self.byte(u16::try_from(offset).ok()?)?);
        }
        Some(number)
    }

    /// Whether they say more than a range of lengths.
    pub fn says_more_than_length(&self) -> bool {
        !(self.bits.is_empty() && self.values.is_empty() && self.equal.is_empty())
    }

    /// Whether they hold for a packet.
    pub fn hold(&self, packet: &[u8]) -> bool {
        let length = usize::from(self.min_length)..=usize::from(self.max_length);
        let bits = |(&offset, bits): (&u16, &KnownBits)| {
            packet.get(usize::from(offset)).is_none_or(|&byte| bits.holds(byte))
        };
        let values = |(field, values): (&Field, &BTreeSet<u64>)| {
            field.read(packet).is_none_or(|number| values.contains(&number))
        };
        let equal = |(first, second): &(Field, Field)| {
            let read = (first.read(packet), second.read(packet));
            !matches!(read, (Some(first), Some(second)) if first != second)
        };
        length.contains(&packet.len())
            && self.bits.iter().all(bits)
            && self.values.iter().all(values)
            && self.equal.iter().all(equal)
    }

    /// What holds for packets of which either holds: of arrivals over one of two ways.
    #[must_use]
    pub fn join(&self, other: &PacketFacts) -> PacketFacts {
        let bits = self
            .bits
            .iter()
            .filter_map(|(&offset, bits)| Some((offset, bits.join(*other.bits.get(&offset)?)?)));
        let values = self
            .values
            .iter()
            .filter_map(|(&field, values)| Some((field, values | other.values.get(&field)?)));
        PacketFacts {
            min_length: self.min_length.min(other.min_length),
            max_length: self.max_length.max(other.max_length),
            bits: bits.collect(),
            values: values.collect(),
            equal: &self.equal & &other.equal,
        }
    }

    /// What holds for packets of which both hold; `None` if there are none.
    #[must_use]
    pub fn meet(&self, other: &PacketFacts) -> Option<PacketFacts> {
        let mut facts = self.clone();
        facts.min_length = self.min_length.max(other.min_length);
        facts.max_length = self.max_length.min(other.max_length);
        for (&offset, &more) in &other.bits {
            let known = facts.bits.entry(offset).or_insert(more);
            if (known.value ^ more.value) & known.mask & more.mask != 0 {
                return None;
            }
            *known = KnownBits { mask: known.mask | more.mask, value: known.value | more.value };
        }
        for (&field, more) in &other.values {
            let known = facts.values.entry(field).or_insert_with(|| more.clone());
            *known = &*known & more;
            if known.is_empty() {
                return None;
            }
        }
        facts.equal = &facts.equal | &other.equal;
        (facts.min_length <= facts.max_length).then_some(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> PacketFacts {
        let mut facts = PacketFacts::lengths(60, 1500);
        facts.bits.insert(12, KnownBits::all(0x86));
        facts.bits.insert(13, KnownBits::all(0xdd));
        facts.bits.insert(14, KnownBits { mask: 0xf0, value: 0x60 });
        facts.values.insert(Field { offset: 20, bytes: 1 }, BTreeSet::from([6, 17]));
        facts
    }

    #[test]
    fn a_field_of_known_bytes_is_a_number_in_network_order() {
        assert_eq!(facts().constant(Field { offset: 12, bytes: 2 }), Some(0x86dd));
        assert_eq!(facts().constant(Field { offset: 13, bytes: 2 }), None);
    }

    #[test]
    fn joined_facts_are_those_of_both() {
        let mut other = facts();
        other.min_length = 74;
        other.bits.insert(13, KnownBits::all(0xdc));
        other.bits.remove(&14);
        other.values.insert(Field { offset: 20, bytes: 1 }, BTreeSet::from([6, 58]));
        let joined = facts().join(&other);
        assert_eq!(joined.min_length, 60);
        assert_eq!(joined.bits[&13], KnownBits { mask: 0xfe, value: 0xdc });
        assert!(!joined.bits.contains_key(&14));
        assert_eq!(joined.values[&Field { offset: 20, bytes: 1 }], BTreeSet::from([6, 17, 58]));
        assert_eq!(joined, other.join(&facts()));
    }

    #[test]
    fn facts_that_contradict_each_other_hold_for_no_packet() {
        let mut other = PacketFacts::lengths(60, 1500);
        other.bits.insert(14, KnownBits { mask: 0x10, value: 0x10 });
        assert_eq!(facts().meet(&other), None);
        other.bits.insert(14, KnownBits { mask: 0x0f, value: 0x05 });
        let both = facts().meet(&other).expect("they go together");
        assert_eq!(both.byte(14), Some(0x65));
        assert_eq!(PacketFacts::lengths(60, 70).meet(&PacketFacts::lengths(80, 90)), None);
    }

    #[test]
    fn facts_hold_for_packets_that_are_too_short_for_them() {
        let mut facts = PacketFacts::lengths(2, 4);
        facts.bits.insert(3, KnownBits::all(7));
        assert!(facts.hold(&[0, 0]) && facts.hold(&[0, 0, 0, 7]));
        assert!(!facts.hold(&[0, 0, 0, 6]) && !facts.hold(&[0]));
    }
}
