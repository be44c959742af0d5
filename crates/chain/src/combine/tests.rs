//! Tests which maps of several programs are treated as one map: maps pinned under one name, maps
//! listed as shared, and separate maps.

use super::*;
use crate::frozen::{read_contents, start_maps, unwritten};
use slowpath_bpf::maps::PIN_BY_NAME;
use std::path::Path;

/// Returns copies of a program that counts packets in the map `counters`. Each function in
/// `changes` modifies the definition of this map in one copy.
fn loaded(changes: &[fn(&mut MapDef)]) -> Vec<Loaded> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/chain/counter.bpf.o");
    let object =
        Object::parse(&std::fs::read(path).expect("the object exists")).expect("it is one");
    let one = |change: &fn(&mut MapDef)| {
        let mut object = object.clone();
        change(&mut object.maps[0]);
        Loaded { object: Arc::new(object), program: 0 }
    };
    changes.iter().map(one).collect()
}

fn pinned(map: &mut MapDef) {
    map.pinning = PIN_BY_NAME;
}

fn plain(_: &mut MapDef) {}

fn larger(map: &mut MapDef) {
    pinned(map);
    map.max_entries += 1;
}

fn chain(devices: &[&str], more: &str) -> Chain {
    let mut text = "schema: 1\nprograms:\n".to_owned();
    for (name, device) in ["a", "b", "c"].iter().zip(devices) {
        let device = if device.is_empty() { String::new() } else { format!(", device: {device}") };
        text.push_str(&format!("  - {{name: {name}, object: {name}.o{device}}}\n"));
    }
    text.push_str("edges:\n");
    for pair in ["a", "b", "c"][..devices.len()].windows(2) {
        text.push_str(&format!("  - {{from: {}, on: [XDP_TX], to: {}}}\n", pair[0], pair[1]));
    }
    Chain::parse(&(text + more)).expect("a chain")
}

/// Returns the indices of the programs whose maps form the largest group of shared maps in a chain.
/// `any` is passed to [`Chain::groups_across`].
fn one(chain: &Chain, loaded: &[Loaded], any: bool) -> Vec<usize> {
    let groups = chain.groups_across(loaded, any).expect("they are alike");
    let with = |group: usize| {
        let mut members: Vec<usize> =
            groups.iter().filter(|(_, of)| **of == group).map(|(at, _)| at.0).collect();
        members.sort_unstable();
        members
    };
    groups.values().map(|&group| with(group)).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn pins_of_one_name_are_one_map() {
    let two = chain(&["", ""], "");
    assert_eq!(one(&two, &loaded(&[pinned, pinned]), false), [0, 1]);
    assert!(one(&two, &loaded(&[pinned, plain]), false).len() < 2);
    assert!(one(&two, &loaded(&[plain, plain]), false).is_empty());
    let renamed = |map: &mut MapDef| {
        pinned(map);
        map.name = "other".to_owned();
    };
    assert!(one(&two, &loaded(&[pinned, renamed]), false).len() < 2);
    let three = chain(&["", "", ""], "");
    assert_eq!(one(&three, &loaded(&[pinned, plain, pinned]), false), [0, 2]);
    let names = two.pinned(&loaded(&[pinned, pinned])).expect("they are alike");
    let map = loaded(&[plain])[0].object.maps[0].name.clone();
    assert_eq!(names, [(1, map.clone(), format!("a:{map}"))]);
}

#[test]
fn pins_and_what_the_description_says_go_together() {
    let map = loaded(&[plain])[0].object.maps[0].name.clone();
    let said = format!("shared_maps:\n  - ['a:{map}', 'b:{map}']\n");
    let three = chain(&["", "", ""], &said);
    assert_eq!(one(&three, &loaded(&[pinned, plain, pinned]), false), [0, 1, 2]);
    assert_eq!(one(&three, &loaded(&[pinned, pinned, pinned]), false), [0, 1, 2]);
}

#[test]
fn pins_that_are_not_alike_are_refused_by_both_names() {
    let two = chain(&["", ""], "");
    let map = loaded(&[plain])[0].object.maps[0].name.clone();
    let error = two.groups(&loaded(&[pinned, larger])).expect_err("not alike").to_string();
    let begin = format!("line 4: b:{map} and a:{map} differ: both objects pin them");
    assert!(error.starts_with(&begin), "{error}");
}

#[test]
fn pins_of_two_devices_may_be_one_map_for_writers_only() {
    let apart = chain(&["x", "y"], "");
    let both = loaded(&[pinned, pinned]);
    assert!(one(&apart, &both, false).len() < 2);
    assert_eq!(one(&apart, &both, true), [0, 1]);
    assert!(one(&apart, &loaded(&[pinned, larger]), true).len() < 2);
}

#[test]
fn content_of_a_pinned_map_is_not_frozen_where_another_program_writes_it() {
    let two = chain(&["", ""], "");
    let name = loaded(&[plain])[0].object.maps[0].name.clone();
    for (changes, devices) in
        [([pinned as fn(&mut MapDef), pinned], ["", ""]), ([pinned, pinned], ["x", "y"])]
    {
        let (chain, both) = (chain(&devices, ""), loaded(&changes));
        let text = format!("{{\"b:{name}\": []}}");
        let contents = read_contents(&chain, &both, &text).expect("it is that map");
        let (_, given) = unwritten(&chain, &both, &contents, None, &Stop::never()).expect("alike");
        let why = given[1][0].why_not.clone().expect("a program writes it");
        assert!(why.starts_with("a: "), "{why}");
    }
    let start = start_maps(&two, &loaded(&[pinned, pinned]), &format!("{{\"b:{name}\": []}}"));
    let start = start.expect("it is that map");
    assert!(start["maps"].get(format!("a:{name}")).is_some(), "{start}");
    let twice = format!("{{\"b:{name}\": [], \"a:{name}\": []}}");
    assert!(read_contents(&two, &loaded(&[pinned, pinned]), &twice).is_err());
}
