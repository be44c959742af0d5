//! What helpers for maps can do: `objects/maps.bpf.c` has programs whose slow way depends on it.

mod common;

use common::{options, run};
use serde_json::Value;
use slowpath::{Options, Request};
use std::path::PathBuf;

/// Accesses of memory on the slow ways.
const SLOW: u64 = 40;

/// The programs, in the order of the object, and whether their slow way can be taken.
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

fn bound(program: usize) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/objects/maps.bpf.o");
    let data = std::fs::read(path).expect("the object is there");
    let options =
        Options { target: "ebpf".into(), metric: Some("memory-accesses".into()), ..options() };
    run(Request { file: "maps.bpf.o".into(), data, program, options, ..Request::default() }).0
}

#[test]
fn slow_ways_are_found_where_a_map_can_lead_there() {
    for (index, (name, possible)) in PROGRAMS.into_iter().enumerate() {
        let result = bound(index);
        assert_eq!(result["error"], Value::Null, "{name}");
        assert_eq!(result["program"], name);
        assert_eq!(result["guarantee"]["exact"], true, "{name}");
        let accesses = result["guarantee"]["counts"]["memory accesses"].as_u64();
        assert_eq!(accesses.map(|count| count >= SLOW), Some(possible), "{name}: {accesses:?}");
    }
}

#[test]
fn where_maps_lie_is_no_condition() {
    let (inner, _) = PROGRAMS.iter().enumerate().find(|(_, p)| p.0 == "inner_elements").unwrap();
    let assumptions = bound(inner)["assumptions"].to_string();
    assert!(!assumptions.contains("address of"), "{assumptions}");
}
