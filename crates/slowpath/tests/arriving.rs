//! Tests the analysis of programs on a SmartNIC that receive only packets for which certain facts
//! hold.

use crate::common;

use common::{example, object, options, run};
use serde_json::Value;
use slowpath::{Arrivals, ArrivingProgram, ProgramFile, ProgramRequest};
use slowpath_bpf::Object;
use slowpath_ir::{KnownBits, PacketFacts};
use std::collections::BTreeMap;
use std::sync::Arc;

const EXAMPLE: &str = "chain/load_balancer_card.bpf.o";

/// Analyses an example program on the SmartNIC, for packets for which `facts` hold. If `facts` is
/// `None`, no packet arrives. With `has_upstream`, the packets come from a copy of the program.
fn arriving(facts: Option<PacketFacts>, has_upstream: bool) -> Value {
    let object = Arc::new(Object::parse(&example(EXAMPLE)).expect("an object"));
    let arrivals = move |_: Option<&_>, _: &_| Arrivals {
        facts: facts.clone(),
        assumptions: vec!["it does".to_owned()],
        notes: vec!["noted".to_owned()],
    };
    let upstream = if has_upstream { vec![(Arc::clone(&object), 0)] } else { Vec::new() };
    let program = ArrivingProgram {
        name: "balancer".to_owned(),
        object,
        program: 0,
        upstream,
        arrivals: Arc::new(arrivals),
        contents: BTreeMap::new(),
    };
    let file = ProgramFile::arriving(program);
    run(ProgramRequest { options: options(), ..ProgramRequest::of("chain.yaml", file) }).0
}

/// Analyses the example for the SmartNIC without facts about its packets.
fn alone() -> Value {
    let read = ProgramFile::read(&example(EXAMPLE)).expect("an object");
    run(ProgramRequest { options: options(), ..ProgramRequest::of("example.bpf.o", read) }).0
}

fn rate(result: &Value) -> f64 {
    assert_eq!(result["error"], Value::Null, "{result}");
    result["guarantee"]["bitrate_bps"].as_f64().expect("a rate")
}

/// Returns facts that only the packet `packet` satisfies. `packet` has two hexadecimal digits for
/// each byte; `--` stands for zero.
fn only(packet: &str) -> PacketFacts {
    let bytes: Vec<&str> = (0..packet.len() / 2).map(|at| &packet[2 * at..2 * at + 2]).collect();
    let length = u16::try_from(bytes.len()).expect("a packet");
    let mut facts = PacketFacts::lengths(length, length);
    for (offset, byte) in (0..).zip(bytes) {
        let byte = u8::from_str_radix(byte, 16).unwrap_or(0);
        facts.bits.insert(offset, KnownBits::all(byte));
    }
    facts
}

#[test]
fn facts_of_the_slowest_packet_keep_the_rate() {
    let alone = alone();
    let packet = alone["paths"][0]["witness"]["packet"].as_str().expect("a packet");
    let found = arriving(Some(only(packet)), true);
    assert_eq!(rate(&found), rate(&alone));
    assert_eq!(found["program"], "balancer");
}

#[test]
fn packets_that_do_not_take_the_slowest_path_are_faster() {
    let alone = alone();
    let packet = alone["paths"][0]["witness"]["packet"].as_str().expect("a packet");
    // Packets without IPv6.
    let mut facts = only(packet);
    facts.bits.insert(12, KnownBits::all(0x08));
    assert!(rate(&arriving(Some(facts), true)) > 1.5 * rate(&alone));
    // Longer packets.
    let longer = PacketFacts::lengths(120, 1500);
    assert!(rate(&arriving(Some(longer), true)) > 1.5 * rate(&alone));
}

#[test]
fn with_upstream_programs_the_guarantee_is_only_a_bound() {
    let any = Some(PacketFacts::lengths(14, 4000));
    let (downstream, first) = (arriving(any.clone(), true), arriving(any, false));
    assert_eq!(rate(&downstream), rate(&first));
    assert_eq!(rate(&first), rate(&alone()));
    assert_eq!(downstream["guarantee"]["verdict"], "bound");
    assert_eq!(downstream["guarantee"]["stopped"], "arriving packets are known by facts only");
    assert_eq!(downstream["paths"], Value::Array(Vec::new()));
    assert_eq!(first["guarantee"]["verdict"], "conditional");
    assert_ne!(first["paths"], Value::Array(Vec::new()));
    assert_eq!(downstream["assumptions"][0], "it does");
    let notes = downstream["notes"].as_array();
    assert_eq!(notes.and_then(|notes| notes.last()), Some(&"noted".into()));
}

#[test]
fn without_arriving_packets_there_is_no_guarantee() {
    for facts in [None, Some(PacketFacts::lengths(2000, 4000))] {
        let result = arriving(facts, true);
        let error = result["error"].as_str().expect("an error");
        assert_eq!(error, "earlier programs pass no packets here");
        assert_eq!(result["guarantee"], Value::Null);
    }
}

#[test]
fn conditions_follow_from_the_helpers_that_a_program_uses() {
    use slowpath::{Stop, conditions_on_card};
    let parsed = Object::parse(&example(EXAMPLE)).expect("an object");
    let found = conditions_on_card(&parsed, 0, &Stop::never());
    assert!(found.iter().any(|sentence| sentence.starts_with("indices of array elements")));
    assert!(found.iter().all(|sentence| !sentence.contains("the packet's start")));
    // The list is empty for a program that the card refuses.
    let refused = Object::parse(&object("chain_second.bpf.o")).expect("an object");
    let request = ProgramFile::read(&object("chain_second.bpf.o")).expect("an object");
    let on_card = run(ProgramRequest { options: options(), ..ProgramRequest::of("x", request) }).0;
    let found = conditions_on_card(&refused, 0, &Stop::never());
    assert_eq!(found.is_empty(), on_card["error"] != Value::Null, "{on_card}");
}
