//! Describes facts that hold for every packet that reaches a program, before the program's first
//! instruction.
//!
//! Each fact concerns only the bytes and the length of one packet, so a few comparisons at a
//! program's entry can check it. Facts form a lattice: [`PacketFacts::join`] keeps the facts that
//! hold for the packets of both operands; [`PacketFacts::meet`] combines the facts of both.

use std::collections::{BTreeMap, BTreeSet};

/// The bits of a packet byte whose values are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KnownBits {
    /// Mask of the known bits; not zero.
    pub mask: u8,
    /// Values of the known bits; all other bits are zero.
    pub value: u8,
}

impl KnownBits {
    /// Returns the known bits of a byte: `mask` selects their positions and `byte` contains their
    /// values. Returns `None` if the mask is zero.
    pub fn of(mask: u8, byte: u8) -> Option<KnownBits> {
        (mask != 0).then_some(KnownBits { mask, value: byte & mask })
    }

    /// Returns a byte with all bits known.
    pub fn all(byte: u8) -> KnownBits {
        KnownBits { mask: u8::MAX, value: byte }
    }

    /// Returns the byte if all its bits are known, otherwise `None`.
    pub fn constant(self) -> Option<u8> {
        (self.mask == u8::MAX).then_some(self.value)
    }

    /// Returns true if `byte` has the values of the known bits.
    pub fn holds(self, byte: u8) -> bool {
        byte & self.mask == self.value
    }

    /// Returns the bits that are known and equal in both operands; `None` if there are none.
    fn join(self, other: KnownBits) -> Option<KnownBits> {
        KnownBits::of(self.mask & other.mask & !(self.value ^ other.value), self.value)
    }
}

/// A byte range of a packet, which can be read as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Field {
    /// Offset in bytes from the packet's first byte.
    pub offset: u16,
    /// Number of bytes, 1 to 8.
    pub bytes: u8,
}

impl Field {
    /// Returns the offset of the first byte after the field.
    pub fn end(self) -> usize {
        usize::from(self.offset) + usize::from(self.bytes)
    }

    /// Reads the field of a packet as a number in network byte order; `None` if the packet is too
    /// short.
    pub fn read(self, packet: &[u8]) -> Option<u64> {
        let bytes = packet.get(usize::from(self.offset)..self.end())?;
        Some(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }
}

/// Facts that hold for every packet that reaches a program. Facts about bytes apply only to packets
/// that are long enough to have these bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketFacts {
    /// Minimum length of the packets in bytes, without the frame check sequence.
    pub min_length: u16,
    /// Maximum length of the packets in bytes, without the frame check sequence.
    pub max_length: u16,
    /// Bits that have the same value in all packets. The key is the offset of the byte from the
    /// packet's start.
    pub bits: BTreeMap<u16, KnownBits>,
    /// Fields, each with all its possible values, read in network byte order.
    pub values: BTreeMap<Field, BTreeSet<u64>>,
    /// Pairs of fields of the same size with equal values; the first field starts before the
    /// second.
    pub equal: BTreeSet<(Field, Field)>,
}

impl PacketFacts {
    /// Returns facts that limit only the length of packets, in bytes.
    pub fn lengths(min_length: u16, max_length: u16) -> PacketFacts {
        PacketFacts {
            min_length,
            max_length,
            bits: BTreeMap::new(),
            values: BTreeMap::new(),
            equal: BTreeSet::new(),
        }
    }

    /// Returns the packet byte at an offset if all its bits are known, otherwise `None`.
    pub fn byte(&self, offset: u16) -> Option<u8> {
        self.bits.get(&offset)?.constant()
    }

    /// Returns the value of a field, read in network byte order; `None` unless all its bytes are
    /// known.
    pub fn constant(&self, field: Field) -> Option<u64> {
        let mut number = 0;
        for offset in usize::from(field.offset)..field.end() {
            number = number << 8 | u64::from(self.byte(u16::try_from(offset).ok()?)?);
        }
        Some(number)
    }

    /// Returns true if the facts also restrict the bytes of packets, not only their length.
    pub fn says_more_than_length(&self) -> bool {
        let PacketFacts { min_length: _, max_length: _, bits, values, equal } = self;
        !(bits.is_empty() && values.is_empty() && equal.is_empty())
    }

    /// Returns true if a packet satisfies all facts.
    pub fn hold(&self, packet: &[u8]) -> bool {
        let PacketFacts { min_length, max_length, bits, values, equal } = self;
        let length = usize::from(*min_length)..=usize::from(*max_length);
        let has_bits = |(&offset, bits): (&u16, &KnownBits)| {
            packet.get(usize::from(offset)).is_none_or(|&byte| bits.holds(byte))
        };
        let has_value = |(field, values): (&Field, &BTreeSet<u64>)| {
            field.read(packet).is_none_or(|number| values.contains(&number))
        };
        let are_equal = |(first, second): &(Field, Field)| {
            let read = (first.read(packet), second.read(packet));
            !matches!(read, (Some(first), Some(second)) if first != second)
        };
        length.contains(&packet.len())
            && bits.iter().all(has_bits)
            && values.iter().all(has_value)
            && equal.iter().all(are_equal)
    }

    /// Returns the facts that hold both for the packets of `self` and for those of `other`. Used
    /// where packets can reach a program from two different programs.
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

    /// Returns facts that contain all facts of `self` and `other`; `None` if the two contradict
    /// each other.
    #[must_use]
    pub fn meet(&self, other: &PacketFacts) -> Option<PacketFacts> {
        let mut facts = self.clone();
        let PacketFacts { min_length, max_length, bits, values, equal } = other;
        facts.min_length = facts.min_length.max(*min_length);
        facts.max_length = facts.max_length.min(*max_length);
        for (&offset, &more) in bits {
            let known = facts.bits.entry(offset).or_insert(more);
            if (known.value ^ more.value) & known.mask & more.mask != 0 {
                return None;
            }
            *known = KnownBits { mask: known.mask | more.mask, value: known.value | more.value };
        }
        for (&field, more) in values {
            let known = facts.values.entry(field).or_insert_with(|| more.clone());
            *known = &*known & more;
            if known.is_empty() {
                return None;
            }
        }
        facts.equal = &facts.equal | equal;
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
    fn joined_facts_hold_for_packets_of_both() {
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
