//! Tests facts about fields that can have only a few values. One program establishes such a fact,
//! and the next program relies on it.

use crate::assemble;

use slowpath_bpf::Object;
use slowpath_bpf::lift::LiftOptions;
use slowpath_chain::facts::{FactsOptions, Outgoing, any_packet, facts_after};
use slowpath_chain::optimize::{Optimized, optimize};
use slowpath_generate::{Features, Programs};
use slowpath_ir::{Field, PacketFacts};
use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::compare;
use slowpath_oracle::Oracle;
use slowpath_specialise::Mode;
use slowpath_stop::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// The protocol field of the IPv4 header.
const PROTOCOL: Field = Field { offset: 23, bytes: 1 };
const TCP: u64 = 6;
const UDP: u64 = 17;

/// Returns a program that runs `text` for IPv4 packets, with the protocol in `r5`. It drops all
/// other packets.
fn program(text: &str) -> String {
    format!(
        "r2 = *(u32 *)(r1 +0)
        r3 = *(u32 *)(r1 +4)
        r4 = r2
        r4 += 34
        if r4 > r3 goto drop
        r5 = *(u16 *)(r2 +12)
        r5 = be16 r5
        if r5 != 0x800 goto drop
        r5 = *(u8 *)(r2 +23)
        {text}
        drop:
        r0 = 1
        exit"
    )
}

/// Returns a program that lets only TCP and UDP over IPv4 pass.
fn filter() -> String {
    program("if r5 == 6 goto pass\nif r5 != 17 goto drop\npass:\nr0 = 2\nexit")
}

/// Returns a program that handles TCP and UDP differently, and drops all other packets.
fn balancer() -> String {
    program(
        "if r5 == 6 goto tcp
        if r5 == 17 goto udp
        goto drop
        tcp:
        r0 = *(u8 *)(r2 +30)
        r0 &= 1
        exit
        udp:
        r0 = 3
        exit",
    )
}

/// Returns an object without maps, for programs that do not use maps.
fn object() -> Object {
    let program = Programs::new(Features { maps: false, ..Features::default() }, 1).from_seed(0);
    Object::parse(&program.object()).expect("it is one")
}

fn behind_the_filter(object: &Object) -> PacketFacts {
    let (program, options) = (assemble::program(&filter()), FactsOptions::default());
    let found = facts_after(object, &program, &any_packet(), &[2], &options, &Stop::never());
    match found.expect("it can be analysed") {
        Outgoing::Packets(found) => found.facts,
        Outgoing::Nothing(_) => panic!("packets pass the filter"),
    }
}

fn optimized(object: &Object, facts: &PacketFacts, mode: Mode) -> Optimized {
    let (program, options) = (assemble::program(&balancer()), LiftOptions::default());
    let made = optimize(object, &program, facts, mode, &options, &Stop::never());
    made.expect("it can be analysed")
}

#[test]
fn what_passes_a_filter_is_not_asked_for_again() {
    let object = object();
    let facts = behind_the_filter(&object);
    let values = BTreeMap::from([(PROTOCOL, BTreeSet::from([TCP, UDP]))]);
    assert_eq!(facts.values, values);
    for mode in [Mode::Trust, Mode::Guard] {
        let Optimized { specialised, proof, remarks, .. } = optimized(&object, &facts, mode);
        let made = specialised.unwrap_or_else(|| panic!("{mode:?}: {remarks:?}"));
        assert!(proof.is_some_and(|proof| proof.proved), "{mode:?}");
        assert_eq!(made.fields, [PROTOCOL], "{mode:?}");
        let rests = made.changes.iter().filter(|dropped| dropped.fields == [PROTOCOL]);
        assert!(rests.count() > 0, "{mode:?}");
        match &made.guard {
            Some(guard) => assert_eq!((mode, &guard.values), (Mode::Guard, &values)),
            None => assert_eq!(mode, Mode::Trust),
        }
    }
}

#[test]
fn in_the_kernel_packets_with_other_values_are_treated_as_by_the_original() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let object = object();
    let facts = behind_the_filter(&object);
    let original = assemble::program(&balancer());
    let first = kernel.load_rewritten(&object, &original).expect("it is accepted");
    let mut compared = 0;
    for mode in [Mode::Trust, Mode::Guard] {
        let made = optimized(&object, &facts, mode).specialised.expect("it is proved");
        let second = kernel.load_rewritten(&object, &made.program).expect("it is accepted");
        for protocol in 0..=u8::MAX {
            let mut packet = vec![protocol; 60];
            packet[12..14].copy_from_slice(&[8, 0]);
            packet[14] = 0x45;
            packet[23] = protocol;
            if mode == Mode::Guard || facts.hold(&packet) {
                let found = compare(&first, &second, &packet).expect("it runs");
                assert_eq!(found, None, "{mode:?} {protocol}");
                compared += 1;
            }
        }
    }
    Oracle::Kernel.compared(compared, "packets with any value of a field");
}
