//! Pairs of programs, of `tests/objects/pairs.bpf.c`: those that do the same are proved to, and of
//! those that do not a packet is found for which they differ.

use slowpath_bpf::lift::{EntryValue, LiftOptions, MapContent, MapEntry};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::{Proof, prove};
use slowpath_ir::{Field, KnownBits, PacketFacts};
use slowpath_stop::{Limits, Stop};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn object() -> Object {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects/pairs.bpf.o");
    Object::parse(&std::fs::read(path).expect("the object exists")).expect("it is one")
}

fn programs(object: &Object) -> Vec<BpfProgram> {
    (0..object.programs.len()).map(|n| object.link(n, None).expect("links")).collect()
}

/// TCP over IPv6, of at least 100 bytes.
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

/// The programs whose names begin so, each with the one that it is to be compared with.
fn pairs<'a>(programs: &'a [BpfProgram], kind: &str) -> Vec<(&'a BpfProgram, &'a BpfProgram)> {
    let kind = format!("{kind}_");
    let variants = programs.iter().filter_map(|variant| {
        let rest = variant.name.strip_prefix(&kind)?;
        let originals = programs.iter().filter(|original| {
            rest.strip_prefix(&original.name).is_some_and(|r| r.is_empty() || r.starts_with('_'))
        });
        let original = originals.max_by_key(|original| original.name.len());
        Some((original.expect("a variant of a program"), variant))
    });
    variants.collect()
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

#[test]
fn programs_that_differ_are_refuted() {
    let object = object();
    let programs = programs(&object);
    let pairs = pairs(&programs, "differs");
    assert!(pairs.len() > 25);
    for (original, other) in pairs {
        let proof = compare(&object, original, other);
        let found = proof.counterexample.as_ref();
        let found = found.unwrap_or_else(|| panic!("{}: {proof:#?}", other.name));
        assert_ne!(found.original, found.specialised, "{}", other.name);
        assert!(!proof.proved, "{}", other.name);
    }
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
    // Of bytes that are not there nothing is said, and nothing is asked.
    facts.min_length = 60;
    assert!(records(&facts));
    facts.min_length = 20;
    assert!(parser(&facts) && records(&facts));
}

/// An array whose element 1 is 40, and a hash table with one element, 7.
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
        let stop = Stop::new(Limits { looks: Some(looks), ..Limits::default() });
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
