//! Tests of reading, writing and deleting elements of maps from user space and from programs.

use crate::support;

use slowpath_kernel::{Kernel, LoadedProgram, Map, MapError};
use support::{features, kernel, load};

const PACKET: [u8; 60] = [0; 60];

fn all_maps(kernel: &Kernel) -> LoadedProgram {
    load(kernel, &features(), "all_maps")
}

fn map<'a>(loaded: &'a LoadedProgram, name: &str) -> &'a Map {
    loaded.map(name).unwrap_or_else(|| panic!("no map {name}"))
}

fn u32s(value: u32) -> [u8; 4] {
    value.to_ne_bytes()
}

#[test]
fn hash_elements_come_and_go() {
    let Some(kernel) = kernel() else { return };
    let loaded = all_maps(&kernel);
    let table = map(&loaded, "table");
    assert_eq!(table.lookup(&u32s(1)).expect("reads"), None);
    table.update(&u32s(1), &10u64.to_ne_bytes()).expect("writes");
    loaded.run(&PACKET, 3).expect("runs");
    assert_eq!(table.lookup(&u32s(1)).expect("reads"), Some(25u64.to_ne_bytes().to_vec()));
    assert_eq!(table.keys().expect("lists"), [u32s(1)]);
    assert!(table.delete(&u32s(1)).expect("deletes"));
    assert!(!table.delete(&u32s(1)).expect("finds nothing"));
    assert!(table.keys().expect("lists").is_empty());
    let recent = map(&loaded, "recent").lookup(&u32s(1)).expect("reads");
    assert_eq!(recent, Some(1u64.to_ne_bytes().to_vec()));
}

#[test]
fn per_cpu_values_are_one_for_each_cpu() {
    let Some(kernel) = kernel() else { return };
    let loaded = all_maps(&kernel);
    let counters = map(&loaded, "per_cpu");
    assert_eq!(counters.values_per_key(), kernel.cpus());
    counters.update(&u32s(1), &u32s(100)).expect("writes");
    loaded.run(&PACKET, 1).expect("runs");
    let values = counters.lookup_all(&u32s(1)).expect("reads").expect("is there");
    assert_eq!(values.len(), kernel.cpus());
    let sum: u32 = values.iter().map(|v| u32::from_ne_bytes([v[0], v[1], v[2], v[3]])).sum();
    assert_eq!(sum, 100 * kernel.cpus() as u32 + 1);
    let distinct: Vec<[u8; 4]> = (0..kernel.cpus() as u32).map(u32s).collect();
    counters.update_all(&u32s(2), &distinct).expect("writes");
    assert_eq!(counters.lookup_all(&u32s(2)).expect("reads").expect("is there"), distinct);
    let too_many = vec![u32s(0); kernel.cpus() + 1];
    assert!(matches!(counters.update_all(&u32s(2), &too_many), Err(MapError::Count { .. })));
}

#[test]
fn many_elements_are_written_together() {
    let Some(kernel) = kernel() else { return };
    let loaded = all_maps(&kernel);
    let keys: Vec<u8> = [1, 2, 1].into_iter().flat_map(u32s).collect();
    let values: Vec<u8> = [10u64, 20, 30].into_iter().flat_map(u64::to_ne_bytes).collect();
    let table = map(&loaded, "table");
    table.update_pairs(&keys, &values).expect("writes");
    let read = |key| table.lookup(&u32s(key)).expect("reads").expect("is there");
    // The last value of a repeated key counts.
    assert_eq!((read(1), read(2)), (30u64.to_ne_bytes().into(), 20u64.to_ne_bytes().into()));
    table.update_pairs(&[], &[]).expect("writes nothing");
    let counters = map(&loaded, "per_cpu");
    let some: Vec<u8> = [7, 8].into_iter().flat_map(u32s).collect();
    counters.update_pairs(&keys[..8], &some).expect("writes");
    let of = |key| counters.lookup_all(&u32s(key)).expect("reads").expect("is there");
    assert_eq!(of(1), vec![u32s(7); kernel.cpus()]);
    assert_eq!(of(2), vec![u32s(8); kernel.cpus()]);
    for (keys, values) in [(&keys[..8], &values[..23]), (&keys[..7], &values[..8])] {
        assert!(matches!(table.update_pairs(keys, values), Err(MapError::Length { .. })));
    }
    // The error names the rejected element, and the others are written.
    let out = [u32s(3), u32s(u32::MAX)].concat();
    let refused = counters.update_pairs(&out, &some).expect_err("is refused");
    assert!(matches!(&refused, MapError::Kernel { key, .. } if key == &u32s(u32::MAX)));
    assert_eq!(of(3), vec![u32s(7); kernel.cpus()]);
}

#[test]
fn elements_that_are_read_together_are_those_of_each_key() {
    let Some(kernel) = kernel() else { return };
    let loaded = all_maps(&kernel);
    let table = map(&loaded, "table");
    for key in 0..table.definition().max_entries {
        table.update(&u32s(3 * key), &u64::from(key).to_ne_bytes()).expect("writes");
    }
    let mut read = 0;
    let maps = (0..features().maps.len()).filter_map(|number| loaded.map_by_number(number));
    for map in maps.filter(|map| map.definition().kind.is_readable()) {
        let each = |key: Vec<u8>| Some((key.clone(), map.lookup_all(&key).expect("reads")?));
        let mut one_by_one: Vec<_> =
            map.keys().expect("lists").into_iter().filter_map(each).collect();
        let mut together = map.elements().expect("reads");
        // Batches of a hash table can have another order.
        one_by_one.sort();
        together.sort();
        assert_eq!(together, one_by_one, "{}", map.definition().name);
        read += together.len();
    }
    assert!(read > table.definition().max_entries as usize, "{read}");
}

#[test]
fn longest_prefix_decides() {
    let Some(kernel) = kernel() else { return };
    let loaded = all_maps(&kernel);
    let route = |length: u32, address: [u8; 4]| [u32s(length), address].concat();
    let routes = map(&loaded, "routes");
    routes.update(&route(8, [10, 0, 0, 0]), &u32s(1)).expect("writes");
    assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, 1);
    routes.update(&route(32, [10, 0, 0, 1]), &u32s(3)).expect("writes");
    assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, 3);
}

#[test]
fn empty_maps_lead_past_every_helper() {
    let Some(kernel) = kernel() else { return };
    let loaded = all_maps(&kernel);
    assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, 2);
    map(&loaded, "ports").update(&u32s(3), &u32s(1)).expect("the loopback device");
    assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, 4);
    let sizes = |name| map(&loaded, name).definition().max_entries;
    assert_eq!(sizes("ring"), 8192);
    assert_eq!(sizes("events") as usize, kernel.cpus());
}

#[test]
fn maps_of_maps_are_filled() {
    let Some(kernel) = kernel() else { return };
    let loaded = all_maps(&kernel);
    loaded.run(&PACKET, 1).expect("runs");
    let value = |map: &Map| map.lookup(&u32s(0)).expect("reads");
    assert_eq!(value(map(&loaded, "second")), Some(u32s(7).to_vec()));
    assert_eq!(value(map(&loaded, "first")), Some(u32s(0).to_vec()));
    let nested = map(&loaded, "nested");
    let inner = nested.create_inner().expect("creates");
    nested.set_map(&u32s(2), &inner).expect("writes");
    loaded.run(&PACKET, 1).expect("runs");
    assert_eq!(value(&inner), Some(u32s(7).to_vec()));
    assert_eq!(value(map(&loaded, "second")), Some(u32s(7).to_vec()));
    assert!(matches!(inner.set_map(&u32s(0), nested), Err(MapError::NoInner { .. })));
}

#[test]
fn program_arrays_take_other_programs() {
    let Some(kernel) = kernel() else { return };
    let object = features();
    let loaded = load(&kernel, &object, "tail_call");
    let calls = map(&loaded, "calls");
    let other = load(&kernel, &object, "globals");
    calls.set_program(2, &other).expect("writes");
    assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, 3);
    assert!(calls.delete(&u32s(2)).expect("deletes"));
    assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, 0);
}

#[test]
fn global_data_starts_as_the_object_says() {
    let Some(kernel) = kernel() else { return };
    let loaded = load(&kernel, &features(), "globals");
    let value = |name| map(&loaded, name).lookup(&u32s(0)).expect("reads").expect("is there");
    assert_eq!(value(".rodata"), u32s(3));
    assert_eq!(value(".data"), u32s(40));
    loaded.run(&PACKET, 2).expect("runs");
    assert_eq!(value(".data"), u32s(42));
    assert_eq!(value(".bss"), 4u64.to_ne_bytes());
    let frozen = map(&loaded, ".rodata").update(&u32s(0), &u32s(1)).expect_err("read-only");
    assert!(frozen.to_string().starts_with("map .rodata: the kernel does not write"), "{frozen}");
}

#[test]
fn lengths_are_checked() {
    let Some(kernel) = kernel() else { return };
    let loaded = all_maps(&kernel);
    let table = map(&loaded, "table");
    let message = |r: Result<(), MapError>| r.expect_err("wrong length").to_string();
    assert_eq!(message(table.update(&[0; 3], &[0; 8])), "map table: a key of 3 bytes; it takes 4");
    assert_eq!(
        message(table.update(&[0; 4], &[0; 9])),
        "map table: a value of 9 bytes; it takes 8"
    );
    assert!(table.lookup(&[0; 8]).is_err());
    assert!(map(&loaded, "per_cpu").lookup(&[0; 4]).is_err());
    assert!(loaded.map("nothing").is_none());
}
