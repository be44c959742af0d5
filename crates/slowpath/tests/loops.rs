//! Loops of BPF programs whose bounds follow from the program; `objects/loops.bpf.c` documents the
//! bounds.

use serde_json::Value;
use slowpath::{
    Analysis, Event, Options, Poll, ProgramFile, ProgramRequest, ShowRequest, Stop, show,
};
use std::path::PathBuf;
use std::time::Duration;

/// Iterations of the loops of each program, in the order of their first instructions.
const ROUNDS: [(&str, &[u64]); 8] = [
    ("register_counter", &[17]),
    ("stack_counter", &[9]),
    ("packet_counter", &[40]),
    // Packets of at most 1500 bytes in steps of 16, and the iteration that finds the end.
    ("headers", &[101]),
    ("helper_loop", &[25]),
    ("helper_loop_packet", &[12]),
    ("elements", &[6]),
    ("nested", &[7, 5]),
];

#[test]
fn bounds_are_the_numbers_of_rounds() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/objects/loops.bpf.o");
    let data = std::fs::read(path).expect("the object is there");
    let object = ProgramFile::read(&data).expect("an object");
    let request = ShowRequest { deadline_seconds: 300.0, ..ShowRequest::of("loops.bpf.o", object) };
    let shown = show(&request, &Stop::never()).expect("it is an object");
    let shown: Value = serde_json::from_str(&shown).expect("it is JSON");
    let programs = shown["programs"].as_array().expect("a list");
    let rounds = |program: &Value| -> Vec<Option<u64>> {
        let loops = program["loops"].as_array().cloned().unwrap_or_default();
        loops.iter().map(|shown| shown["iterations"].as_u64()).collect()
    };
    let found: Vec<(&str, Vec<Option<u64>>)> = programs
        .iter()
        .map(|program| (program["name"].as_str().unwrap_or_default(), rounds(program)))
        .collect();
    let expected: Vec<(&str, Vec<Option<u64>>)> = ROUNDS
        .iter()
        .map(|(name, rounds)| (*name, rounds.iter().copied().map(Some).collect()))
        .collect();
    assert_eq!(found, expected);
}

/// Analyses a program of `objects/kernel_loops.bpf.o`.
fn bound(program: usize, unroll: &[&str]) -> Value {
    bound_of("kernel_loops.bpf.o", program, unroll)
}

/// Analyses a program of an object of `objects/`.
fn bound_of(name: &str, program: usize, unroll: &[&str]) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/objects").join(name);
    let data = std::fs::read(path).expect("the object is there");
    let object = ProgramFile::read(&data).expect("an object");
    let options = Options {
        target: "ebpf".into(),
        paths: Some(1),
        unroll: unroll.iter().map(|&limit| limit.to_owned()).collect(),
        ..Options::default()
    };
    let request = ProgramRequest { options, program, ..ProgramRequest::of(name, object) };
    let analysis = Analysis::start_until(request, Stop::never());
    loop {
        match analysis.next(Duration::from_secs(60)) {
            Poll::Event(Event::Result(report)) => {
                return serde_json::from_str(&report.json).expect("the result is JSON");
            }
            Poll::Event(_) | Poll::Pending => {}
            Poll::Finished => panic!("no result"),
        }
    }
}

#[test]
fn a_loop_that_the_kernel_limits_has_its_rounds_times_its_body() {
    let callback = bound(0, &[]);
    assert!(callback["error"].is_null(), "{callback}");
    let guarantee = &callback["guarantee"];
    assert_eq!(guarantee["verdict"], "bound");
    let why = guarantee["stopped"].as_str().unwrap_or_default();
    assert!(why.contains("may run 8388609 times (bpf_loop)"), "{why}");
    assert!(why.starts_with("the loop at kernel_loops.bpf.c:"), "{why}");
    let instructions = guarantee["counts"]["instructions"].as_u64().unwrap_or_default();
    // The callback has at most 7 instructions.
    assert!((8_388_608..9 * 8_388_608).contains(&instructions), "{instructions}");
    // Writes of other CPUs do not change the number of iterations.
    assert_eq!(callback["assumptions"], serde_json::json!([]), "{callback}");

    let budget = bound(1, &[]);
    let guarantee = &budget["guarantee"];
    let why = guarantee["stopped"].as_str().unwrap_or_default();
    assert!(why.contains("may run 8388609 times (may_goto)"), "{why}");
    let instructions = guarantee["counts"]["instructions"].as_u64().unwrap_or_default();
    assert!((3 * 8_388_608..7 * 8_388_608).contains(&instructions), "{instructions}");
    let conditions = budget["assumptions"].to_string();
    assert!(conditions.contains("the kernel ends may_goto after 8388608 rounds"), "{conditions}");
}

#[test]
fn a_loop_without_a_limit_of_its_own_has_that_of_the_verifier() {
    let endless = bound(2, &[]);
    assert!(endless["error"].is_null(), "{endless}");
    let guarantee = &endless["guarantee"];
    assert_eq!(guarantee["verdict"], "bound");
    assert_eq!(guarantee["counts"]["instructions"], 1_000_000);
    let why = guarantee["stopped"].as_str().unwrap_or_default();
    assert!(
        why.starts_with("no limit but the verifier's is known for the loop at kernel_loops.bpf.c:"),
        "{why}"
    );
    assert!(why.contains("--unroll N@kernel_loops.bpf.c:"), "{why}");
    let conditions = endless["assumptions"].to_string();
    assert!(conditions.contains("which limits a run to 1000000 instructions"), "{conditions}");
}

/// The loop counts in steps of eight to `len & 0x78`, with `len` from 8 to 96: at most twelve
/// iterations.
#[test]
fn a_loop_that_counts_by_eight_to_an_end_that_it_equals_is_bounded() {
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
