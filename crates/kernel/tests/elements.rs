//! Tests the memory that the kernel uses for map elements, and the number of elements that fit into
//! a map. The action of each program in `crates/slowpath/tests/objects/elements.bpf.c` shows the
//! result. The test `maps.rs` of `crates/slowpath` checks how slowpath analyses the same programs.

use crate::support;

use slowpath_bpf::MapKind;
use slowpath_kernel::LoadedProgram;
use support::{DROP, PASS, kernel, load, object, path};

const PACKET: [u8; 60] = [0; 60];

/// A test case: name of the program, name of the map, keys that are in the map as half-open ranges,
/// and expected action.
type Case = (&'static str, &'static str, &'static [(u32, u32)], u32);

const CASES: [Case; 23] = [
    ("old_value_stays", "table", &[(1, 2)], DROP),
    ("old_value_does_not_change", "table", &[(1, 2)], PASS),
    ("old_value_stays_allocated", "allocated", &[(1, 2)], DROP),
    ("old_value_stays_recent", "recent", &[(1, 2)], DROP),
    ("per_cpu_value_changes", "per_cpu", &[(1, 2)], DROP),
    ("per_cpu_value_does_not_stay", "per_cpu", &[(1, 2)], PASS),
    ("recent_per_cpu_value_changes", "recent_per_cpu", &[(1, 2)], DROP),
    ("array_value_changes", "plain", &[(1, 2)], DROP),
    ("array_value_does_not_stay", "plain", &[(1, 2)], PASS),
    ("written_through_old_pointer", "table", &[(1, 2)], PASS),
    ("replaced_element_is_used_again", "table", &[(1, 3)], DROP),
    ("deleted_element_is_used_again", "table", &[(1, 2)], DROP),
    ("deleted_element_does_not_stay", "table", &[(1, 2)], PASS),
    ("deleted_per_cpu_element_is_used_again", "per_cpu", &[(1, 2)], DROP),
    ("old_value_of_an_inner_map", "first", &[(1, 2)], DROP),
    ("two_elements_in_two", "two", &[(1, 3)], DROP),
    ("third_element_in_two", "two", &[(1, 3)], PASS),
    ("full_behind_a_delete", "table", &[(1, 2), (100, 163)], PASS),
    ("full_and_then_not", "table", &[(100, 164)], PASS),
    ("full_behind_an_insertion", "table", &[(100, 163)], DROP),
    ("full_with_every_key", "bytes", &[(1, 256)], PASS),
    ("updated_without_lock", "table", &[(1, 2)], PASS),
    ("inserted_and_evicted", "recent", &[(100, 164)], PASS),
];

fn fill(loaded: &LoadedProgram, name: &str, keys: &[(u32, u32)]) {
    let map = loaded.map(name).unwrap_or_else(|| panic!("no map {name}"));
    let size = map.definition().key_size as usize;
    for key in keys.iter().flat_map(|&(from, to)| from..to) {
        map.update(&key.to_le_bytes()[..size], &3u64.to_le_bytes()).expect("writes");
    }
}

#[test]
fn element_programs_have_the_expected_action() {
    let Some(kernel) = kernel() else { return };
    let object = object(&path("../slowpath/tests/objects/elements.bpf.o"));
    for (name, map, keys, action) in CASES {
        let loaded = load(&kernel, &object, name);
        fill(&loaded, map, keys);
        assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, action, "{name}");
    }
}

/// Checks that a full map rejects further elements, and accepts one after a deletion.
#[test]
fn full_maps_reject_further_elements() {
    let Some(kernel) = kernel() else { return };
    let object = object(&path("../slowpath/tests/objects/elements.bpf.o"));
    let loaded = load(&kernel, &object, "full_and_then_not");
    let map = loaded.map("table").expect("is there");
    assert_eq!(map.definition().kind, MapKind::HASH);
    let entries = map.definition().max_entries;
    for key in 0..entries {
        map.update(&key.to_le_bytes(), &[0; 8]).expect("there is room");
    }
    assert!(map.update(&entries.to_le_bytes(), &[0; 8]).is_err());
    assert!(map.delete(&0u32.to_le_bytes()).expect("deletes"));
    map.update(&entries.to_le_bytes(), &[0; 8]).expect("there is room again");
}

/// A test case: name of the program, entries of the trie as prefix length and address, and expected
/// action.
type TrieCase = (&'static str, &'static [(u32, [u8; 4])], u32);

#[test]
fn tries_find_covering_prefixes() {
    const NETWORK: (u32, [u8; 4]) = (8, [10, 0, 0, 0]);
    const HOST: (u32, [u8; 4]) = (32, [10, 0, 0, 1]);
    const BOTH: (u32, [u8; 4]) = (30, [10, 0, 0, 0]);
    let cases: [TrieCase; 5] = [
        ("host_missed_in_a_known_network", &[NETWORK], PASS),
        ("network_missed_around_a_known_host", &[HOST], DROP),
        ("host_is_found_as_its_network", &[NETWORK], DROP),
        ("host_missed_beside_a_neighbour", &[BOTH], PASS),
        ("too_long_a_prefix", &[HOST], PASS),
    ];
    let Some(kernel) = kernel() else { return };
    let object = object(&path("../slowpath/tests/objects/elements.bpf.o"));
    for (name, entries, action) in cases {
        let loaded = load(&kernel, &object, name);
        let routes = loaded.map("routes").expect("is there");
        for (bits, address) in entries {
            let key = [bits.to_le_bytes(), *address].concat();
            routes.update(&key, &3u64.to_le_bytes()).expect("writes");
        }
        assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, action, "{name}");
    }
}

/// Checks the kernel's results for full and empty queues, stacks and ring buffers. Each program
/// runs with new, empty maps.
#[test]
fn queues_are_full_and_empty_when_they_are() {
    let Some(kernel) = kernel() else { return };
    let object = object(&path("../slowpath/tests/objects/elements.bpf.o"));
    for name in [
        "empty_behind_a_push",
        "full_behind_a_pop",
        "last_in_first_out",
        "cleared_when_empty",
        "record_larger_than_the_ring",
    ] {
        let loaded = load(&kernel, &object, name);
        assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, PASS, "{name}");
    }
}
