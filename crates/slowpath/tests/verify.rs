//! Tests the translation validation of the compiler: compiled programs are proved to do the same as
//! their BPF programs, and changes to listings are detected.

use crate::common;

use common::example;

use serde_json::Value;
use slowpath::{
    Limits, Options, ProgramFile, ProgramRequest, Stop, Verification, verify, verify_listing,
};
use slowpath_generate::{Features, from_seed};
use slowpath_nfp::{BranchCondition, Insn, Listing};
use std::time::Duration;

fn request(data: &[u8]) -> ProgramRequest {
    let target = "agilio-cx-2x40".into();
    let options = Options { target, ..Options::default() };
    ProgramRequest {
        options,
        ..ProgramRequest::of("test.bpf.o", ProgramFile::read(data).expect("an object"))
    }
}

/// Returns a stop handle with this time limit.
fn within(seconds: f64) -> Stop {
    Stop::new(Limits { time: Some(Duration::from_secs_f64(seconds)), ..Limits::default() })
}

fn listing(request: &ProgramRequest) -> Listing {
    let text = slowpath::compile(request, &Stop::never()).expect("compiles");
    let shown: Value = serde_json::from_str(&text).expect("JSON");
    slowpath_nfp::parse(shown["listing"].as_str().expect("a listing")).expect("parses")
}

#[test]
fn the_count_min_sketch_is_proved() {
    for name in ["count_min.1.bpf.o", "count_min.4.bpf.o", "count_min.8.bpf.o"] {
        let found = verify(&request(&example(name)), &Stop::never()).expect("runs on the card");
        assert!(found.proved, "{name}: {found:?}");
        assert_eq!((found.paths_proved, found.paths_total), (7, Some(7)), "{name}");
        assert_eq!(found.assumptions, Vec::<String>::new(), "{name}");
    }
}

/// Number of polls of the stop condition after which a proof is stopped. This many polls suffice
/// for the compilation and a few paths, but not for all paths.
const POLLS: u64 = 40_000;

#[test]
fn a_stopped_proof_covers_some_paths() {
    for name in ["alaw2ulaw.bpf.o", "alaw2ulaw_opt.bpf.o"] {
        let stop = Stop::new(Limits { polls: Some(POLLS), ..Limits::default() });
        let found = verify(&request(&example(name)), &stop).expect("runs on the card");
        assert!(!found.proved && found.counterexample.is_none(), "{name}: {found:?}");
        assert!(found.paths_proved > 0, "{name}: {found:?}");
        assert_eq!(found.paths_total, None, "{name}");
        assert!(found.undecided.contains(&"interrupted".to_owned()), "{name}: {found:?}");
    }
}

#[test]
fn nothing_is_proved_without_time() {
    let request = request(&example("count_min.1.bpf.o"));
    let found = verify(&request, &within(0.0)).expect("reads");
    assert!(!found.proved && found.counterexample.is_none());
    assert_eq!(found.undecided, ["the deadline is over"]);
}

fn features() -> Features {
    Features { helpers: false, ..Features::default() }
}

/// Verifies the compiler's output for random programs. Skips programs that cannot be compiled for
/// the SmartNIC and those for which the compiler reports a deviation. Returns the number of proved
/// programs, and the number of all programs that are not skipped.
///
/// Checks that counterexamples exist only if the compiler reports a deviation.
fn proved(seeds: std::ops::Range<u64>, features: &Features) -> (usize, usize) {
    let (mut proved, mut all) = (0, 0);
    for seed in seeds {
        let program = from_seed(seed, features, 10);
        let Ok(found) = verify(&request(&program.object()), &within(4.0)) else { continue };
        let decided = found.proved || found.counterexample.is_some();
        assert!(decided || !found.undecided.is_empty(), "{seed}: {found:?}");
        // The proof does not cover the firmware's use of the result.
        let mut deviations = found.deviations.iter();
        let deviates = deviations.any(|sentence| !sentence.contains("a result above"));
        assert!(found.counterexample.is_none() || deviates, "{seed}: {found:?}\n{program}");
        all += usize::from(!deviates);
        proved += usize::from(found.proved && !deviates);
    }
    (proved, all)
}

#[test]
fn random_programs_are_proved() {
    let (proved, all) = proved(0..40, &features());
    assert!(all >= 25 && 10 * proved >= 8 * all, "{proved} of {all} are proved");
}

#[test]
fn random_programs_with_helpers_are_proved() {
    let features = Features { random: true, ..Features::default() };
    let (proved, all) = proved(100..130, &features);
    assert!(all >= 15 && 10 * proved >= 8 * all, "{proved} of {all} are proved");
}

/// Returns mutants of a listing, each with one changed constant or branch condition. Each mutant
/// comes with the index of its changed instruction.
fn mutants(listing: &Listing) -> Vec<(usize, Listing)> {
    let changed = |insn: &Insn| match *insn {
        Insn::Immed { dst, value, shift, both_banks: both } => {
            Some(Insn::Immed { dst, value: value ^ 1, shift, both_banks: both })
        }
        Insn::Branch { condition: BranchCondition::CarryClear, target, defer } => {
            Some(Insn::Branch { condition: BranchCondition::CarrySet, target, defer })
        }
        Insn::Branch { condition: BranchCondition::Equal, target, defer } => {
            Some(Insn::Branch { condition: BranchCondition::NotEqual, target, defer })
        }
        _ => None,
    };
    let insns: Vec<Insn> = listing.insns().copied().collect();
    let mutant = |(at, insn): (usize, &Insn)| {
        let mut all = insns.clone();
        all[at] = changed(insn)?;
        Some((at, Listing::new(all)))
    };
    insns.iter().enumerate().filter_map(mutant).collect()
}

#[test]
fn changed_listings_are_detected() {
    let objects = [example("count_min.1.bpf.o"), from_seed(10, &features(), 10).object()];
    for data in objects {
        let request = request(&data);
        let original = listing(&request);
        let (mut all, mut detected) = (0, 0);
        for (at, mutant) in mutants(&original) {
            let text = mutant.to_string();
            let Ok(found) = verify_listing(&request, text.as_bytes(), &Stop::never()) else {
                continue;
            };
            let Verification { proved, counterexample, undecided, .. } = found;
            all += 1;
            if let Some(counterexample) = counterexample {
                assert_ne!(counterexample.bpf, counterexample.card, "instruction {at}");
                detected += 1;
            } else {
                // Equivalent mutants change, for example, unused high words or the code after the
                // program's end.
                assert!(proved || !undecided.is_empty(), "instruction {at}");
            }
        }
        assert!(detected >= 5, "{detected} of {all} are detected");
    }
}

#[test]
fn a_counterexample_has_the_results_of_both_programs() {
    let request = request(&example("count_min.1.bpf.o"));
    let original = listing(&request);
    let shown = mutants(&original).iter().find_map(|(_, mutant)| {
        let text = mutant.to_string();
        let found = verify_listing(&request, text.as_bytes(), &Stop::never()).ok()?;
        found.counterexample.filter(|found| found.bpf.result != found.card.result)
    });
    let shown = shown.expect("some change is one of the result");
    // The program always returns XDP_PASS.
    assert_eq!(shown.bpf.result, 2);
    assert!(shown.packet.len() >= 2 * 60);
    let json = serde_json::to_value(&shown).expect("serialises");
    assert_eq!(json["bpf"]["result"], 2);
}
