use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn def(kind: MapKind, key_size: u32, max_entries: u32) -> MapDef {
    MapDef { kind, key_size, value_size: 4, max_entries, ..MapDef::new("map") }
}

fn content(entries: &[(&[u8], &[u8])]) -> MapContent {
    let entry = |&(key, value): &(&[u8], &[u8])| slowpath_bpf::lift::MapEntry {
        key: key.to_vec(),
        value: EntryValue::Bytes(value.to_vec()),
    };
    MapContent { entries: entries.iter().map(entry).collect(), ..MapContent::default() }
}

fn map(def: MapDef, entries: &[(&[u8], &[u8])]) -> Result<FrozenMap, String> {
    let contents = BTreeMap::from([(0, content(entries))]);
    let (mut frozen, mut why) = Frozen::of(&[def], &contents);
    frozen.maps.remove(&0).ok_or_else(|| why.remove(&0).expect("a reason"))
}

fn known(bytes: &[u8]) -> KnownBytes {
    bytes.iter().map(|&byte| Some(KnownBits::all(byte))).collect()
}

#[test]
fn a_known_key_finds_its_entry_or_none() {
    let map = map(def(MapKind::HASH, 2, 8), &[(&[1, 2], &[7]), (&[3, 4], &[8])]).expect("frozen");
    let found = |key: &[u8]| map.candidates(&known(key), None);
    assert_eq!(found(&[3, 4]), Candidates { entries: vec![1], none: false });
    assert_eq!(found(&[3, 5]), Candidates { entries: vec![], none: true });
    let key = vec![Some(KnownBits::all(3)), None];
    assert_eq!(map.candidates(&key, None), Candidates { entries: vec![1], none: true });
}

#[test]
fn an_index_below_the_number_of_elements_finds_one() {
    let map = map(def(MapKind::ARRAY, 4, 4), &[(&[2, 0, 0, 0], &[9])]).expect("frozen");
    assert_eq!(map.len(), 4);
    let found = |index| map.candidates(&vec![None; 4], Some(index));
    let inside = found(Domain::range(64, 1, 3));
    assert_eq!(inside, Candidates { entries: vec![1, 2, 3], none: false });
    assert!(found(Domain::range(64, 1, 4)).none);
    assert!(found(Domain::constant(64, 9)).entries.is_empty());
    // Elements without given content are zero.
    assert_eq!(map.value(1..2, 0, 4).and_then(|value| value.as_constant()), Some(0));
    assert_eq!(map.value(2..3, 0, 4).and_then(|value| value.as_constant()), Some(9));
}

#[test]
fn of_values_known_is_what_all_entries_have() {
    let map = map(def(MapKind::HASH, 1, 8), &[(&[1], &[0x12, 5]), (&[2], &[0x13, 5])]);
    let map = map.expect("frozen");
    let value =
        |entries: &[usize], offset, bytes| map.value(entries.iter().copied(), offset, bytes);
    assert_eq!(value(&[0, 1], 1, 1).and_then(|value| value.as_constant()), Some(5));
    let differs = value(&[0, 1], 0, 1).expect("it is there");
    assert_eq!(differs.unknown_bits(), 1);
    assert_eq!(value(&[0, 1], 3, 2), None, "behind the end");
    assert_eq!(value(&[], 0, 1), None);
}

#[test]
fn maps_that_are_not_all_known_are_not_frozen() {
    let others = MapContent { others: 1, ..MapContent::default() };
    let of = |def: MapDef, content: MapContent| {
        Frozen::of(&[def], &BTreeMap::from([(0, content)])).1.remove(&0)
    };
    assert!(of(def(MapKind::HASH, 4, 4), others).is_some());
    assert!(of(def(MapKind::LRU_HASH, 4, 4), MapContent::default()).is_some());
    assert!(of(def(MapKind::PERCPU_ARRAY, 4, 4), MapContent::default()).is_some());
    assert!(of(def(MapKind::ARRAY, 4, MOST + 1), MapContent::default()).is_some());
    assert!(of(def(MapKind::HASH, 4, 4), content(&[(&[1], &[1])])).is_some());
    assert_eq!(of(def(MapKind::HASH, 4, 4), MapContent::default()), None);
    let data = MapDef { initial: Some(vec![0; 4]), ..def(MapKind::ARRAY, 4, 1) };
    assert!(of(data, MapContent::default()).is_some());
}

/// Looks up a key in the given map entries in the same way as the kernel, independently of the code
/// under test.
fn looked_up(kind: MapKind, entries: &[(Vec<u8>, Vec<u8>)], key: &[u8]) -> Option<Vec<u8>> {
    if kind != MapKind::LPM_TRIE {
        return entries.iter().find(|(own, _)| own == key).map(|(_, value)| value.clone());
    }
    let length = |key: &[u8]| u32::from_le_bytes([key[0], key[1], key[2], key[3]]);
    let bit = |key: &[u8], bit: u32| key[4 + bit as usize / 8] >> (7 - bit % 8) & 1;
    let fits = |own: &[u8]| {
        length(own) <= length(key) && (0..length(own)).all(|n| bit(own, n) == bit(key, n))
    };
    let found = entries.iter().filter(|(own, _)| fits(own)).max_by_key(|(own, _)| length(own));
    found.map(|(_, value)| value.clone())
}

#[test]
fn what_a_look_up_finds_is_among_the_candidates() {
    let mut rng = StdRng::seed_from_u64(1);
    let (mut certain, mut several) = (0, 0);
    for _ in 0..3000 {
        let kind = [MapKind::HASH, MapKind::LPM_TRIE][rng.random_range(0..2)];
        let trie = kind == MapKind::LPM_TRIE;
        let size = if trie { 6 } else { 2 };
        let random_key = |rng: &mut StdRng| {
            let mut key: Vec<u8> = (0..2).map(|_| rng.random_range(0..4) << 6).collect();
            if trie {
                let length = rng.random_range(0..=16_u32).to_le_bytes();
                key.splice(0..0, length);
            }
            key
        };
        let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for number in 0..rng.random_range(0..6) {
            let mut key = random_key(&mut rng);
            // For the kernel, two prefixes are equal if they differ only after their length.
            if trie {
                let mut left = key[0];
                for byte in &mut key[4..] {
                    let bits = left.min(8);
                    *byte &= !(0xff_u16 >> bits) as u8;
                    left -= bits;
                }
            }
            if entries.iter().all(|(other, _)| *other != key) {
                entries.push((key, vec![number, 0, 0, 0]));
            }
        }
        let given: Vec<(&[u8], &[u8])> = entries.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        let map = map(def(kind, size, 8), &given).expect("frozen");
        let key = random_key(&mut rng);
        let bits = |&byte: &u8| {
            let mask = [0xff, 0xff, 0xc0, 0x80, 0][rng.random_range(0..5)];
            KnownBits::of(mask, byte)
        };
        let known: KnownBytes = key.iter().map(bits).collect();
        let candidates = map.candidates(&known, None);
        let values: Vec<&Vec<u8>> =
            candidates.entries.iter().map(|&entry| &map.entries[entry].1).collect();
        match looked_up(kind, &entries, &key) {
            Some(value) => assert!(values.contains(&&value), "{key:?} {known:?} {entries:?}"),
            None => assert!(candidates.none, "{key:?} {known:?} {entries:?}"),
        }
        certain += usize::from(values.len() == 1 && !candidates.none);
        several += usize::from(values.len() > 1);
    }
    assert!(certain > 30 && several > 100, "{certain} {several}");
}
