//! What helpers for maps can do: `objects/maps.bpf.c` has programs whose slow way depends on it.

use serde_json::Value;
use slowpath::{Analysis, Event, Options, Request, Step};
use std::path::PathBuf;
use std::time::Duration;

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

/// The result of an analysis.
fn analysed(request: Request) -> Value {
    let analysis = Analysis::start(request);
    loop {
        match analysis.next(Duration::from_secs(60)) {
            Step::Event(Event::Result(report)) => {
                return serde_json::from_str(&report.json).expect("the result is JSON");
            }
            Step::Event(_) => {}
            Step::Pending | Step::Finished => panic!("the analysis ended without a result"),
        }
    }
}

fn bound(program: usize) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/objects/maps.bpf.o");
    let data = std::fs::read(path).expect("the object is there");
    let options = Options {
        target: "ebpf".into(),
        metric: Some("memory-accesses".into()),
        paths: Some(1),
        mtu: 1500,
        ..Options::default()
    };
    analysed(Request { file: "maps.bpf.o".into(), data, program, options, ..Request::default() })
}

#[test]
fn slow_ways_are_found_where_a_map_can_lead_there() {
    for (index, (name, possible)) in PROGRAMS.into_iter().enumerate() {
        let result = bound(index);
        assert_eq!(result["error"], Value::Null, "{name}");
        assert_eq!(result["program"], name);
        assert_ne!(result["guarantee"]["verdict"], "bound", "{name}");
        let accesses = result["guarantee"]["counts"]["memory accesses"].as_u64();
        assert_eq!(accesses.map(|count| count >= SLOW), Some(possible), "{name}: {accesses:?}");
    }
}

#[test]
fn where_maps_lie_is_no_condition() {
    let inner = PROGRAMS.iter().position(|(name, _)| *name == "inner_elements");
    let assumptions = bound(inner.expect("it is there"))["assumptions"].to_string();
    assert!(!assumptions.contains("address of"), "{assumptions}");
}
