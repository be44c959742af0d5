//! Tests of the conversion from numbers and bytes to keys and values.

use std::collections::HashMap;

use slowpath_ir::RegionId;

use super::{Bytes, Element, Interned, PartialValue};
use crate::lift::{Keying, MapLayout};
use crate::maps::MapKind;

const VALUES: RegionId = RegionId(3);
const PRESENT: RegionId = RegionId(4);

fn hash(key_size: u32, keying: Keying) -> MapLayout {
    MapLayout {
        name: "flows".into(),
        kind: MapKind::HASH,
        key_size,
        value_size: 4,
        keying,
        values: VALUES,
        element_bits: 3,
        present: Some(PRESENT),
        identity: None,
        moved: None,
        first_access: None,
        prefix_lengths: None,
        free_elements: None,
        fill: None,
        sizes: None,
        max_entries: 0,
        inner: false,
    }
}

/// Assigns numbers to the words of a map key, as a lifted program does with `BinaryOp::Intern`.
/// Each pair of the previous number and the next word gets a number. Returns the numbers of all
/// pairs, and the last number, which stands for the whole key.
fn intern(words: &[u64]) -> (Interned, u32) {
    let mut interned = HashMap::new();
    let mut number = 100;
    interned.insert((words[0], words.get(1).copied().unwrap_or(0)), number);
    for &next in words.iter().skip(2) {
        interned.insert((u64::from(number), next), number + 1);
        number += 1;
    }
    (interned, number)
}

#[test]
fn keys_of_every_length_are_restored() {
    for size in 5..=40usize {
        let key: Vec<u8> = (1..=size as u8).collect();
        let words: Vec<u64> = key
            .chunks(8)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            })
            .collect();
        let (interned, number) = intern(&words);
        let bytes = Bytes::from([((PRESENT, number.into()), 1)]);
        let elements = hash(size as u32, Keying::Interned).elements(&bytes, &interned);
        assert_eq!(elements.len(), 1);
        assert_eq!(elements[0].key.as_ref(), Some(&key), "{size} bytes");
        assert_eq!(elements[0].present, Some(true));
    }
}

#[test]
fn values_and_absence_of_elements() {
    let bytes = Bytes::from([
        ((PRESENT, 7), 0),
        ((PRESENT, 9), 1),
        ((VALUES, (9 << 3) + 1), 0xab),
        // An element that no lookup accessed.
        ((VALUES, 11 << 3), 0xcd),
    ]);
    let element = |number: u64, present, known: &[(u32, u8)]| Element {
        number,
        key: Some((number as u16).to_le_bytes().to_vec()),
        map_address: None,
        inner_map: None,
        present,
        value: PartialValue { size: 4, known: known.iter().copied().collect() },
    };
    let expected = vec![
        element(7, Some(false), &[]),
        element(9, Some(true), &[(1, 0xab)]),
        element(11, None, &[(0, 0xcd)]),
    ];
    assert_eq!(hash(2, Keying::Number).elements(&bytes, &HashMap::new()), expected);
}

#[test]
fn an_unknown_number_has_no_key() {
    let bytes = Bytes::from([((PRESENT, 5), 1)]);
    let elements = hash(12, Keying::Interned).elements(&bytes, &HashMap::new());
    assert_eq!(elements[0].key, None);
}

#[test]
fn large_values_store_only_known_bytes() {
    let large = MapLayout { value_size: u32::MAX, element_bits: 32, ..hash(2, Keying::Number) };
    let start = 9u64 << 32;
    let bytes = Bytes::from([
        ((VALUES, start + 3), 1),
        ((VALUES, start + 4), 2),
        ((VALUES, start + 0xffff_fffe), 3),
    ]);
    let elements = large.elements(&bytes, &HashMap::new());
    assert_eq!(elements[0].value.runs(), [(3, vec![1, 2]), (0xffff_fffe, vec![3])]);
}

#[test]
fn moved_values_are_at_their_new_position() {
    const MOVED: RegionId = RegionId(5);
    let layout = MapLayout { moved: Some(MOVED), ..hash(2, Keying::Number) };
    let place = 1u64 << 32 | 9;
    let moved = 7 ^ place;
    let mut bytes = Bytes::from([((PRESENT, 7), 1), ((VALUES, place << 3), 0xab)]);
    bytes.extend((0..8).map(|n| ((MOVED, (7 << 3) + n), (moved >> (8 * n)) as u8)));
    let elements = layout.elements(&bytes, &HashMap::new());
    assert_eq!(elements.len(), 1, "a place beyond all numbers is no element");
    assert_eq!(elements[0].value.runs(), [(0, vec![0xab])]);
}
