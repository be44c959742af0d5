//! Programs on the card, for packets about which facts are known.

use crate::common;

use common::{object, options, run};
use serde_json::Value;
use slowpath::{Arrivals, ArrivingProgram, ProgramFile, ProgramRequest};
use slowpath_bpf::Object;
use slowpath_ir::{KnownBits, PacketFacts};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Analyses the card's example for packets with these facts. With `behind`, the program runs behind
/// itself.
fn arriving(facts: Option<PacketFacts>, behind: bool) -> Value {
    let data = std::fs::read(example()).expect("the example");
    let object = Arc::new(Object::parse(&data).expect("an object"));
    let arrivals = move |_: Option<&_>, _: &_| Arrivals {
        facts: facts.clone(),
        assumptions: vec!["it does".to_owned()],
        notes: vec!["noted".to_owned()],
    };
    let in_front = if behind { vec![(Arc::clone(&object), 0)] } else { Vec::new() };
    let program = ArrivingProgram {
        name: "balancer".to_owned(),
        object,
        program: 0,
        upstream: in_front,
        arrivals: Arc::new(arrivals),
        contents: BTreeMap::new(),
    };
    let file = ProgramFile::arriving(program);
    run(ProgramRequest { options: options(), ..ProgramRequest::of("chain.yaml", file) }).0
}

fn example() -> String {
    format!("{}/../../examples/chain/load_balancer_card.bpf.o", env!("CARGO_MANIFEST_DIR"))
}

fn alone() -> Value {
    let data = std::fs::read(example()).expect("the example");
    let read = ProgramFile::read(&data).expect("an object");
    run(ProgramRequest { options: options(), ..ProgramRequest::of("example.bpf.o", read) }).0
}

fn rate(result: &Value) -> f64 {
    assert_eq!(result["error"], Value::Null, "{result}");
    result["guarantee"]["bitrate_bps"].as_f64().expect("a rate")
}

/// Returns facts that hold for one packet only, given as hexadecimal digits; `--` becomes zero.
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
fn the_slowest_packet_alone_is_as_slow() {
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
fn behind_others_nothing_is_known_to_be_taken() {
    let any = Some(PacketFacts::lengths(14, 4000));
    let (behind, first) = (arriving(any.clone(), true), arriving(any, false));
    assert_eq!(rate(&behind), rate(&first));
    assert_eq!(rate(&first), rate(&alone()));
    assert_eq!(behind["guarantee"]["verdict"], "bound");
    assert_eq!(behind["guarantee"]["stopped"], "arriving packets are known by facts only");
    assert_eq!(behind["paths"], Value::Array(Vec::new()));
    assert_eq!(first["guarantee"]["verdict"], "conditional");
    assert_ne!(first["paths"], Value::Array(Vec::new()));
    assert_eq!(behind["assumptions"][0], "it does");
    assert_eq!(behind["notes"].as_array().and_then(|notes| notes.last()), Some(&"noted".into()));
}

#[test]
fn where_nothing_arrives_there_is_nothing_to_guarantee() {
    for facts in [None, Some(PacketFacts::lengths(2000, 4000))] {
        let result = arriving(facts, true);
        let error = result["error"].as_str().expect("an error");
        assert_eq!(error, "no packet gets here through the programs in front");
        assert_eq!(result["guarantee"], Value::Null);
    }
}

#[test]
fn conditions_are_those_of_what_a_program_uses() {
    use slowpath::{Stop, conditions_on_card};
    let data = std::fs::read(example()).expect("the example");
    let parsed = Object::parse(&data).expect("an object");
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
