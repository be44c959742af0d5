//! From numbers and bytes back to keys and values.

use std::collections::HashMap;

use slowpath_ir::RegionId;

use super::{Bytes, Element, Interned};
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
        inner: false,
    }
}

/// The numbers of a key's words, chained as the lifter does it, and the last of them.
fn chained(words: &[u64]) -> (Interned, u32) {
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
fn keys_of_every_length_come_back() {
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
        let (interned, number) = chained(&words);
        let bytes = Bytes::from([((PRESENT, number.into()), 1)]);
        let elements = hash(size as u32, Keying::Interned).elements(&bytes, &interned);
        assert_eq!(elements.len(), 1);
        assert_eq!(elements[0].key.as_ref(), Some(&key), "{size} bytes");
        assert_eq!(elements[0].present, Some(true));
    }
}

#[test]
fn values_know_their_bytes_and_elements_their_absence() {
    let bytes = Bytes::from([
        ((PRESENT, 7), 0),
        ((PRESENT, 9), 1),
        ((VALUES, (9 << 3) + 1), 0xab),
        // Of an element that nobody asked about.
        ((VALUES, 11 << 3), 0xcd),
    ]);
    let element = |number: u64, present, value| Element {
        number,
        key: Some((number as u16).to_le_bytes().to_vec()),
        which: None,
        present,
        value,
    };
    let expected = vec![
        element(7, Some(false), vec![None; 4]),
        element(9, Some(true), vec![None, Some(0xab), None, None]),
        element(11, None, vec![Some(0xcd), None, None, None]),
    ];
    assert_eq!(hash(2, Keying::Number).elements(&bytes, &HashMap::new()), expected);
}

#[test]
fn a_number_that_stands_for_nothing_has_no_key() {
    let bytes = Bytes::from([((PRESENT, 5), 1)]);
    let elements = hash(12, Keying::Interned).elements(&bytes, &HashMap::new());
    assert_eq!(elements[0].key, None);
}
