//! Tests the effects of map helpers, on which the slow paths of the programs depend. The programs
//! are in `objects/maps.bpf.c`, `objects/elements.bpf.c` and `objects/tries.bpf.c`.
//! `crates/kernel/tests/elements.rs` runs the programs of the last two files in the kernel.

use crate::common;

use common::{SLOW, accesses, memory_accesses, object, of_object};
use serde_json::Value;
use slowpath::Options;
use slowpath_bpf::Object;

/// Programs of `maps.bpf.c` in the order of the object. The flag is true if a run can take the slow
/// path.
const PROGRAMS: [(&str, bool); 9] = [
    ("map_called_packet", true),
    ("map_called_stack", true),
    ("found_if_the_loader_says_so", true),
    ("absent_if_the_loader_says_so", true),
    ("redirected_if_the_loader_says_so", true),
    ("updated_under_lock", true),
    ("no_memory_to_replace", true),
    ("inner_elements", false),
    ("never_out_of_range", false),
];

/// Programs of `elements.bpf.c`. The flag is true if a run can take the slow path.
const ELEMENTS: [(&str, bool); 36] = [
    ("old_value_stays", true),
    ("old_value_does_not_change", false),
    ("old_value_stays_allocated", true),
    ("old_value_stays_recent", true),
    ("per_cpu_value_changes", true),
    ("per_cpu_value_does_not_stay", false),
    ("recent_per_cpu_value_changes", true),
    ("array_value_changes", true),
    ("array_value_does_not_stay", false),
    ("written_through_old_pointer", false),
    ("replaced_element_is_used_again", true),
    ("deleted_element_is_used_again", true),
    ("deleted_element_does_not_stay", false),
    ("deleted_per_cpu_element_is_used_again", true),
    ("old_value_of_an_inner_map", true),
    ("two_elements_in_one", false),
    ("two_elements_in_two", true),
    ("third_element_in_two", false),
    ("full_behind_a_delete", false),
    ("full_and_then_not", false),
    ("full_behind_an_insertion", true),
    ("full_with_every_key", false),
    ("updated_without_lock", false),
    ("evicted", true),
    ("inserted_and_evicted", false),
    ("host_missed_in_a_known_network", false),
    ("network_missed_around_a_known_host", true),
    ("host_is_found_as_its_network", true),
    ("host_missed_beside_a_neighbour", false),
    ("too_long_a_prefix", false),
    ("empty_behind_a_push", false),
    ("full_behind_a_pop", false),
    ("last_in_first_out", false),
    ("first_in_first_out", true),
    ("cleared_when_empty", false),
    ("record_larger_than_the_ring", false),
];

/// Programs of `tries.bpf.c`. The flag is true if a run can take the slow path.
const TRIES: [(&str, bool); 6] = [
    ("only_too_long_a_prefix", false),
    ("two_prefixes_in_one", false),
    ("one_prefix_for_two", true),
    ("host_missed_in_the_only_network", false),
    ("two_prefixes_in_two", true),
    ("three_prefixes_in_two", false),
];

/// Programs of `consistent.bpf.c`. The first flag is true if a run can take the slow path. The
/// second flag is true if the guarantee then depends on an assumption.
const CONSISTENT: [(&str, bool, bool); 31] = [
    ("inner_full_and_then_not", false, false),
    ("inner_full_behind_a_delete", false, false),
    ("inner_full_behind_an_insertion", true, false),
    ("other_inner_full", true, false),
    ("inner_element_is_used_again", true, false),
    ("inner_element_does_not_stay", false, false),
    ("inner_array_grows", false, false),
    ("same_element_in_two_rounds", false, false),
    ("two_elements_in_two_rounds", true, false),
    ("round_of_an_absent_element", false, false),
    ("no_round_of_an_element", false, false),
    ("absent_behind_its_round", false, false),
    ("found_without_a_round", false, false),
    ("found_in_a_round", true, false),
    ("rounds_that_delete_others", true, true),
    ("rounds_that_delete", true, false),
    ("missed_in_a_later_round", false, false),
    ("found_in_a_later_round", true, false),
    ("missed_in_the_eighth_round", false, false),
    ("missed_in_the_tenth_round", true, true),
    ("one_of_many_places", false, false),
    ("host_missed_in_an_inner_trie", false, false),
    ("host_missed_in_another_trie", true, false),
    ("both_survive_an_insertion", false, false),
    ("one_survives_an_insertion", true, false),
    ("other_survives_a_replacement", false, false),
    ("per_cpu_both_survive", false, false),
    ("per_cpu_both_survive_an_update", true, false),
    ("ring_of_another_size", false, false),
    ("more_data_than_the_ring_has", false, false),
    ("unknown_query", false, false),
];

fn bound(program: usize) -> Value {
    of_content("maps.bpf.o", program, None)
}

/// Analyses a program of an object file. `maps` describes the content of the program's maps as
/// JSON; `None` if it is unknown.
fn of_content(file: &str, program: usize, maps: Option<String>) -> Value {
    of_object(file, program, Options { maps, ..accesses() })
}

#[test]
fn slow_paths_that_depend_on_maps_are_found() {
    for (index, (name, possible)) in PROGRAMS.into_iter().enumerate() {
        let result = bound(index);
        assert_eq!(result["error"], Value::Null, "{name}");
        assert_eq!(result["program"], name);
        assert_ne!(result["guarantee"]["verdict"], "bound", "{name}");
        let accesses = memory_accesses(&result);
        assert_eq!(accesses.map(|count| count >= SLOW), Some(possible), "{name}: {accesses:?}");
    }
}

#[test]
fn addresses_of_maps_are_not_conditions() {
    let inner = PROGRAMS.iter().position(|(name, _)| *name == "inner_elements");
    let assumptions = bound(inner.expect("it is there"))["assumptions"].to_string();
    assert!(!assumptions.contains("address of"), "{assumptions}");
}

/// Checks, for each program of an object file, whether the analysis finds a slow path and whether
/// the guarantee depends on an assumption. A path is slow if it has at least `slow` memory
/// accesses.
fn check(
    file: &str,
    slow: u64,
    programs: impl ExactSizeIterator<Item = (&'static str, bool, bool)>,
) {
    let known = Object::parse(&object(file)).expect("is an object").programs;
    assert_eq!(known.len(), programs.len());
    let mut wrong = Vec::new();
    for (name, possible, relies) in programs {
        let number = known.iter().position(|program| program.name == name);
        let result = of_content(file, number.expect("it is there"), None);
        assert_eq!(result["error"], Value::Null, "{name}");
        let accesses = memory_accesses(&result);
        if accesses.map(|count| count >= slow) != Some(possible) {
            wrong.push(format!("{name}: {accesses:?}, {possible}"));
        }
        let assumptions = result["assumptions"].as_array().cloned().unwrap_or_default();
        // A program that accesses shared memory twice also depends on the absence of other CPUs.
        let exclusive = |text: &Value| text.as_str().is_some_and(|text| text.contains("other CPU"));
        let relied_on = assumptions.iter().any(|text| !exclusive(text));
        let verdict = if assumptions.is_empty() { "exact" } else { "conditional" };
        if result["guarantee"]["verdict"] != verdict || relied_on != relies {
            wrong.push(format!("{name}: {} {}", result["guarantee"], result["assumptions"]));
        }
        if relies {
            continue;
        }
        // With the map content of the witness, the result must be the same.
        let needed = result["paths"][0]["witness"]["maps"].to_string();
        let repeated = of_content(file, number.unwrap_or(0), Some(needed.clone()));
        let (error, guarantee) = (&repeated["error"], &repeated["guarantee"]);
        if *error != Value::Null || guarantee["counts"] != result["guarantee"]["counts"] {
            wrong.push(format!("{name}: {needed}: {error} {guarantee}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn elements_behave_as_in_the_kernel() {
    let relying_on_nothing = |(name, possible)| (name, possible, false);
    check("elements.bpf.o", SLOW, ELEMENTS.into_iter().map(relying_on_nothing));
}

#[test]
fn tries_do_not_exceed_their_capacity() {
    let relying_on_nothing = |(name, possible)| (name, possible, false);
    check("tries.bpf.o", SLOW, TRIES.into_iter().map(relying_on_nothing));
}

#[test]
fn calls_agree_with_earlier_calls() {
    check("consistent.bpf.o", 3 * SLOW, CONSISTENT.into_iter());
}
