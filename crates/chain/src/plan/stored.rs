//! Converts facts about packets to a form that the cache can store, and back.

use serde::{Deserialize, Serialize};
use slowpath_ir::{Field, KnownBits, PacketFacts};

/// The form in which the cache stores [`PacketFacts`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredFacts {
    min: u16,
    max: u16,
    /// Offset, mask and value of each packet byte with known bits.
    bits: Vec<(u16, u8, u8)>,
    /// Offset, size in bytes and possible values of each packet field with few values.
    values: Vec<(u16, u8, Vec<u64>)>,
    /// Offset and size in bytes of both fields, for each pair of packet fields with equal values.
    equal: Vec<((u16, u8), (u16, u8))>,
}

impl From<&PacketFacts> for StoredFacts {
    fn from(facts: &PacketFacts) -> StoredFacts {
        let PacketFacts { min_length, max_length, bits, values, equal } = facts;
        let place = |field: &Field| (field.offset, field.bytes);
        StoredFacts {
            min: *min_length,
            max: *max_length,
            bits: bits.iter().map(|(&at, bits)| (at, bits.mask, bits.value)).collect(),
            values: values
                .iter()
                .map(|(field, values)| {
                    (field.offset, field.bytes, values.iter().copied().collect())
                })
                .collect(),
            equal: equal.iter().map(|(first, second)| (place(first), place(second))).collect(),
        }
    }
}

impl From<&StoredFacts> for PacketFacts {
    fn from(stored: &StoredFacts) -> PacketFacts {
        let field = |(offset, bytes): (u16, u8)| Field { offset, bytes };
        let mut facts = PacketFacts::lengths(stored.min, stored.max);
        let known = |&(at, mask, value): &(u16, u8, u8)| Some((at, KnownBits::of(mask, value)?));
        facts.bits = stored.bits.iter().filter_map(known).collect();
        let values = stored.values.iter();
        facts.values = values
            .map(|(offset, bytes, values)| {
                (field((*offset, *bytes)), values.iter().copied().collect())
            })
            .collect();
        facts.equal = stored.equal.iter().map(|&(one, other)| (field(one), field(other))).collect();
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_kept_is_what_it_was() {
        let mut facts = PacketFacts::lengths(60, 1500);
        facts.bits.insert(12, KnownBits::all(0x86));
        facts.bits.insert(14, KnownBits { mask: 0xf0, value: 0x60 });
        let field = |offset| Field { offset, bytes: 2 };
        facts.values.insert(field(20), BTreeSet::from([6, u64::MAX]));
        facts.equal.insert((field(0), field(6)));
        let text = serde_json::to_string(&StoredFacts::from(&facts)).expect("plain data");
        let read: StoredFacts = serde_json::from_str(&text).expect("as it was written");
        assert_eq!(PacketFacts::from(&read), facts);
    }
}
