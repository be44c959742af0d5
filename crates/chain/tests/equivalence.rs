//! Tests that equivalent pairs of programs in `tests/objects/pairs.bpf.c` are proved. For each
//! other pair, the comparison finds a packet on which the two programs differ.

use crate::pairs;

use pairs::{pairs, programs};
use slowpath_bpf::lift::{EntryValue, LiftOptions, MapContent, MapEntry};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::{Proof, prove};
use slowpath_ir::{Field, KnownBits, PacketFacts};
use slowpath_stop::{Limits, Stop};
use std::collections::{BTreeMap, BTreeSet};

fn object() -> Object {
    pairs::object("pairs")
}

/// Returns facts that describe IPv6 packets with a TCP header and at least 100 bytes.
fn facts() -> PacketFacts {
    let mut facts = PacketFacts::lengths(100, 1500);
    for (offset, byte) in [(12, 0x86), (13, 0xdd), (20, 6)] {
        facts.bits.insert(offset, KnownBits::all(byte));
    }
    facts.bits.insert(14, KnownBits { mask: 0xf0, value: 0x60 });
    facts
}

fn compare(object: &Object, original: &BpfProgram, other: &BpfProgram) -> Proof {
    let never = Stop::never();
    let options = LiftOptions::default();
    prove(object, original, other, &facts(), &options, &never).expect("both can be lifted")
}

#[test]
fn programs_that_do_the_same_are_proved() {
    let object = object();
    let programs = programs(&object);
    let pairs = pairs(&programs, "same");
    assert!(pairs.len() > 15);
    for (original, other) in pairs {
        let proof = compare(&object, original, other);
        assert!(proof.proved && proof.paths > 0, "{}: {proof:#?}", other.name);
    }
}

/// Pairs of programs that are not equivalent, with the part of the final state in which they
/// differ.
const DIFFERENCES: [(&str, &str); 38] = [
    ("differs_parser_check_off_by_one", "the result"),
    ("differs_parser_no_store", "byte 21 of the packet"),
    ("differs_parser_other_byte", "map counters"),
    ("differs_parser_other_counter", "map counters"),
    ("differs_parser_no_counter", "map counters"),
    ("differs_guard_dropped", "the result"),
    ("differs_guard_off_by_one", "the result"),
    ("differs_magic_once", "the result"),
    ("differs_loop_one_less", "the result"),
    ("differs_offset_too_early", "the result"),
    ("differs_found_other", "the result"),
    ("differs_table_swapped", "the result"),
    ("differs_table_other_key", "map flows"),
    ("differs_table_other_value", "map flows"),
    ("differs_table_after_failure", "map flows.present"),
    ("differs_table_atomically", "the arguments of helper calls"),
    ("differs_twice_swapped", "map flows"),
    ("differs_deletes_nothing", "map flows.present"),
    ("differs_noted_not", "the arguments of helper calls"),
    ("differs_redirects_elsewhere", "the arguments of helper calls"),
    ("differs_redirects_twice", "the arguments of helper calls"),
    ("differs_redirects_without", "the arguments of helper calls"),
    ("differs_by_map_other_key", "the result"),
    ("differs_head_other_delta", "the start of the packet"),
    ("differs_head_not_written", "byte -4 of the packet"),
    ("differs_tail_one_more", "the end of the packet"),
    ("differs_meta_other_value", "byte -4 of the packet"),
    ("differs_meta_not_moved", "the start of the metadata"),
    ("differs_tells_other", "the arguments of helper calls"),
    ("differs_tells_less", "the arguments of helper calls"),
    ("differs_reserves_other", "map ring"),
    ("differs_reserves_discarded", "the arguments of helper calls"),
    ("differs_prints_other_number", "the arguments of helper calls"),
    ("differs_prints_other_text", "the arguments of helper calls"),
    ("differs_random_swapped", "the result"),
    ("differs_routed_other_family", "the arguments of helper calls"),
    ("differs_routed_other_flags", "the arguments of helper calls"),
    ("differs_queue_other", "the result"),
];

#[test]
fn programs_that_differ_are_refuted() {
    let object = object();
    let programs = programs(&object);
    let mut differences = Vec::new();
    for (original, other) in pairs(&programs, "differs") {
        let proof = compare(&object, original, other);
        let found = proof.counterexample.as_ref();
        let found = found.unwrap_or_else(|| panic!("{}: {proof:#?}", other.name));
        assert_ne!(found.original, found.specialised, "{}", other.name);
        assert!(!proof.proved, "{}", other.name);
        differences.push((other.name.clone(), found.what.clone()));
    }
    let expected = DIFFERENCES.map(|(name, what)| (name.to_owned(), what.to_owned()));
    assert_eq!(differences, expected);
}

#[test]
fn facts_are_needed_for_what_they_are_used_for() {
    let object = object();
    let programs = programs(&object);
    let find = |name: &str| programs.iter().find(|p| p.name == name).expect("it is there");
    let (original, other) = (find("parser"), find("same_parser_branches"));
    let mut forgotten = facts();
    for offset in [12, 13, 20] {
        let mut fewer = facts();
        fewer.bits.remove(&offset);
        let options = LiftOptions::default();
        let proof = prove(&object, original, other, &fewer, &options, &Stop::never());
        let proof = proof.expect("both can be lifted");
        assert!(!proof.proved && proof.counterexample.is_some(), "{offset}: {proof:#?}");
        forgotten.bits.remove(&offset);
    }
    assert!(forgotten.hold(&[0x60; 100]));
}

#[test]
fn every_kind_of_fact_is_used() {
    let object = object();
    let programs = programs(&object);
    let find = |name: &str| programs.iter().find(|p| p.name == name).expect("it is there");
    let proved = |facts: &PacketFacts, original: &str, other: &str| {
        let options = LiftOptions::default();
        let (original, other) = (find(original), find(other));
        let proof = prove(&object, original, other, facts, &options, &Stop::never());
        let proof = proof.expect("both can be lifted");
        assert_eq!(proof.proved, proof.counterexample.is_none(), "{proof:#?}");
        proof.proved
    };
    let parser = |facts: &PacketFacts| proved(facts, "parser", "same_parser_branches");
    let mut facts = facts();
    assert!(parser(&facts));
    facts.bits.remove(&20);
    facts.values.insert(Field { offset: 20, bytes: 1 }, BTreeSet::from([6]));
    assert!(parser(&facts));
    facts.values.insert(Field { offset: 20, bytes: 1 }, BTreeSet::from([6, 17]));
    assert!(!parser(&facts));
    facts.bits.insert(20, KnownBits { mask: 0x10, value: 0 });
    assert!(parser(&facts));

    let records = |facts: &PacketFacts| proved(facts, "reserves", "differs_reserves_other");
    facts.bits.insert(20, KnownBits::all(6));
    assert!(!records(&facts));
    let [first, second] = [60, 61].map(|offset| Field { offset, bytes: 1 });
    facts.equal.insert((first, second));
    assert!(records(&facts));
    // Packets may be too short for these bytes; the facts say nothing about such packets.
    facts.min_length = 60;
    assert!(records(&facts));
    facts.min_length = 20;
    assert!(parser(&facts) && records(&facts));
}

/// Returns map contents: an array with 40 in element 1, and a hash table with one entry, whose
/// value is 7.
fn contents() -> BTreeMap<String, MapContent> {
    let entry = |key: Vec<u8>, value: u64| {
        let value = EntryValue::Bytes(value.to_le_bytes().to_vec());
        MapContent { entries: vec![MapEntry { key, value }], ..MapContent::default() }
    };
    let key = [1u64, 2].map(u64::to_le_bytes).concat();
    BTreeMap::from([
        ("counters".to_owned(), entry(1u32.to_le_bytes().to_vec(), 40)),
        ("flows".to_owned(), entry(key, 7)),
    ])
}

#[test]
fn what_is_known_of_maps_is_used() {
    let object = object();
    let programs = programs(&object);
    let find = |name: &str| programs.iter().find(|p| p.name == name).expect("it is there");
    let known = LiftOptions { contents: contents(), ..LiftOptions::default() };
    let proof = |other: &str, options: &LiftOptions| {
        let (original, other) = (find("settings"), find(other));
        let proof = prove(&object, original, other, &facts(), options, &Stop::never());
        proof.expect("both can be lifted")
    };
    let right = proof("known_settings", &known);
    assert!(right.proved, "{right:#?}");
    let wrong = proof("other_settings", &known);
    let found = wrong.counterexample.expect("another result");
    assert_eq!((found.original.result, found.specialised.result), (3, 2));
    let unknown = proof("known_settings", &LiftOptions::default());
    assert!(!unknown.proved && unknown.counterexample.is_some(), "{unknown:#?}");
}

#[test]
fn a_proof_that_is_stopped_is_none() {
    let object = object();
    let programs = programs(&object);
    let (original, other) = pairs(&programs, "same")[0];
    let proof = |looks| {
        let stop = Stop::new(Limits { polls: Some(looks), ..Limits::default() });
        let proof = prove(&object, original, other, &facts(), &LiftOptions::default(), &stop);
        proof.expect("it is no error")
    };
    assert!(!proof(0).proved && !proof(2).proved);
    for looks in 0..40 {
        let proof = proof(looks);
        assert_eq!(proof.counterexample, None, "{looks}");
        assert_eq!(proof.proved, proof.undecided.is_empty(), "{looks}: {proof:?}");
    }
}
