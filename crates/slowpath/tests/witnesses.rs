//! Tests values in witnesses that follow neither from the packet nor from maps, such as results of
//! helpers. The slow path of each program in `objects/witnesses.bpf.c` needs such a value.

use crate::common;

use common::{SLOW, accesses, memory_accesses, of_object};
use serde_json::Value;
use slowpath::Options;

/// The programs, in the order of the object.
const PROGRAMS: [&str; 7] = [
    "at_a_time",
    "without_room",
    "without_neighbour",
    "with_an_error",
    "on_a_queue",
    "behind_what_was_in_front",
    "on_another_queue",
];

fn analysed(name: &str, paths: Option<u64>) -> Value {
    let program = PROGRAMS.iter().position(|program| *program == name).expect("a program");
    let result = of_object("witnesses.bpf.o", program, Options { paths, ..accesses() });
    assert_eq!(result["error"], Value::Null, "{name}");
    assert_eq!(result["program"], name);
    assert!(memory_accesses(&result) >= Some(SLOW), "{name}");
    result
}

/// Returns the unknown values that the witness of the slowest path lists: call, result, value and
/// meaning.
fn unknowns(name: &str) -> Vec<(String, String, u64, String)> {
    let result = analysed(name, Some(1));
    let unknowns = result["paths"][0]["witness"]["unknowns"].as_array().cloned();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let unknown = |unknown: &Value| {
        let place = (&unknown["file"], unknown["line"].as_u64());
        assert!(place.0 == "./witnesses.bpf.c" && place.1 > Some(0), "{unknown}");
        let value = unknown["value"].as_u64().expect("a number");
        (text(&unknown["call"]), text(&unknown["result"]), value, text(&unknown["meaning"]))
    };
    unknowns.expect("a list").iter().map(unknown).collect()
}

fn expected(rows: &[(&str, &str, u64, &str)]) -> Vec<(String, String, u64, String)> {
    let row = |&(call, result, value, meaning): &(&str, &str, u64, &str)| {
        (call.to_owned(), result.to_owned(), value, meaning.to_owned())
    };
    rows.iter().map(row).collect()
}

#[test]
fn clocks_show_times() {
    let rows = [
        ("bpf_ktime_get_ns", "return value", 1_000_000, "1000000 ns"),
        ("bpf_ktime_get_ns", "return value", 1_000_123, "1000123 ns"),
    ];
    assert_eq!(unknowns("at_a_time"), expected(&rows));
}

#[test]
fn full_maps_are_named() {
    let rows = [("bpf_map_update_elem", "room in flows", 1, "no: -E2BIG")];
    assert_eq!(unknowns("without_room"), expected(&rows));
}

#[test]
fn codes_errors_and_fields_are_named() {
    let found = unknowns("without_neighbour");
    let part = |result: &str| found.iter().find(|row| row.1 == result).map(|row| row.3.as_str());
    assert!(found.iter().all(|row| row.0 == "bpf_fib_lookup"), "{found:?}");
    assert_eq!(part("params->ifindex"), Some("77"));
    assert_eq!(part("return value, if it is no error"), Some("BPF_FIB_LKUP_RET_NO_NEIGH"));
    assert_eq!(part("return value, if it is an error"), Some("0"));
    let found = unknowns("with_an_error");
    assert!(found.iter().any(|row| row.0 == "bpf_check_mtu" && row.3 == "-ENODEV"), "{found:?}");
}

/// Returns the requirements on driver and kernel of a path, as the witness lists them (JSON).
/// `path` is the index of the path in the result.
fn environment(result: &Value, path: usize) -> String {
    result["paths"][path]["witness"]["environment"].to_string()
}

#[test]
fn fields_of_the_context_and_processors_have_values() {
    let result = analysed("on_a_queue", Some(1));
    let environment = environment(&result, 0);
    for expected in [
        r#"{"name":"rx_queue_index","value":64}"#,
        r#"{"name":"bpf_get_smp_processor_id","value":3}"#,
    ] {
        assert!(environment.contains(expected), "{expected}: {environment}");
    }
    assert_eq!(result["assumptions"], serde_json::json!([]));
    assert_eq!(result["guarantee"]["verdict"], "exact");
}

#[test]
fn bytes_in_front_of_the_packet_have_values() {
    let result = analysed("behind_what_was_in_front", Some(1));
    let expected = serde_json::json!([
        { "name": "head room of the packet", "value": 216 },
        { "name": "words of metadata", "value": 0 },
        { "name": "driver supports metadata", "value": 1 },
        { "memory": "packet", "offset": -4, "bytes": "11223344" },
    ]);
    assert_eq!(environment(&result, 0), expected.to_string());
    assert_eq!(result["assumptions"], serde_json::json!([]));
}

#[test]
fn every_path_has_its_own_environment() {
    let result = analysed("on_another_queue", None);
    let paths = result["paths"].as_array().expect("a list").len();
    let all: Vec<String> = (0..paths).map(|path| environment(&result, path)).collect();
    let expected = |queue: u32| format!(r#"[{{"name":"rx_queue_index","value":{queue}}}]"#);
    assert_eq!(paths, 3, "{all:?}");
    for queue in [0, 64] {
        let expected = expected(queue);
        assert_eq!(all.iter().filter(|found| **found == expected).count(), 1, "{all:?}");
    }
}

#[test]
fn times_are_not_part_of_the_environment() {
    let result = analysed("at_a_time", Some(1));
    assert_eq!(environment(&result, 0), "[]");
}
