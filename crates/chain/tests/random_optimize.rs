//! Tests the rewriting of random programs for random facts. Rewritten programs are proved and agree
//! with the originals in the kernel. Programs without a proof stay unchanged, and the report has
//! the reason.

use crate::random;

use random::{facts, packet, random};
use serde_json::json;
use slowpath_bpf::Object;
use slowpath_bpf::lift::LiftOptions;
use slowpath_chain::optimize::optimize;
use slowpath_generate::sequence::{SequenceFeatures, Sequences};
use slowpath_generate::{Features, Programs};
use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::{compare, compare_maps};
use slowpath_kernel::witness::install;
use slowpath_oracle::Oracle;
use slowpath_specialise::Mode;
use slowpath_stop::{Limits, Stop};
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of programs; `SLOWPATH_OPTIMIZED` sets another number. `SLOWPATH_FIRST_SEED` sets the
/// seed of the first program [default: 0].
const PROGRAMS: u64 = 60;
/// Number of random programs that consist of helper calls in sequence; `SLOWPATH_OPTIMIZED` sets
/// another number.
const SEQUENCES: u64 = 30;
/// Number of packets that are tried for each program and mode.
const PACKETS: usize = 40;
/// Number of test inputs from the proof that are tried for each program and mode. Each test input
/// takes one pair of paths in the original and the rewritten program.
const COVERS: usize = 6;
/// Maximum number of test inputs that one proof yields.
const MOST: u64 = 512;
/// Time limit for each program and mode.
const TIME: Duration = Duration::from_secs(1);
/// Counts of outcomes over all random programs.
#[derive(Debug, Default)]
struct Tally {
    rewritten: usize,
    /// Number of programs whose rewriting relies on only some of the given facts.
    fewer: usize,
    nothing: usize,
    unproved: usize,
    errors: usize,
    packets: usize,
    /// Number of test inputs (packets, each with its own map content) that were tried.
    test_inputs: usize,
    /// Number of test inputs whose map content the kernel does not accept.
    not_installed: usize,
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
        assert!(!remark.contains("would behave differently"), "{seed} {mode:?}: {remark}");
        *tally.reasons.entry(remark.clone()).or_default() += 1;
    }
    let (Some(specialised), Some(proof)) = (&made.specialised, &made.proof) else {
        assert!(!made.remarks.is_empty(), "{seed} {mode:?}: it is said why");
        let nothing = made
            .remarks
            .iter()
            .any(|remark| remark.contains("the facts let the rewriter omit nothing"));
        *(if nothing { &mut tally.nothing } else { &mut tally.unproved }) += 1;
        return;
    };
    assert!(proof.proved && proof.counterexample.is_none(), "{seed} {mode:?}: {proof:#?}");
    assert!(specialised.guard.is_none() || mode == Mode::Guard, "{seed}");
    tally.rewritten += 1;
    tally.fewer += usize::from(!made.remarks.is_empty());
    assert!(proof.test_inputs.len() as u64 <= proof.pairs.min(MOST), "{seed} {mode:?}");
    // If only some of the facts are used, the proof covers packets for which the facts do not hold.
    for cover in proof.test_inputs.iter().filter(|_| mode == Mode::Trust && made.remarks.is_empty())
    {
        assert!(facts.hold(&cover.packet), "{seed}: {cover:?}");
    }
    let Some(kernel) = kernel else { return };
    // The kernel does not run packets of fewer bytes.
    let test_inputs = proof.test_inputs.iter().filter(|cover| cover.packet.len() >= 14);
    for cover in test_inputs.take(COVERS) {
        let witness = json!({ "maps": cover.maps });
        let first = kernel.load(&object, 0).expect("the kernel accepts it");
        let second = kernel.load_rewritten(&object, &specialised.program).expect("accepts it");
        let installed = [&first, &second].map(|loaded| {
            let mut own = witness.clone();
            let maps = own["maps"].as_object_mut().expect("maps");
            // The object lacks maps that the program no longer uses.
            maps.retain(|name, _| loaded.map(name).is_some());
            install(loaded, &own)
        });
        if let [Ok(_), Ok(_)] = installed {
            let found = compare(&first, &second, &cover.packet).expect("it runs");
            assert_eq!(found, None, "{seed} {mode:?}: {cover:?}");
            assert_eq!(compare_maps(&first, &second).expect("are read"), None, "{seed} {cover:?}");
            tally.test_inputs += 1;
        } else {
            tally.not_installed += 1;
        }
    }
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

/// Rewrites and checks `programs` random programs with consecutive seeds, both with and without a
/// guard.
fn check_all(programs: u64, object: impl Fn(u64) -> Vec<u8>, what: &str) {
    let setting = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let first: u64 = setting("SLOWPATH_FIRST_SEED").unwrap_or(0);
    let count = setting("SLOWPATH_OPTIMIZED").unwrap_or(programs);
    let kernel = Kernel::available();
    let mut tally = Tally::default();
    for seed in first..first + count {
        let object = object(seed);
        for mode in [Mode::Trust, Mode::Guard] {
            check(kernel.as_ref().ok(), &object, seed, mode, &mut tally);
        }
    }
    eprintln!("{tally:#?}");
    let rest = tally.unproved + tally.errors;
    assert!(tally.rewritten > 9 * rest, "{tally:#?}");
    match kernel {
        Ok(_) => {
            assert!(tally.test_inputs > 9 * tally.not_installed, "{tally:#?}");
            Oracle::Kernel.compared(tally.packets + tally.test_inputs, what);
        }
        Err(reason) => Oracle::Kernel.missing(reason),
    }
}

#[test]
fn programs_that_are_given_out_are_proved_and_agree() {
    // Random values would differ between runs.
    let programs = Programs::new(Features { random: false, ..Features::default() }, 8);
    let object = |seed| programs.from_seed(seed).object();
    check_all(PROGRAMS, object, "packets in optimized programs");
}

#[test]
fn sequences_of_calls_that_are_given_out_are_proved_and_agree() {
    // The kernel chooses which element is evicted.
    let sequences =
        Sequences::new(SequenceFeatures { evictions: false, ..SequenceFeatures::default() });
    let object = |seed| sequences.from_seed(seed).object();
    check_all(SEQUENCES, object, "packets in optimized sequences of calls");
}
