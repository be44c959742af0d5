//! Generates random programs that look up values in maps, and random content for these maps.

use super::assemble;
use super::random::below;
use proptest::test_runner::TestRng;
use slowpath_bpf::lift::{EntryValue, MapContent, MapEntry};
use slowpath_bpf::{BpfProgram, MapDef, MapKind, Object};
use slowpath_generate::{Features, Programs};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Length of packets, in bytes.
pub const LENGTH: usize = 64;
/// Size of map values in bytes.
const VALUE: u32 = 12;

/// Returns an object with a hash table, an array and a trie. Its program does not use these maps.
pub fn object() -> Object {
    let plain = Programs::new(Features { maps: false, ..Features::default() }, 1).from_seed(0);
    let mut object = Object::parse(&plain.object()).expect("an object");
    let map = |name, kind, key_size, max_entries, flags| MapDef {
        kind,
        key_size,
        value_size: VALUE,
        max_entries,
        flags,
        ..MapDef::new(name)
    };
    object.maps = vec![
        map("table", MapKind::HASH, 8, 32, 0),
        map("list", MapKind::ARRAY, 4, 5, 0),
        map("trie", MapKind::LPM_TRIE, 8, 32, 1),
    ];
    object
}

/// Returns one of a few byte values, so that bytes are often equal.
fn byte(rng: &mut TestRng) -> u8 {
    [0, 1, 2, 0x80, 0xff][below(rng, 5)]
}

pub fn packet(rng: &mut TestRng) -> Vec<u8> {
    (0..LENGTH).map(|_| byte(rng) & byte(rng)).collect()
}

/// Returns a random program that looks up keys of packet bytes and constants. Its result depends on
/// all values found.
pub fn program(rng: &mut TestRng) -> BpfProgram {
    let mut text = format!(
        "r8 = *(u32 *)(r1 +0)
        r3 = *(u32 *)(r1 +4)
        r4 = r8
        r4 += {LENGTH}
        if r4 > r3 goto end
        r6 = 0\n"
    );
    for number in 0..=below(rng, 3) {
        let map = below(rng, 3);
        let (size, first) = if map == 1 { (4, -4) } else { (8, -8) };
        let mut place = 0;
        while place < size {
            let at = first + place;
            let length = map == 2 && place == 0;
            let bytes =
                if length || map == 1 { 4 } else { [1, 2, 4][below(rng, 3)].min(4 - place % 4) };
            let bytes = if place % bytes == 0 { bytes } else { 1 };
            let known = below(rng, 3) == 0;
            let value = match (length, map) {
                (true, _) => 32 - below(rng, 2) * 16,
                (_, 1) => below(rng, 6),
                _ => byte(rng).into(),
            };
            let bits = 8 * bytes;
            if known || length {
                _ = writeln!(text, "*(u{bits} *)(r10 {at}) = {value}");
            } else {
                let from = below(rng, LENGTH / 8) * 8;
                _ = writeln!(text, "r5 = *(u{bits} *)(r8 +{from})");
                if map == 1 || below(rng, 3) == 0 {
                    _ = writeln!(text, "r5 &= {}", [1, 3, 7, 0x81][below(rng, 4)]);
                }
                _ = writeln!(text, "*(u{bits} *)(r10 {at}) = r5");
            }
            place += bytes;
        }
        let load = ["u8", "u16", "u32"][below(rng, 3)];
        let offset = below(rng, 3) * 4;
        let missing = ["end", "on"][below(rng, 2)];
        let missing = if missing == "on" { format!("on{number}") } else { missing.to_owned() };
        _ = writeln!(
            text,
            "r2 = r10
            r2 += {first}
            r1 = map {map}
            call 1
            if r0 == 0 goto {missing}
            r7 = *({load} *)(r0 +{offset})
            r6 <<= 5
            r6 += r7"
        );
        if below(rng, 2) == 0 {
            _ = writeln!(text, "if r7 == {} goto end", below(rng, 3));
        }
        if below(rng, 3) == 0 {
            _ = writeln!(text, "*(u32 *)(r8 +{}) = r7", below(rng, LENGTH / 4) * 4);
        }
        _ = writeln!(text, "on{number}:\nr6 += 1");
    }
    text.push_str("w0 = w6\nexit\nend:\nr0 = 1\nexit");
    assemble::program(&text)
}

/// Returns random content for some of the maps in [`object`], by the maps' indices.
pub fn contents(rng: &mut TestRng) -> BTreeMap<u32, MapContent> {
    let mut contents = BTreeMap::new();
    for map in 0..3 {
        if below(rng, 4) > 0 {
            contents.insert(map, content(rng, map));
        }
    }
    contents
}

pub fn content(rng: &mut TestRng, map: u32) -> MapContent {
    let mut entries: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let common = byte(rng);
    for _ in 0..[0, 1, 3, 12][below(rng, 4)] {
        let key = match map {
            1 => (below(rng, 5) as u32).to_le_bytes().to_vec(),
            2 => {
                let length = [0, 8, 9, 16, 32][below(rng, 5)];
                let address = (0..4).map(|_| byte(rng)).collect::<Vec<u8>>();
                let number = u32::from_be_bytes([address[0], address[1], address[2], address[3]]);
                let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
                [length.to_le_bytes(), (number & mask).to_be_bytes()].concat()
            }
            _ => (0..8).map(|_| byte(rng) & byte(rng)).collect(),
        };
        let mut value: Vec<u8> = (0..VALUE).map(|_| byte(rng) & 3).collect();
        value[4..8].fill(common);
        entries.insert(key, value);
    }
    let entry = |(key, value)| MapEntry { key, value: EntryValue::Bytes(value) };
    MapContent { entries: entries.into_iter().map(entry).collect(), ..MapContent::default() }
}
