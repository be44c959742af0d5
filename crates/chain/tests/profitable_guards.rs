//! Tests that a rewritten program gets a guard only if its slowest packet does not execute more
//! instructions than in the original. The tests count instructions over all pairs of paths of a
//! proof, unlike the search that chooses the checks of the guard.

use crate::random;

use random::{facts, random};
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::{InstructionCounts, prove};
use slowpath_chain::optimize::{Guards, Optimized, optimize_for};
use slowpath_generate::{Features, Programs};
use slowpath_ir::{Field, KnownBits, PacketFacts};
use slowpath_specialise::{Mode, Specialised};
use slowpath_stop::{Limits, Stop};
use std::collections::BTreeSet;
use std::time::Duration;

/// Number of random programs; `SLOWPATH_OPTIMIZED` sets another number.
const PROGRAMS: u64 = 60;
/// Time limit for one program.
const TIME: Duration = Duration::from_secs(2);

fn program(name: &str) -> (Object, BpfProgram) {
    let object = Object::parse(include_bytes!("objects/guards.bpf.o")).expect("it is an object");
    let number = object.programs.iter().position(|program| program.name == name);
    let program = object.link(number.expect("it is there"), None).expect("it is complete");
    (object, program)
}

/// Returns facts about packets of at least 60 bytes; `bytes` are known bytes by offset.
fn known(bytes: impl IntoIterator<Item = (u16, u8)>) -> PacketFacts {
    let mut facts = PacketFacts::lengths(60, 1500);
    facts.bits.extend(bytes.into_iter().map(|(at, byte)| (at, KnownBits::all(byte))));
    facts
}

/// Adds the fact that byte 23 has one of four values.
fn few_values(mut facts: PacketFacts) -> PacketFacts {
    facts.values.insert(Field { offset: 23, bytes: 1 }, BTreeSet::from([6, 17, 58, 132]));
    facts
}

fn optimized(
    (object, program): &(Object, BpfProgram),
    facts: &PacketFacts,
    guards: Guards,
    stop: &Stop,
) -> Optimized {
    let (how, options) = ((Mode::Guard, guards), LiftOptions::default());
    optimize_for((object, program), (facts, None), how, &options, stop).expect("it is analysed")
}

/// Returns the maximum number of instructions that a packet executes in the original and in the
/// rewritten program. Returns `None` if they are not proved equivalent.
fn executed(
    (object, program): &(Object, BpfProgram),
    made: &Specialised,
    facts: &PacketFacts,
) -> Option<InstructionCounts> {
    let (options, stop) = (LiftOptions::default(), Stop::never());
    let proof = prove(object, program, &made.program, facts, &options, &stop);
    let proof = proof.expect("it is analysed");
    proof.proved.then_some(proof.executed)
}

#[test]
fn a_program_whose_guard_takes_more_than_it_saves_stays_as_it_was() {
    let (little, facts) = (program("little"), few_values(known([])));
    let all = optimized(&little, &facts, Guards::All, &Stop::never());
    let made = all.specialised.expect("it can be rewritten");
    let InstructionCounts { before, after, .. } =
        executed(&little, &made, &facts).expect("it is proved");
    assert!(after >= before, "{before} {after}");
    let paying = optimized(&little, &facts, Guards::Profitable, &Stop::never());
    assert!(paying.specialised.is_none() && paying.proof.is_none());
    let costs = made.guard.expect("it relies on a byte").instructions() as u64;
    let why = format!(
        "a guard would cost {costs} instructions and save {}: it stays unchanged",
        before + costs - after
    );
    assert_eq!(paying.remarks, [why]);
}

#[test]
fn what_costs_more_to_check_than_it_saves_is_not_relied_on() {
    let facts = few_values(known([(14, 0x45)]));
    let mixed = program("mixed");
    let all = optimized(&mixed, &facts, Guards::All, &Stop::never());
    let all = all.specialised.expect("it can be rewritten");
    assert_eq!((&all.bytes[..], all.fields.len()), (&[14][..], 1));
    let paying = optimized(&mixed, &facts, Guards::Profitable, &Stop::never());
    let made = paying.specialised.unwrap_or_else(|| panic!("{:?}", paying.remarks));
    assert!(paying.proof.is_some_and(|proof| proof.proved));
    let [all, fewer] = [&all, &made].map(|made| executed(&mixed, made, &facts).expect("proved"));
    assert!(fewer.after <= all.after && fewer.after < fewer.before, "{fewer:?} {all:?}");
    assert_eq!((&made.bytes[..], made.fields.len()), (&[14][..], 0), "{:?}", paying.remarks);
    let [why] = &paying.remarks[..] else { panic!("{:?}", paying.remarks) };
    let saves = why.strip_prefix("byte 23 is not used: its check costs 5 instructions and saves ");
    let saves: u64 = saves.and_then(|saves| saves.parse().ok()).expect(why);
    assert!(saves < 5, "{why}");
}

#[test]
fn a_guard_that_is_well_worth_it_checks_all_that_is_of_use() {
    let (many, facts) = (program("many"), known((16..32).map(|at| (at, at as u8))));
    let all = optimized(&many, &facts, Guards::All, &Stop::never());
    let paying = optimized(&many, &facts, Guards::Profitable, &Stop::never());
    assert_eq!(paying.remarks, [""; 0]);
    let [all, paying] = [all, paying].map(|made| made.specialised.expect("it is rewritten"));
    assert_eq!(all.program.insns, paying.program.insns);
    let guard = paying.guard.expect("it relies on bytes");
    let loads: Vec<(u16, u8)> = guard.comparisons.iter().map(|o| (o.offset, o.bytes)).collect();
    assert_eq!(loads, [(16, 8), (24, 8)]);
}

#[test]
fn no_slowest_path_of_a_random_program_gets_slower() {
    let count = std::env::var("SLOWPATH_OPTIMIZED").ok().and_then(|text| text.parse().ok());
    let programs = Programs::new(Features { maps: false, ..Features::default() }, 12);
    let (mut compared, mut left, mut fewer) = (0, 0, 0);
    for seed in 0..count.unwrap_or(PROGRAMS) {
        let object = Object::parse(&programs.from_seed(seed).object()).expect("an object");
        let linked = object.link(0, None).expect("links");
        let (subject, facts) = ((object, linked), facts(&mut random(seed)));
        let stop = Stop::new(Limits { time: Some(TIME), ..Limits::default() });
        let made = optimized(&subject, &facts, Guards::Profitable, &stop);
        left += usize::from(made.remarks.iter().any(|why| why.contains("a guard would cost")));
        fewer +=
            usize::from(made.remarks.iter().any(|why| why.contains("not used: its check costs")));
        let Some(made) = made.specialised else { continue };
        let Some(InstructionCounts { before, after, .. }) = executed(&subject, &made, &facts)
        else {
            continue;
        };
        assert!(after <= before, "{seed}: {before} {after}");
        compared += 1;
    }
    eprintln!("{compared} rewritten, {fewer} for fewer facts, {left} left as they were");
    assert!(compared > 0 && left > 0, "{compared} {left}");
}
