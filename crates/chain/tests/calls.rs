//! Tests pairs of programs in `tests/objects/calls.bpf.c` that differ in their helper calls. The
//! proof compares the programs' output and their messages to user space. If a program has effects
//! that the proof does not compare, it must stay undecided.

use crate::pairs;

use slowpath_bpf::lift::LiftOptions;
use slowpath_chain::equivalence::{Proof, prove};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::BTreeMap;

/// For each program named `KIND_NAME_MORE`, where `KIND` is `kind`, tries to prove it equivalent to
/// the program `NAME`. Returns each proof with the name of the program `KIND_NAME_MORE`.
fn proofs(kind: &str) -> Vec<(String, Proof)> {
    let object = pairs::object("calls");
    let programs = pairs::programs(&object);
    let (options, facts) = (LiftOptions::default(), PacketFacts::lengths(100, 1500));
    let proved = pairs::pairs(&programs, kind).into_iter().map(|(original, variant)| {
        let proof = prove(&object, original, variant, &facts, &options, &Stop::never());
        (variant.name.clone(), proof.expect("both can be lifted"))
    });
    proved.collect()
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
        assert_eq!(found.what, "the arguments of helper calls", "{name}");
        assert_ne!(found.original.calls, found.specialised.calls, "{name}");
        assert!(!proof.proved, "{name}");
    }
}

/// Returns the sentence about a difference that the solver has found, although runs of both
/// programs do not confirm it. `what` is the part of the state that differs.
fn unconfirmed(what: &str) -> String {
    format!(
        "the solver says that {what} differs, but a run does not take the path that the solver found"
    )
}

/// For each program of a kind, returns the reasons why its proof is undecided. Panics if a program
/// is proved or refuted.
fn reasons(kind: &str) -> BTreeMap<String, Vec<String>> {
    let open = |(name, proof): (String, Proof)| {
        assert!(!proof.proved && proof.counterexample.is_none(), "{name}: {proof:#?}");
        (name, proof.undecided)
    };
    proofs(kind).into_iter().map(open).collect()
}

fn named<const N: usize>(reasons: [(&str, Vec<String>); N]) -> BTreeMap<String, Vec<String>> {
    reasons.map(|(name, reasons)| (name.to_owned(), reasons)).into()
}

#[test]
fn what_is_not_compared_is_not_proved() {
    let printed = |helper: &str| vec![format!("effects and results of {helper} are not compared")];
    let copied = || vec!["packet bytes that bpf_perf_event_output copies are not compared".into()];
    let expected = named([
        ("open_stack_text", printed("bpf_trace_printk")),
        ("open_local_text", printed("bpf_trace_printk")),
        ("open_array_text", printed("bpf_trace_vprintk")),
        ("open_copies_less", vec![unconfirmed("the arguments of helper calls")]),
        ("open_copies_written", copied()),
        ("open_copies_written_late", copied()),
        ("open_copies_moved", copied()),
    ]);
    assert_eq!(reasons("open"), expected);
}

/// Checks that a map element that a look-up has found counts as changed after an update that may
/// overwrite it.
#[test]
fn what_an_update_overwrites_is_not_what_was_there() {
    let result = || unconfirmed("the result");
    let expected = named([
        ("never_updates_value", vec![unconfirmed("map by_cpu.inner"), result()]),
        ("never_updates_read", vec![result()]),
        ("never_updates_read_before", vec![result()]),
    ]);
    assert_eq!(reasons("never"), expected);
}
