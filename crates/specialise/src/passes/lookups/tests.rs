use crate::assemble;
use crate::frozen::Frozen;
use crate::pipeline::{Facts, Mode, Specialised, specialise_for};
use crate::support::listing;
use slowpath_bpf::lift::{EntryValue, MapContent, MapEntry};
use slowpath_bpf::{MapDef, MapKind, Object};
use slowpath_generate::{Features, Programs};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::BTreeMap;

/// Returns the text of a program that looks up a key of four packet bytes. The program returns the
/// value that it finds, or 1 if it finds none.
fn text(key: &str) -> String {
    format!(
        "r2 = *(u32 *)(r1 +0)
        r3 = *(u32 *)(r1 +4)
        r4 = r2
        r4 += 14
        if r4 > r3 goto drop
        {key}
        *(u32 *)(r10 -4) = r5
        r2 = r10
        r2 += -4
        r1 = map 0
        call 1
        if r0 == 0 goto drop
        r0 = *(u32 *)(r0 +0)
        exit
        drop:
        r0 = 1
        exit"
    )
}

/// Returns an object that contains a map of this kind and content. The map of all frozen values has
/// index 1, and the map with the generation has index 2.
fn configured(kind: MapKind, entries: &[(u32, u32)]) -> (Object, Frozen) {
    let def = MapDef { kind, key_size: 4, value_size: 4, max_entries: 16, ..MapDef::new("map") };
    let entry = |&(key, value): &(u32, u32)| MapEntry {
        key: key.to_le_bytes().to_vec(),
        value: EntryValue::Bytes(value.to_le_bytes().to_vec()),
    };
    let content =
        MapContent { entries: entries.iter().map(entry).collect(), ..MapContent::default() };
    let (mut frozen, why) = Frozen::of(std::slice::from_ref(&def), &BTreeMap::from([(0, content)]));
    assert!(why.is_empty());
    frozen.values = 1;
    frozen.generation = Some(2);
    let object = Programs::new(Features { maps: false, ..Features::default() }, 1).from_seed(0);
    let mut object = Object::parse(&object.object()).expect("an object");
    let data = |name: &str, content: Vec<u8>, read_only| MapDef {
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: content.len() as u32,
        max_entries: 1,
        initial: Some(content),
        read_only,
        ..MapDef::new(name)
    };
    object.maps =
        vec![def, data("values", frozen.value_bytes(), true), data("gen", vec![0; 8], false)];
    (object, frozen)
}

/// Returns the look-up program, rewritten for a map of this kind and content.
fn made(kind: MapKind, entries: &[(u32, u32)], key: &str, mode: Mode) -> Specialised {
    let (object, frozen) = configured(kind, entries);
    // If there were a minimum length, the guard would check it as well.
    let facts = PacketFacts::lengths(if mode == Mode::Trust { 14 } else { 0 }, 1500);
    let known = Facts { frozen: Some(&frozen), ..Facts::of(&facts) };
    let program = assemble::program(&text(key));
    specialise_for(&object, &program, known, mode, &Stop::never()).expect("it has a graph")
}

const UNKNOWN: &str = "r5 = *(u32 *)(r2 +0)";

fn trusting(entries: &[(u32, u32)], key: &str) -> String {
    listing(&made(MapKind::HASH, entries, key, Mode::Trust).program.insns)
}

#[test]
fn in_an_empty_map_nothing_is_looked_for() {
    assert_eq!(trusting(&[], UNKNOWN), "r0 = 1\nexit\n");
}

#[test]
fn of_a_known_key_the_value_is_known() {
    assert_eq!(trusting(&[(7, 2), (8, 3)], "r5 = 7").lines().last(), Some("exit"));
    let text = trusting(&[(7, 2), (8, 3)], "r5 = 7");
    assert!(text.contains("r0 = 2\nexit") && !text.contains("call"), "{text}");
    let text = trusting(&[(7, 2)], "r5 = 9");
    assert_eq!(text, "r0 = 1\nexit\n");
}

#[test]
fn few_keys_are_compared() {
    let text = trusting(&[(7, 2), (8, 3)], UNKNOWN);
    assert!(!text.contains("call"), "{text}");
    assert_eq!(text.matches("!= 0x7 ").count() + text.matches("!= 7 ").count(), 1, "{text}");
    let made = made(MapKind::HASH, &[(7, 2), (8, 3)], UNKNOWN, Mode::Trust);
    assert_eq!(made.maps, [0]);
    assert!(made.changes.iter().any(|one| one.change == crate::Change::Inlined(2)));
}

#[test]
fn many_keys_are_looked_up_but_what_all_values_have_is_known() {
    let entries: Vec<(u32, u32)> = (0..12).map(|number| (number, 5)).collect();
    let text = trusting(&entries, UNKNOWN);
    assert!(text.contains("call") && text.contains("r0 = 5"), "{text}");
    let differing: Vec<(u32, u32)> = (0..12).map(|number| (number, number)).collect();
    assert!(!trusting(&differing, UNKNOWN).contains("r0 = 5"));
}

#[test]
fn an_index_in_range_finds_an_element() {
    let entries: Vec<(u32, u32)> = (0..16).map(|number| (number, number * 3)).collect();
    let key = "r5 = *(u8 *)(r2 +0)\nr5 &= 15";
    let text = listing(&made(MapKind::ARRAY, &entries, key, Mode::Trust).program.insns);
    // The verifier requires the test for null.
    assert!(text.contains("call") && text.contains("r0 = *(u32 *)(r0 +0)"), "{text}");
    let key = "r5 = *(u8 *)(r2 +0)\nr5 = 4";
    let text = listing(&made(MapKind::ARRAY, &entries, key, Mode::Trust).program.insns);
    assert!(text.contains("r0 = 12") && !text.contains("call"), "{text}");
}

#[test]
fn a_guard_looks_at_the_generation_first() {
    let made = made(MapKind::HASH, &[(7, 2)], UNKNOWN, Mode::Guard);
    let guard = made.guard.expect("it relies on a map");
    assert_eq!((guard.generation, guard.length, guard.comparisons.len()), (Some(2), 0, 0));
    let insns = &made.program.insns;
    let branch = insns.iter().position(|insn| insn.jump_offset().is_some()).expect("a branch");
    assert_eq!(insns[branch].jump_target(branch), Some(guard.original));
    assert!(insns[..branch].iter().all(|insn| !insn.to_string().contains("call")));
    let original = assemble::program(&text(UNKNOWN)).insns;
    assert_eq!(insns[guard.original..], original);
}

#[test]
fn without_a_generation_a_guard_relies_on_no_map() {
    let (object, mut frozen) = configured(MapKind::HASH, &[(7, 2)]);
    frozen.generation = None;
    let facts = PacketFacts::lengths(0, 1500);
    let known = Facts { frozen: Some(&frozen), ..Facts::of(&facts) };
    let program = assemble::program(&text(UNKNOWN));
    let made = specialise_for(&object, &program, known, Mode::Guard, &Stop::never());
    let made = made.expect("it has a graph");
    assert_eq!((made.guard, made.maps), (None, Vec::new()));
    assert_eq!(listing(&made.program.insns).matches("call").count(), 1);
}
