//! Tests that read the map definitions of the objects in `tests/data`.

use super::*;
use crate::Object;

fn maps(data: &[u8]) -> Vec<MapDef> {
    Object::parse(data).unwrap_or_else(|e| panic!("{e}")).maps
}

fn features() -> Vec<MapDef> {
    maps(include_bytes!("../../tests/data/features.bpf.o"))
}

fn map<'a>(maps: &'a [MapDef], name: &str) -> &'a MapDef {
    maps.iter().find(|map| map.name == name).unwrap_or_else(|| panic!("no map {name}"))
}

fn sizes(map: &MapDef) -> (MapKind, u32, u32, u32, u32) {
    (map.kind, map.key_size, map.value_size, map.max_entries, map.flags)
}

#[test]
fn types_and_sizes_from_btf() {
    let maps = features();
    let flows = map(&maps, "flows");
    assert_eq!(sizes(flows), (MapKind::HASH, 12, 16, 1024, 1));
    assert_eq!(flows.pinning, 1);
    assert!(flows.key_type.is_some() && flows.value_type.is_some() && flows.initial.is_none());
    assert_eq!(sizes(map(&maps, "table")), (MapKind::ARRAY, 4, 16, 8, 0));
}

#[test]
fn maps_of_maps_have_inner_maps_and_slots() {
    let maps = features();
    let outer = map(&maps, "outer");
    assert_eq!(sizes(outer), (MapKind::ARRAY_OF_MAPS, 4, 4, 3, 0));
    let inner = outer.inner.as_ref().expect("an inner map");
    assert_eq!(sizes(inner), (MapKind::ARRAY, 4, 8, 4, 0));
    let position = |name: &str| maps.iter().position(|m| m.name == name).expect("a map");
    assert_eq!(
        outer.slots,
        [(0, SlotRef::Map(position("first"))), (2, SlotRef::Map(position("second")))]
    );
}

#[test]
fn program_arrays_name_their_programs() {
    let maps = features();
    let jumps = map(&maps, "jumps");
    assert_eq!(sizes(jumps), (MapKind::PROG_ARRAY, 4, 4, 4, 0));
    assert_eq!((jumps.slots.as_slice(), &jumps.inner), (&[(1, SlotRef::Program(0))][..], &None));
}

#[test]
fn sections_of_data_are_arrays_of_one() {
    let maps = features();
    let names: Vec<_> = maps.iter().filter(|m| m.initial.is_some()).map(|m| &m.name).collect();
    assert_eq!(names, [".rodata", ".data", ".bss"]);
    let rodata = map(&maps, ".rodata");
    assert_eq!((rodata.kind, rodata.flags), (MapKind::ARRAY, MAPPABLE | READ_ONLY));
    assert!(rodata.read_only && !map(&maps, ".data").read_only);
    assert!(is_data_section(".data.rel.ro") && is_data_section(".rodata.str1.1"));
    assert!(!is_data_section(".database") && !is_data_section("maps"));
}

#[test]
fn legacy_structures_of_different_sizes() {
    let maps = maps(include_bytes!("../../tests/data/legacy.bpf.o"));
    assert_eq!(sizes(map(&maps, "counters")), (MapKind::HASH, 4, 8, 16, 1));
    assert_eq!(sizes(map(&maps, "prefixes")), (MapKind::LPM_TRIE, 8, 4, 32, 1));
    let tails = map(&maps, "tails");
    assert_eq!((sizes(tails), tails.pinning), ((MapKind::PROG_ARRAY, 4, 4, 3, 0), 2));
    for name in ["nested", "by_index"] {
        let inner = map(&maps, name).inner.as_ref().expect("an inner map");
        assert_eq!((inner.name.as_str(), sizes(inner)), ("leaf", (MapKind::ARRAY, 4, 8, 5, 0)));
    }
}

#[test]
fn kinds_have_the_kernels_names() {
    assert_eq!(MapKind::XSKMAP.to_string(), "xskmap");
    assert_eq!(MapKind(27).name(), Some("ringbuf"));
    assert_eq!(MapKind(99).to_string(), "type 99");
}
