//! Random programs, rewritten for random facts: what is given out is proved, and agrees with the
//! original in the kernel; what is not proved stays as it was, and it is said why.

use proptest::prelude::Rng;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use slowpath_bpf::Object;
use slowpath_bpf::lift::LiftOptions;
use slowpath_chain::optimize::optimize;
use slowpath_generate::sequence::{Abilities, Sequences};
use slowpath_generate::{Features, Programs};
use slowpath_ir::{KnownBits, PacketFacts};
use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::{compare, compare_maps};
use slowpath_oracle::Oracle;
use slowpath_specialise::Mode;
use slowpath_stop::{Limits, Stop};
use std::collections::BTreeMap;
use std::time::Duration;

/// Programs, unless `SLOWPATH_OPTIMIZED` says how many.
const PROGRAMS: u64 = 120;
/// Sequences of calls, unless `SLOWPATH_OPTIMIZED` says how many.
const SEQUENCES: u64 = 60;
/// Packets for each program and mode.
const PACKETS: usize = 40;
/// Longest search for a program and mode.
const TIME: Duration = Duration::from_secs(1);
/// Lengths of packets, in bytes.
const LENGTHS: (u16, u16) = (14, 130);

fn random(seed: u64) -> TestRng {
    let mut bytes = [3; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    TestRunner::new_with_rng(Config::default(), rng).new_rng()
}

fn below(rng: &mut TestRng, end: usize) -> usize {
    rng.next_u32() as usize % end
}

fn bytes(rng: &mut TestRng, length: usize) -> Vec<u8> {
    let edges = [0, 1, 2, 4, 0x1f, 0x20, 0x7f, 0x80, 0xff];
    let byte = |_| if below(rng, 3) == 0 { rng.next_u32() as u8 } else { edges[below(rng, 9)] };
    (0..length).map(byte).collect()
}

/// Facts that hold for some packet.
fn facts(rng: &mut TestRng) -> PacketFacts {
    let least = u32::from(LENGTHS.0) + rng.next_u32() % 80;
    let mut facts = PacketFacts::lengths(least as u16, LENGTHS.1);
    let share = [1, 5, 9][below(rng, 3)];
    for (offset, byte) in (0..).zip(bytes(rng, usize::from(LENGTHS.1))) {
        if below(rng, 10) < share {
            let mask = if below(rng, 5) > 0 { 0xff } else { rng.next_u32() as u8 };
            facts.bits.extend(KnownBits::of(mask, byte).map(|bits| (offset, bits)));
        }
    }
    facts
}

/// A packet of which facts hold; or, of each third one behind a guard, perhaps not.
fn packet(rng: &mut TestRng, facts: &PacketFacts, mode: Mode) -> Vec<u8> {
    if mode == Mode::Guard && below(rng, 3) == 0 {
        let length = usize::from(LENGTHS.0) + below(rng, 110);
        return bytes(rng, length);
    }
    let spread = usize::from(facts.max_length - facts.min_length) + 1;
    let length = usize::from(facts.min_length) + below(rng, spread);
    let mut packet = bytes(rng, length);
    for (&offset, bits) in &facts.bits {
        if let Some(byte) = packet.get_mut(usize::from(offset)) {
            *byte = *byte & !bits.mask | bits.value;
        }
    }
    // One bit more or less is what a guard has to see.
    if mode == Mode::Guard && below(rng, 3) == 0 {
        let place = below(rng, length);
        packet[place] ^= 1 << below(rng, 8);
    }
    packet
}

/// What became of programs.
#[derive(Debug, Default)]
struct Tally {
    rewritten: usize,
    /// For fewer facts than there were.
    fewer: usize,
    nothing: usize,
    unproved: usize,
    errors: usize,
    packets: usize,
    reasons: BTreeMap<String, usize>,
}

fn check(kernel: Option<&Kernel>, object: &[u8], seed: u64, mode: Mode, tally: &mut Tally) {
    let object = Object::parse(object).expect("an object");
    let program = object.link(0, None).expect("links");
    let mut rng = random(seed);
    let facts = facts(&mut rng);
    let stop = Stop::new(Limits { time: Some(TIME), ..Limits::default() });
    let made = match optimize(&object, &program, &facts, mode, &LiftOptions::default(), &stop) {
        Ok(made) => made,
        Err(error) => {
            tally.errors += 1;
            *tally.reasons.entry(error.to_string()).or_default() += 1;
            return;
        }
    };
    assert_eq!(made.specialised.is_some(), made.proof.is_some(), "{seed} {mode:?}");
    for remark in &made.remarks {
        assert!(!remark.contains("would do something else"), "{seed} {mode:?}: {remark}");
        *tally.reasons.entry(remark.clone()).or_default() += 1;
    }
    let (Some(specialised), Some(proof)) = (&made.specialised, &made.proof) else {
        assert!(!made.remarks.is_empty(), "{seed} {mode:?}: it is said why");
        let nothing = made.remarks.iter().any(|remark| remark.contains("nothing to leave out"));
        *(if nothing { &mut tally.nothing } else { &mut tally.unproved }) += 1;
        return;
    };
    assert!(proof.proved && proof.counterexample.is_none(), "{seed} {mode:?}: {proof:#?}");
    assert!(specialised.guard.is_none() || mode == Mode::Guard, "{seed}");
    tally.rewritten += 1;
    tally.fewer += usize::from(!made.remarks.is_empty());
    let Some(kernel) = kernel else { return };
    let first = kernel.load(&object, 0).expect("the kernel accepts it");
    let second = kernel.load_rewritten(&object, &specialised.program);
    let second = second.unwrap_or_else(|e| panic!("{seed} {mode:?}: {e}"));
    for _ in 0..PACKETS {
        let packet = packet(&mut rng, &facts, mode);
        let found = compare(&first, &second, &packet).expect("it runs");
        assert_eq!(found, None, "{seed} {mode:?}: {packet:?}");
        tally.packets += 1;
    }
    assert_eq!(compare_maps(&first, &second).expect("are read"), None, "{seed} {mode:?}");
}

/// Checks programs by number.
fn check_all(programs: u64, object: impl Fn(u64) -> Vec<u8>, what: &str) {
    let count = std::env::var("SLOWPATH_OPTIMIZED").ok().and_then(|text| text.parse().ok());
    let kernel = Kernel::available();
    let mut tally = Tally::default();
    for seed in 0..count.unwrap_or(programs) {
        let object = object(seed);
        for mode in [Mode::Trust, Mode::Guard] {
            check(kernel.as_ref().ok(), &object, seed, mode, &mut tally);
        }
    }
    eprintln!("{tally:#?}");
    let rest = tally.unproved + tally.errors;
    assert!(tally.rewritten > 9 * rest, "{tally:#?}");
    match kernel {
        Ok(_) => Oracle::Kernel.compared(tally.packets, what),
        Err(reason) => Oracle::Kernel.missing(reason),
    }
}

#[test]
fn programs_that_are_given_out_are_proved_and_agree() {
    // What is random differs from run to run.
    let programs = Programs::new(Features { random: false, ..Features::default() }, 8);
    let object = |seed| programs.of_seed(seed).object();
    check_all(PROGRAMS, object, "packets in optimized programs");
}

#[test]
fn sequences_of_calls_that_are_given_out_are_proved_and_agree() {
    // Which element makes room is up to the kernel.
    let sequences = Sequences::new(Abilities { evictions: false, ..Abilities::default() });
    let object = |seed| sequences.of_seed(seed).object();
    check_all(SEQUENCES, object, "packets in optimized sequences of calls");
}
