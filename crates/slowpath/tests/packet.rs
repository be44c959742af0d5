//! Tests what a program can read from a packet after a helper has moved the packet's start or end,
//! and the results that these helpers return. The slow paths of the programs in
//! `objects/packet.bpf.c` depend on both.

use crate::common;

use common::{SLOW, accesses, memory_accesses, of_object};
use serde_json::Value;
use slowpath::Options;

/// Programs in the order of the object. The flag is true if a run can take the slow path.
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

/// Analyses a program of `objects/packet.bpf.c` for network drivers that use one memory page per
/// packet.
fn bound(program: usize) -> Value {
    let receive = Some("native-page".to_owned());
    of_object("packet.bpf.o", program, Options { receive, ..accesses() })
}

#[test]
fn possible_slow_paths_are_found() {
    for (index, (name, possible)) in PROGRAMS.into_iter().enumerate() {
        let result = bound(index);
        assert_eq!(result["error"], Value::Null, "{name}");
        assert_eq!(result["program"], name);
        assert_eq!(result["guarantee"]["verdict"], "conditional", "{name}");
        let accesses = memory_accesses(&result);
        assert_eq!(
            accesses.map(|count| count >= SLOW),
            Some(possible),
            "{name}: {accesses:?} {}",
            result["paths"]
        );
    }
}

#[test]
fn witnesses_have_the_bytes_in_front_of_the_packet() {
    let program = PROGRAMS.iter().position(|(name, _)| *name == "in_front").expect("it is there");
    let environment = bound(program)["paths"][0]["witness"]["environment"].clone();
    let needed = environment.as_array().cloned().unwrap_or_default();
    let in_front = |requirement: &Value| {
        requirement["memory"] == "packet"
            && requirement["offset"].as_i64().is_some_and(|offset| offset < 0)
            && requirement["bytes"].as_str().is_some_and(|bytes| bytes.contains("47"))
    };
    assert!(needed.iter().any(in_front), "{environment}");
}
