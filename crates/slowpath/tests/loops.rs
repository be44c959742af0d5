//! Tests the maximum iteration counts that the analysis derives for loops of BPF programs.
//! `objects/loops.bpf.c` states the expected bounds.

use crate::common;

use common::{object, of_object, options};
use serde_json::Value;
use slowpath::{Options, ProgramFile, ShowRequest, Stop, show};

/// Programs, each with the maximum numbers of iterations of its loops, in the order of their first
/// instructions.
const ITERATIONS: [(&str, &[u64]); 8] = [
    ("register_counter", &[17]),
    ("stack_counter", &[9]),
    ("packet_counter", &[40]),
    // Steps of 16 through packets of at most 1500 bytes, and the iteration that finds the end.
    ("headers", &[101]),
    ("helper_loop", &[25]),
    ("helper_loop_packet", &[12]),
    ("elements", &[6]),
    ("nested", &[7, 5]),
];

#[test]
fn bounds_are_the_iteration_counts() {
    let object = ProgramFile::read(&object("loops.bpf.o")).expect("an object");
    let request = ShowRequest { deadline_seconds: 300.0, ..ShowRequest::of("loops.bpf.o", object) };
    let shown = show(&request, &Stop::never()).expect("it is an object").json;
    let shown: Value = serde_json::from_str(&shown).expect("it is JSON");
    let programs = shown["programs"].as_array().expect("a list");
    let iterations = |program: &Value| -> Vec<Option<u64>> {
        let loops = program["loops"].as_array().cloned().unwrap_or_default();
        loops.iter().map(|shown| shown["iterations"].as_u64()).collect()
    };
    let found: Vec<(&str, Vec<Option<u64>>)> = programs
        .iter()
        .map(|program| (program["name"].as_str().unwrap_or_default(), iterations(program)))
        .collect();
    let expected: Vec<(&str, Vec<Option<u64>>)> = ITERATIONS
        .iter()
        .map(|(name, counts)| (*name, counts.iter().copied().map(Some).collect()))
        .collect();
    assert_eq!(found, expected);
}

/// Analyses a program of `objects/kernel_loops.bpf.o`. `unroll` contains user-supplied maximum
/// iteration counts of loops.
fn bound(program: usize, unroll: &[&str]) -> Value {
    bound_of("kernel_loops.bpf.o", program, unroll)
}

fn bound_of(name: &str, program: usize, unroll: &[&str]) -> Value {
    let unroll = unroll.iter().map(|&limit| limit.to_owned()).collect();
    of_object(name, program, Options { target: "ebpf".into(), unroll, ..options() })
}

#[test]
fn loops_that_the_kernel_limits_have_a_structural_bound() {
    let callback = bound(0, &[]);
    assert!(callback["error"].is_null(), "{callback}");
    let guarantee = &callback["guarantee"];
    assert_eq!(guarantee["verdict"], "bound");
    let reason = guarantee["stopped"].as_str().unwrap_or_default();
    assert!(reason.contains("may run 8388609 times (bpf_loop)"), "{reason}");
    assert!(reason.starts_with("the loop at kernel_loops.bpf.c:"), "{reason}");
    let instructions = guarantee["counts"]["instructions"].as_u64().unwrap_or_default();
    // The callback has at most 7 instructions.
    assert!((8_388_608..9 * 8_388_608).contains(&instructions), "{instructions}");
    // Writes of other CPUs do not change the number of iterations.
    assert_eq!(callback["assumptions"], serde_json::json!([]), "{callback}");

    let budget = bound(1, &[]);
    let guarantee = &budget["guarantee"];
    let reason = guarantee["stopped"].as_str().unwrap_or_default();
    assert!(reason.contains("may run 8388609 times (may_goto)"), "{reason}");
    let instructions = guarantee["counts"]["instructions"].as_u64().unwrap_or_default();
    assert!((3 * 8_388_608..7 * 8_388_608).contains(&instructions), "{instructions}");
    let conditions = budget["assumptions"].to_string();
    assert!(conditions.contains("the kernel ends may_goto after 8388608 rounds"), "{conditions}");
}

#[test]
fn a_loop_without_its_own_limit_has_the_limit_of_the_verifier() {
    let endless = bound(2, &[]);
    assert!(endless["error"].is_null(), "{endless}");
    let guarantee = &endless["guarantee"];
    assert_eq!(guarantee["verdict"], "bound");
    assert_eq!(guarantee["counts"]["instructions"], 1_000_000);
    let reason = guarantee["stopped"].as_str().unwrap_or_default();
    assert!(reason.starts_with("the loop at kernel_loops.bpf.c:"), "{reason}");
    assert!(reason.contains("no known limit except the verifier's"), "{reason}");
    assert!(reason.contains("--unroll N@kernel_loops.bpf.c:"), "{reason}");
    let conditions = endless["assumptions"].to_string();
    assert!(conditions.contains("which limits a run to 1000000 instructions"), "{conditions}");
}

/// Checks a loop whose counter grows by eight until it equals `len & 0x78`, with `len` from 8 to
/// 96. The loop has at most twelve iterations.
#[test]
fn a_loop_that_counts_by_eight_until_it_equals_its_end_is_bounded() {
    let derived = bound_of("unrolled_copy.bpf.o", 0, &[]);
    assert!(derived["error"].is_null(), "{derived}");
    assert_eq!(derived["guarantee"]["verdict"], "exact", "{derived}");
    assert_eq!(derived["guarantee"]["counts"]["instructions"], 1451);
    for stated in ["12@.45", "96@.45"] {
        let stated = bound_of("unrolled_copy.bpf.o", 0, &[stated]);
        assert_eq!(stated["guarantee"]["counts"]["instructions"], 1451, "{stated}");
        assert_eq!(stated["assumptions"], derived["assumptions"], "no round is cut");
    }
}
