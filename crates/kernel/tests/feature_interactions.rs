//! Tests combinations of features in the kernel. The action of each program in
//! `crates/slowpath/tests/objects/seams.bpf.c` shows the result. The test `feature_interactions.rs`
//! of `crates/slowpath` checks how slowpath analyses the same programs.

use crate::support;

use slowpath_kernel::LoadedProgram;
use support::pin::on_every_cpu;
use support::{DROP, PASS, kernel, load, object, path, try_load};

const PACKET: [u8; 60] = [0; 60];

/// Names of programs with their expected actions. The programs read only stack memory that they
/// have written, because other stack memory is undefined in the kernel.
const CASES: [(&str, u32); 9] = [
    ("old_pointer_returned", DROP),
    ("key_of_the_outer_round", DROP),
    ("too_many_rounds_inline", DROP),
    ("no_negative_error_inline", PASS),
    ("too_many_rounds_called", DROP),
    ("rounds_of_64_bits_inline", DROP),
    ("rounds_of_32_bits_called", DROP),
    ("larger_inner_map", DROP),
    ("kept_by_the_function", PASS),
];

fn run(loaded: &LoadedProgram) -> u32 {
    loaded.run(&PACKET, 1).expect("runs").return_value
}

fn put(loaded: &LoadedProgram, map: &str, key: u32) {
    let map = loaded.map(map).unwrap_or_else(|| panic!("no map {map}"));
    map.update(&key.to_le_bytes(), &3u64.to_le_bytes()).expect("writes");
}

#[test]
fn combined_features_have_the_expected_action() {
    let Some(kernel) = kernel() else { return };
    let object = object(&path("../slowpath/tests/objects/seams.bpf.o"));
    for (name, action) in CASES {
        let loaded = match try_load(&kernel, &object, name) {
            Ok(loaded) => loaded,
            // Some kernels, such as Linux 6.18.44, refuse inner per-CPU arrays of other sizes.
            Err(error) if name == "larger_inner_map" => {
                assert!(
                    error.to_string().contains("does not fill it: Invalid argument"),
                    "{error}"
                );
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        if loaded.map("table").is_some() {
            put(&loaded, "table", 1);
        }
        if let Some(outer) = loaded.map("outer") {
            let larger = loaded.map("larger").expect("the object fills the slot with it");
            outer.set_map(&0u32.to_le_bytes(), larger).expect("writes");
        }
        assert_eq!(run(&loaded), action, "{name}");
    }
}

/// Checks that an LRU hash map with `BPF_F_NO_COMMON_LRU` applies its limit to each CPU separately.
/// On two CPUs, a map that was created for one element can have two.
#[test]
fn elements_of_each_cpu_are_counted_apart() {
    let Some(kernel) = kernel() else { return };
    let object = object(&path("../slowpath/tests/objects/seams.bpf.o"));
    for (name, map, action) in [("two_in_apart", "apart", DROP), ("two_in_common", "common", PASS)]
    {
        let loaded = load(&kernel, &object, name);
        let cpus = on_every_cpu(|cpu, _| put(&loaded, map, cpu as u32 + 1)).len();
        let expected = if cpus > 1 { action } else { PASS };
        assert_eq!(run(&loaded), expected, "{name}");
    }
}

/// Checks that an iteration over a map can visit the same elements again if its callback updates
/// the map.
#[test]
fn callbacks_visit_elements_that_they_insert() {
    let Some(kernel) = kernel() else { return };
    let object = object(&path("../slowpath/tests/objects/seams.bpf.o"));
    let rounds = |first: u32| {
        let loaded = load(&kernel, &object, "updated_on_the_way");
        put(&loaded, "table", first);
        run(&loaded);
        let table = loaded.map("table").expect("is there");
        table.keys().expect("reads").len()
    };
    // Starting with one element, each callback adds one.
    let max = (0..32).map(rounds).max();
    assert!(max > Some(2), "{max:?}");
}
