//! Loops of BPF programs whose bounds follow from the program: `objects/loops.bpf.c` says which.

use serde_json::Value;
use slowpath::{ProgramFile, ShowRequest, Stop, show};
use std::path::PathBuf;

/// Rounds of the loops of each program, in the order of their first instructions.
const ROUNDS: [(&str, &[u64]); 8] = [
    ("register_counter", &[17]),
    ("stack_counter", &[9]),
    ("packet_counter", &[40]),
    // Packets of at most 1500 bytes in steps of 16, and the round that finds the end.
    ("headers", &[94]),
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
