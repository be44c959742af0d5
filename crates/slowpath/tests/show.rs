//! Tests the output of `show` for the examples, for other objects, and for data that is not an
//! object.

use crate::common;

use serde_json::Value;
use slowpath::{ErrorKind, Failure, KernelTypes, ProgramFile, ShowRequest, Stop};
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn show(path: &str) -> Value {
    let data = std::fs::read(folder(path)).expect("the object exists");
    let object = ProgramFile::read(&data).expect("an object");
    let request = ShowRequest { listing: true, ..ShowRequest::of(path, object) };
    let text = slowpath::show(&request, &Stop::never()).expect("the object can be shown").json;
    serde_json::from_str(&text).expect("JSON")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().expect("a list")
}

#[test]
fn every_example_is_shown_with_sources_and_nothing_unresolved() {
    for name in common::examples(".bpf.o") {
        for program in list(&show(&format!("examples/{name}")), "programs") {
            assert_eq!(program["error"], Value::Null, "{name}");
            assert_eq!(program["kind"], "xdp", "{name}");
            assert!(list(program, "unresolved").is_empty(), "{name}");
            assert_eq!(program["unsupported"], Value::Null, "{name}");
            // Compilers generate some instructions without a source line.
            let count = |key: &str| program[key].as_u64().expect("a count");
            let (all, known) = (count("instructions"), count("instructions_with_source"));
            assert!(known <= all && known * 10 > all * 9, "{name}: {known} of {all}");
        }
    }
}

#[test]
fn a_flow_monitor_has_maps_and_calls_helpers() {
    let object = show("examples/flow_monitor.bpf.o");
    let maps: Vec<&Value> = list(&object, "maps").iter().map(|map| &map["name"]).collect();
    assert!(maps.contains(&&Value::from("flows")), "{maps:?}");
    let program = &list(&object, "programs")[0];
    assert_eq!(program["name"], "flow_monitor");
    let helpers: Vec<&Value> = list(program, "helpers").iter().map(|h| &h["name"]).collect();
    assert!(helpers.contains(&&Value::from("bpf_map_lookup_elem")), "{helpers:?}");
    let listing = list(program, "listing");
    assert!(listing.iter().all(|insn| insn["text"].as_str().is_some_and(|t| !t.is_empty())));
    assert_eq!(listing.last().map(|insn| &insn["text"]), Some(&Value::from("exit")));
}

#[test]
fn references_to_the_kernel_are_shown() {
    let object = show("crates/bpf/tests/data/core.bpf.o");
    let unresolved = list(&object["programs"][0], "unresolved");
    assert!(!unresolved.is_empty());
    for entry in unresolved {
        let reason = entry["reason"].as_str().expect("a text");
        assert!(reason.contains("--btf") && !reason.contains('\n'), "{reason}");
    }
    let functions = show("crates/bpf/tests/data/extern.bpf.o");
    let called = &functions["programs"][0]["kernel_functions"];
    assert_eq!(called[0]["name"], "bpf_xdp_metadata_rx_hash");
}

#[test]
fn broken_input_is_an_error_of_one_line() {
    let data = std::fs::read(folder("examples/flow_monitor.bpf.o")).expect("the object exists");
    let listing = ProgramFile::read(b"hello").expect("other data may be a listing");
    assert!(listing.programs().is_none());
    let request = ShowRequest::of("hello", listing);
    let no_object = slowpath::show(&request, &Stop::never()).expect_err("no object");
    assert!(no_object.to_string().contains("not an ELF file"));
    let half = ProgramFile::read(&data[..data.len() / 2]).expect_err("broken");
    let kernel = KernelTypes::parse(b"nonsense").expect_err("broken");
    for error in [no_object, half, kernel] {
        assert!(!error.to_string().contains('\n'), "{error}");
        assert_eq!(Failure::of(&error).kind, ErrorKind::Input);
    }
}
