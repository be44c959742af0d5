//! What becomes of a packet's bytes when its ends move, and what the kernel answers:
//! `objects/packet.bpf.c` has programs whose slow way depends on it.

use serde_json::Value;
use slowpath::{Analysis, Event, Options, Request, Step};
use std::path::PathBuf;
use std::time::Duration;

/// Accesses of memory on the slow ways.
const SLOW: u64 = 40;

/// The programs, in the order of the object, and whether their slow way can be taken.
const PROGRAMS: [(&str, bool); 31] = [
    ("cleared", true),
    ("not_cleared", true),
    ("never_kept", false),
    ("never_cleared_too_early", false),
    ("never_cleared_by_a_failed_call", false),
    ("longest", true),
    ("never_longer", false),
    ("never_lost_in_front", false),
    ("in_front", true),
    ("metadata_moves", true),
    ("metadata_never_changes", false),
    ("moved_often", true),
    ("never_a_long_sum", false),
    ("never_another_sum", false),
    ("sum_of_six_bytes", true),
    ("loaded_in_part", true),
    ("never_loaded_beyond", false),
    ("never_a_device_without_route", false),
    ("gateway_of_the_other_family", true),
    ("never_another_family", false),
    ("never_neighbours_without_address", false),
    ("never_a_longer_mtu", false),
    ("never_no_device_of_its_own", false),
    ("never_an_event_beyond", false),
    ("nobody_listens", true),
    ("never_an_unknown_error", false),
    ("never_a_socket_for_flags", false),
    ("never_without_head_room", false),
    ("without_head_room", true),
    ("without_tail_room", true),
    ("never_without_any_room", false),
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
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/objects/packet.bpf.o");
    let data = std::fs::read(path).expect("the object is there");
    let options = Options {
        target: "ebpf".into(),
        metric: Some("memory-accesses".into()),
        paths: Some(1),
        mtu: 1500,
        ..Options::default()
    };
    analysed(Request { file: "packet.bpf.o".into(), data, program, options, ..Request::default() })
}

#[test]
fn slow_ways_are_found_where_they_can_be_taken() {
    for (index, (name, possible)) in PROGRAMS.into_iter().enumerate() {
        let result = bound(index);
        assert_eq!(result["error"], Value::Null, "{name}");
        assert_eq!(result["program"], name);
        assert_eq!(result["guarantee"]["exact"], true, "{name}");
        let accesses = result["guarantee"]["counts"]["memory accesses"].as_u64();
        assert_eq!(
            accesses.map(|count| count >= SLOW),
            Some(possible),
            "{name}: {accesses:?} {}",
            result["paths"]
        );
    }
}

#[test]
fn bytes_in_front_of_the_packet_are_named_with_their_value() {
    let program = PROGRAMS.iter().position(|(name, _)| *name == "in_front").expect("it is there");
    let environment = bound(program)["paths"][0]["witness"]["environment"].clone();
    let needed = environment.as_array().cloned().unwrap_or_default();
    let in_front = |given: &Value| {
        given["memory"] == "packet"
            && given["offset"].as_i64().is_some_and(|offset| offset < 0)
            && given["bytes"].as_str().is_some_and(|bytes| bytes.contains("47"))
    };
    assert!(needed.iter().any(in_front), "{environment}");
}
