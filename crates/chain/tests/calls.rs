//! Pairs of programs whose effect is in calls of helpers, of `tests/objects/calls.bpf.c`: what they
//! print and tell user space is compared, and what is not compared is never proved.

use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::{Proof, prove};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::path::Path;

fn object() -> Object {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects/calls.bpf.o");
    Object::parse(&std::fs::read(path).expect("the object exists")).expect("it is one")
}

/// Programs whose names begin so, proved to do the same as those whose names they go on with.
fn proofs(kind: &str) -> Vec<(String, Proof)> {
    let object = object();
    let programs = (0..object.programs.len()).map(|n| object.link(n, None).expect("links"));
    let programs: Vec<BpfProgram> = programs.collect();
    let (options, facts) = (LiftOptions::default(), PacketFacts::lengths(100, 1500));
    let kind = format!("{kind}_");
    let variants = programs.iter().filter_map(|variant| {
        let rest = variant.name.strip_prefix(&kind)?;
        let originals = programs.iter().filter(|original| {
            rest.strip_prefix(&original.name).is_some_and(|r| r.is_empty() || r.starts_with('_'))
        });
        let original = originals.max_by_key(|original| original.name.len());
        let original = original.expect("a variant of a program");
        let proof = prove(&object, original, variant, &facts, &options, &Stop::never());
        Some((variant.name.clone(), proof.expect("both can be lifted")))
    });
    variants.collect()
}

#[test]
fn programs_that_print_and_tell_the_same_are_proved() {
    let proofs = proofs("same");
    assert_eq!(proofs.len(), 8);
    for (name, proof) in proofs {
        assert!(proof.proved && proof.paths > 0, "{name}: {proof:#?}");
    }
}

#[test]
fn programs_that_print_or_tell_something_else_are_refuted() {
    let proofs = proofs("differs");
    assert_eq!(proofs.len(), 8);
    for (name, proof) in proofs {
        let found = proof.counterexample.as_ref();
        let found = found.unwrap_or_else(|| panic!("{name}: {proof:#?}"));
        assert_ne!(found.original, found.specialised, "{name}");
        assert!(!proof.proved, "{name}");
    }
}

#[test]
fn what_is_not_compared_is_not_proved() {
    let proofs = proofs("open");
    assert_eq!(proofs.len(), 7);
    for (name, proof) in proofs {
        let why = "is not compared";
        let expected = proof.undecided.iter().any(|reason| reason.contains(why));
        assert!(expected || name == "open_copies_less", "{name}: {proof:#?}");
        assert!(!proof.proved, "{name}: {proof:#?}");
    }
}

/// An update may overwrite an element that was found before.
#[test]
fn what_an_update_overwrites_is_not_what_was_there() {
    let proofs = proofs("never");
    assert_eq!(proofs.len(), 3);
    for (name, proof) in proofs {
        assert!(!proof.proved, "{name}: {proof:#?}");
    }
}
