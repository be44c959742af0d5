//! Tests programs that combine two features of BPF. The slow paths of the programs in
//! `objects/seams.bpf.c` depend on both features. `crates/kernel/tests/feature_interactions.rs`
//! runs the programs in the kernel.

use crate::common;

use common::{SLOW, accesses, memory_accesses, object, of_object};
use serde_json::Value;
use slowpath_bpf::Object;

/// Programs in the order of the object file, each with its name and a flag. The flag is true if a
/// run can take the program's slow path, and `None` if the program cannot be analysed.
const PROGRAMS: [(&str, Option<bool>); 15] = [
    ("old_pointer_returned", Some(true)),
    ("key_of_the_outer_round", Some(true)),
    ("too_many_rounds_inline", Some(true)),
    ("no_negative_error_inline", Some(false)),
    ("too_many_rounds_called", Some(true)),
    ("rounds_of_64_bits_inline", Some(true)),
    ("rounds_of_32_bits_called", Some(true)),
    ("two_in_apart", Some(true)),
    ("two_in_common", Some(false)),
    ("larger_inner_map", Some(true)),
    ("updated_on_the_way", None),
    ("overwritten_on_the_way", Some(false)),
    ("left_by_another_function", Some(true)),
    ("key_left_by_another_function", Some(true)),
    ("kept_by_the_function", Some(false)),
];

fn bound(program: usize) -> Value {
    of_object("seams.bpf.o", program, accesses())
}

#[test]
fn slow_paths_are_found_if_features_are_combined() {
    let programs = Object::parse(&object("seams.bpf.o")).expect("is an object").programs;
    assert_eq!(programs.len(), PROGRAMS.len());
    let mut wrong = Vec::new();
    for (number, (name, possible)) in PROGRAMS.into_iter().enumerate() {
        assert_eq!(programs[number].name, name);
        let result = bound(number);
        let accesses = memory_accesses(&result);
        if accesses.map(|count| count >= SLOW) != possible {
            wrong.push(format!("{name}: {accesses:?}, {possible:?}, {}", result["error"]));
        }
        assert_ne!(result["guarantee"]["verdict"], "bound", "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that a program is rejected if its callback moves elements of the map that is being
/// iterated: the kernel may then call the callback without limit.
#[test]
fn maps_that_change_during_iteration_are_refused() {
    let number = PROGRAMS.iter().position(|(name, _)| *name == "updated_on_the_way");
    let result = bound(number.expect("it is there"));
    let error = result["error"].to_string();
    assert!(error.contains("bpf_for_each_map_elem") && error.contains("map table"), "{error}");
    assert!(error.contains("seams.bpf.c"), "{error}");
}

/// Checks that the witness describes the stack bytes that a function reads but never wrote.
#[test]
fn uninitialised_bytes_are_named() {
    let number = PROGRAMS.iter().position(|(name, _)| *name == "left_by_another_function");
    let result = bound(number.expect("it is there"));
    let unknowns = result["paths"][0]["witness"]["unknowns"].to_string();
    assert!(unknowns.contains("bytes at r10-8"), "{unknowns}");
}
