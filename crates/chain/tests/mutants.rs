//! Tests that faults injected into the rewriting passes are found. A table names the check that
//! finds each fault: the proof of equivalence or, for faults that do not change results, the
//! kernel's verifier. Programs rewritten without faults pass both checks.

use crate::assemble;
use crate::random;
mod scenes;

use proptest::prelude::Rng;
use proptest::test_runner::TestRunner;
use random::{facts, packet, random};
use scenes::Scene;
use slowpath_bpf::lift::{LiftOptions, Receive};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::{EquivalenceError, Proof, prove, prove_guard};
use slowpath_chain::facts::{FactsOptions, Outgoing, any_packet, facts_after};
use slowpath_chain::optimize::optimize;
use slowpath_generate::{Features, Programs};
use slowpath_ir::PacketFacts;
use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::compare;
use slowpath_oracle::Oracle;
use slowpath_specialise::fault::{Fault, with};
use slowpath_specialise::{Facts, Mode, Specialised, specialise, specialise_for};
use slowpath_stop::{Limits, Stop};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Number of random programs.
const SEEDS: u64 = 24;
/// Number of packets for each random program with a fault.
const PACKETS: usize = 40;
/// Time limit of one proof. A program whose proof takes longer counts as not proved.
const SECONDS: Duration = Duration::from_secs(2);
/// Time limit of one proof of a random program.
const SHORT: Duration = Duration::from_millis(300);

/// The result that a proof is expected to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// A packet is found on which both programs differ.
    Refuted,
    /// The proof is undecided. The reason contains this text.
    NotProved(&'static str),
    /// The programs are proved to do the same.
    Proved,
}

/// The behaviour that a program is expected to have in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InKernel {
    /// The kernel's verifier rejects the program.
    Refused,
    /// The original and the rewritten program differ for some packet.
    Differs,
    /// The original and the rewritten program agree for all packets that were tried.
    Agrees,
}

type Case = (Fault, Scene, Verdict, InKernel);

/// Returns all faults. Each comes with a program that it makes wrong, and with the expected results
/// of the proof and of the kernel.
fn cases() -> Vec<Case> {
    use InKernel::{Differs, Refused};
    use Verdict::{NotProved, Proved, Refuted};
    let guarded = || scenes::parser().guarded();
    vec![
        (Fault::ConstantTooGreat, scenes::constant(), Refuted, Differs),
        (Fault::CopyOfAnother, scenes::loads(), Refuted, Refused),
        (Fault::OtherWay, scenes::parser(), Refuted, Differs),
        (Fault::LengthTooLong, scenes::short(), Refuted, Differs),
        // Only the kernel's verifier needs the removed bounds check.
        (Fault::NothingTaught, scenes::long(), Proved, Refused),
        (Fault::StaleCopy, scenes::copy(), Refuted, Differs),
        (Fault::ShortImmediate, scenes::wide(), Refuted, Differs),
        (Fault::OffsetKept, scenes::header(), Refuted, Differs),
        (Fault::DistanceForgotten, scenes::headers(), Refuted, Refused),
        (Fault::PacketStoreDead, scenes::writer(), Refuted, Differs),
        (Fault::HelpersReadNothing, scenes::argument(), Refuted, Differs),
        (Fault::ReadTooShort, scenes::spill(), Refuted, Differs),
        (Fault::EndReadsNothing, scenes::diamond(), NotProved("before it is written"), Refused),
        (Fault::MergedWithOne, scenes::meeting(), NotProved("is longer than"), Refused),
        (Fault::InstructionSkipped, scenes::steps(), Refuted, Differs),
        (Fault::WrongTarget, scenes::diamond(), Refuted, Differs),
        (Fault::CopyForgotten, scenes::diamond(), Refuted, Differs),
        (Fault::RoundsForgotten, scenes::rounds(), Refuted, Differs),
        (Fault::CheckTooLong, scenes::checks(), Refuted, Differs),
        (Fault::CheckedTooMuch, scenes::further(), Proved, Refused),
        (Fault::StoreForgotten, scenes::overwritten(), Refuted, Differs),
        (Fault::WrittenForgotten, scenes::received(), Refuted, Differs),
        (Fault::MoveForgotten, scenes::moved(), Refuted, Differs),
        (Fault::RoomTooGreat, scenes::outwards(), Refuted, Differs),
        (Fault::OneWayOnly, scenes::meeting(), Refuted, Differs),
        (Fault::ValueForgotten, scenes::protocols(), Refuted, Differs),
        (Fault::ValuesOfOneWay, scenes::protocols().guarded(), Refuted, Differs),
        (Fault::OtherValuesLeft, scenes::protocols(), Refuted, Differs),
        (Fault::SwapForgotten, scenes::swapped(), Refuted, Differs),
        // The guard's last comparison is that of a field with few values.
        (Fault::ComparisonDropped, scenes::protocols().guarded(), Refuted, Differs),
        (Fault::OtherValue, scenes::protocols().guarded(), Refuted, Differs),
        (Fault::ComparisonDropped, guarded(), Refuted, Differs),
        (Fault::MaskTooSmall, guarded(), Refuted, Differs),
        (Fault::OtherValue, guarded(), Refuted, Differs),
        (Fault::GuardTooShort, guarded(), Refuted, Differs),
        (Fault::ComparisonInverted, guarded(), Refuted, Differs),
        (Fault::GuardTrusted, guarded(), Refuted, Differs),
        (Fault::OriginalCut, guarded(), NotProved("is not the original's"), Refused),
        (Fault::OriginalMissed, guarded(), NotProved("is unreachable"), Refused),
    ]
}

/// Returns an object without maps, for programs that do not use maps.
fn object() -> Object {
    let program = Programs::new(Features { maps: false, ..Features::default() }, 1).from_seed(0);
    Object::parse(&program.object()).expect("it is one")
}

fn made(object: &Object, scene: &Scene) -> (BpfProgram, Specialised) {
    let program = assemble::program(&scene.text);
    // The headroom is known if each packet is in one page.
    let known = Facts { facts: &scene.facts, frozen: None, receive: Receive::PAGE };
    let made = specialise_for(object, &program, known, scene.mode, &Stop::never());
    (program, made.expect("it has a graph"))
}

fn proof(
    object: &Object,
    program: &BpfProgram,
    made: &Specialised,
    scene: &Scene,
    time: Duration,
) -> Result<Proof, EquivalenceError> {
    let options = LiftOptions::default();
    let stop = Stop::new(Limits { time: Some(time), ..Limits::default() });
    let arriving = match scene.mode {
        Mode::Trust => scene.facts.clone(),
        Mode::Guard => any_packet(),
    };
    match &made.guard {
        Some(guard) => prove_guard(object, program, (&made.program, guard), &options, &stop),
        None => prove(object, program, &made.program, &arriving, &options, &stop),
    }
}

fn says(proof: &Result<Proof, EquivalenceError>, verdict: Verdict) -> bool {
    match (proof, verdict) {
        (Ok(proof), Verdict::Proved) => proof.proved && proof.counterexample.is_none(),
        (Ok(proof), Verdict::Refuted) => !proof.proved && proof.counterexample.is_some(),
        (Ok(proof), Verdict::NotProved(why)) => {
            !proof.proved && proof.undecided.iter().any(|reason| reason.contains(why))
        }
        (Err(error), Verdict::NotProved(why)) => error.to_string().contains(why),
        (Err(_), _) => false,
    }
}

/// Returns packets for which the facts hold. For programs with a guard, also returns packets that
/// differ from one of them in one bit.
fn packets(scene: &Scene) -> Vec<Vec<u8>> {
    let facts = &scene.facts;
    let mut rng = TestRunner::deterministic().new_rng();
    let fitting = (0..100).map(|number| {
        let spread = u32::from(facts.max_length - facts.min_length) + 1;
        let more = if number < 4 { number } else { rng.next_u32() % spread };
        let length = u32::from(facts.min_length) + more;
        let byte = |_| rng.next_u32() as u8 & [0xff, 0x0f, 1][number as usize % 3];
        let mut packet: Vec<u8> = (0..length).map(byte).collect();
        for (&offset, bits) in &facts.bits {
            let byte = &mut packet[usize::from(offset)];
            *byte = *byte & !bits.mask | bits.value;
        }
        for (field, values) in &facts.values {
            let value = values.iter().nth(number as usize % values.len()).expect("there are some");
            let value = value.to_be_bytes();
            packet[usize::from(field.offset)..field.end()]
                .copy_from_slice(&value[8 - usize::from(field.bytes)..]);
        }
        assert!(facts.hold(&packet));
        packet
    });
    let mut packets: Vec<Vec<u8>> = fitting.collect();
    if scene.mode == Mode::Guard {
        let fields = facts.values.keys().map(|field| field.offset);
        for offset in facts.bits.keys().copied().chain(fields) {
            for number in 0..16 {
                let mut packet = packets[number + 8].clone();
                packet[usize::from(offset)] ^= 1 << (number / 2);
                packets.push(packet);
            }
        }
        for length in 14..facts.min_length {
            packets.push(packets[0][..usize::from(length)].to_vec());
        }
    }
    packets
}

fn in_kernel(
    kernel: &Kernel,
    object: &Object,
    (program, made): (&BpfProgram, &BpfProgram),
    scene: &Scene,
) -> InKernel {
    let first = kernel.load_rewritten(object, program).expect("the original is accepted");
    let Ok(second) = kernel.load_rewritten(object, made) else { return InKernel::Refused };
    let differs = |packet: &Vec<u8>| compare(&first, &second, packet).expect("it runs").is_some();
    match packets(scene).iter().any(differs) {
        true => InKernel::Differs,
        false => InKernel::Agrees,
    }
}

#[test]
fn every_fault_is_found() {
    let object = object();
    let faults: BTreeSet<Fault> = cases().into_iter().map(|(fault, ..)| fault).collect();
    assert_eq!(faults.len(), Fault::OriginalMissed as usize + 1, "the table has all of them");
    let mut wrong = Vec::new();
    for (fault, scene, verdict, _) in cases() {
        let (program, right) = made(&object, &scene);
        let sound = proof(&object, &program, &right, &scene, SECONDS);
        assert!(says(&sound, Verdict::Proved), "without {fault:?}: {sound:#?}");
        let (_, mutant) = with(fault, || made(&object, &scene));
        assert_ne!(mutant.program.insns, right.program.insns, "{fault:?} does not show");
        let found = proof(&object, &program, &mutant, &scene, SECONDS);
        if !says(&found, verdict) {
            wrong.push(format!("{fault:?}: {verdict:?}, not {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_kernel_finds_what_it_can() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let (object, mut compared, mut wrong) = (object(), 0, Vec::new());
    for (fault, scene, _, expected) in cases() {
        let (program, right) = made(&object, &scene);
        let sound = in_kernel(&kernel, &object, (&program, &right.program), &scene);
        assert_eq!(sound, InKernel::Agrees, "without {fault:?}");
        let (_, mutant) = with(fault, || made(&object, &scene));
        let found = in_kernel(&kernel, &object, (&program, &mutant.program), &scene);
        if found != expected {
            wrong.push(format!("{fault:?}: {expected:?}, not {found:?}"));
        }
        compared += packets(&scene).len();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Oracle::Kernel.compared(compared, "packets in programs rewritten with a fault");
}

fn example(name: &str) -> Object {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/chain");
    let bytes = std::fs::read(path.join(format!("{name}.bpf.o"))).expect("the object exists");
    Object::parse(&bytes).expect("it is one")
}

/// Returns the facts about packets that leave the example firewall.
fn behind_the_firewall() -> PacketFacts {
    let object = example("firewall");
    let program = object.link(0, None).expect("links");
    let (options, stop) = (FactsOptions::default(), Stop::never());
    let found = facts_after(&object, &program, &any_packet(), &[2], &options, &stop);
    match found.expect("it can be analysed") {
        Outgoing::Packets(found) => found.facts,
        Outgoing::Nothing(_) => panic!("packets pass the firewall"),
    }
}

/// Checks that proof and verifier also find injected faults in the rewriting of a larger program, a
/// load balancer that runs after a firewall.
#[test]
fn faults_in_the_load_balancer_are_found() {
    let (object, facts) = (example("load_balancer"), behind_the_firewall());
    let program = object.link(0, None).expect("links");
    let faults: BTreeSet<Fault> = cases().into_iter().map(|(fault, ..)| fault).collect();
    let kernel = Kernel::available().ok();
    let mut found = BTreeSet::new();
    for mode in [Mode::Trust, Mode::Guard] {
        let scene = Scene { text: String::new(), facts: facts.clone(), mode };
        let make = || {
            let made = specialise(&object, &program, &facts, mode, &Stop::never());
            made.expect("it has a graph")
        };
        let right = make();
        let sound = proof(&object, &program, &right, &scene, SECONDS);
        assert!(says(&sound, Verdict::Proved), "{mode:?}: {sound:#?}");
        for &fault in &faults {
            let mutant = with(fault, make);
            if mutant.program.insns == right.program.insns {
                continue;
            }
            let proof = proof(&object, &program, &mutant, &scene, SECONDS);
            if !says(&proof, Verdict::Proved) {
                found.insert(fault);
                continue;
            }
            // All packets are long enough, so a wrong check of the length makes no difference.
            let refused =
                kernel.as_ref().is_none_or(|k| k.load_rewritten(&object, &mutant.program).is_err());
            assert!(refused, "{mode:?} {fault:?}");
        }
    }
    // All other faults concern code that the load balancer does not have.
    assert!(found.len() >= 15, "{found:?}");
}

/// Checks that a rewritten random program is never proved equivalent if a fault makes it differ
/// from the original in the kernel.
#[test]
fn faults_that_the_kernel_tells_apart_are_not_proved() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let programs = Programs::new(Features { random: false, ..Features::default() }, 8);
    let faults: BTreeSet<Fault> = cases().into_iter().map(|(fault, ..)| fault).collect();
    let (mut shown, mut compared) = (BTreeSet::new(), 0);
    for seed in 0..SEEDS {
        let object = Object::parse(&programs.from_seed(seed).object()).expect("an object");
        let program = object.link(0, None).expect("links");
        let mut rng = random(seed);
        let facts = facts(&mut rng);
        let first = kernel.load(&object, 0).expect("it is accepted");
        // Each fault is tried with every fourth program, in one mode. `MergedWithOne` is left out,
        // because with it a pass may run forever.
        let some = faults.iter().enumerate().filter(|&(number, &fault)| {
            number as u64 % 4 == seed % 4 && fault != Fault::MergedWithOne
        });
        let mode = if seed % 8 < 4 { Mode::Trust } else { Mode::Guard };
        for (_, &fault) in some {
            // A pass with a fault may run for a long time.
            let make = || {
                let stop = Stop::new(Limits { time: Some(SHORT), ..Limits::default() });
                specialise(&object, &program, &facts, mode, &stop)
            };
            let right = make().expect("it has a graph");
            let mutant = with(fault, make).expect("it has a graph");
            if mutant.program.insns == right.program.insns {
                continue;
            }
            let Ok(second) = kernel.load_rewritten(&object, &mutant.program) else { continue };
            let packets = (0..PACKETS).map(|_| packet(&mut rng, &facts, mode));
            let packets: Vec<Vec<u8>> = packets.collect();
            let differ = packets
                .iter()
                .any(|packet| compare(&first, &second, packet).expect("it runs").is_some());
            compared += packets.len();
            if differ {
                let scene = Scene { text: String::new(), facts: facts.clone(), mode };
                let proof = proof(&object, &program, &mutant, &scene, SHORT);
                assert!(!says(&proof, Verdict::Proved), "{seed} {mode:?} {fault:?}");
                shown.insert(fault);
            }
        }
    }
    assert!(shown.len() > 4, "{shown:?}");
    Oracle::Kernel.compared(compared, "packets in random programs rewritten with a fault");
}

/// Checks that `optimize` returns only programs that are proved equivalent, whatever fault is
/// injected.
#[test]
fn faulty_programs_are_not_given_out() {
    let (object, options, stop) = (object(), LiftOptions::default(), Stop::never());
    for (fault, scene, verdict, _) in cases() {
        let program = assemble::program(&scene.text);
        let optimized =
            with(fault, || optimize(&object, &program, &scene.facts, scene.mode, &options, &stop));
        // A program that cannot be lifted is reported as an error.
        let Ok(optimized) = optimized else { continue };
        if verdict != Verdict::Proved {
            assert!(!optimized.remarks.is_empty(), "{fault:?}: it is said why");
        }
        assert!(optimized.proof.is_none_or(|proof| proof.proved), "{fault:?}");
    }
}
