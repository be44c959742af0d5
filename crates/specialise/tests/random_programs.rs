//! Tests random programs that are rewritten for random facts. The kernel's verifier accepts the
//! rewritten programs. In the kernel, they do the same as the originals. With a guard, this holds
//! for all packets; without a guard, for packets for which the facts hold.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_bpf::Object;
use slowpath_generate::sequence::{SequenceFeatures, Sequences};
use slowpath_generate::{Features, Programs};
use slowpath_ir::{KnownBits, PacketFacts};
use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::{compare, compare_maps};
use slowpath_oracle::Oracle;
use slowpath_specialise::{Mode, specialise};
use slowpath_stop::Stop;

/// Number of random programs; the environment variable `SLOWPATH_SPECIALISED` sets another number.
const PROGRAMS: u64 = 120;
/// Number of programs made of sequences of helper calls; the environment variable
/// `SLOWPATH_SPECIALISED` sets another number.
const SEQUENCES: u64 = 120;
/// Number of packets that are tried for each program and mode.
const PACKETS: usize = 40;
/// Approximate number of statements in a random program. Statements inside other statements do not
/// count.
const SIZE: usize = 10;

/// Special values of packet words, with which the random programs compare.
const EDGES: [u32; 12] =
    [0, 1, 2, 4, 0x1f, 0x20, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff];

fn packet(rng: &mut StdRng, length: usize) -> Vec<u8> {
    let mut packet = Vec::with_capacity(length + 3);
    while packet.len() < length {
        let edge = EDGES[rng.random_range(0..EDGES.len())];
        let word = if rng.random_bool(0.3) { rng.random::<u32>() } else { edge };
        packet.extend(if rng.random() { word.to_le_bytes() } else { word.to_be_bytes() });
    }
    packet.truncate(length);
    packet
}

/// Returns random facts about packets that the given packet satisfies.
fn facts(rng: &mut StdRng, packet: &[u8]) -> PacketFacts {
    let length = packet.len() as u16;
    let least = if rng.random() { 14 } else { length };
    let mut facts = PacketFacts::lengths(least, rng.random_range(length..=200));
    let share = [0.1, 0.5, 0.9][rng.random_range(0..3)];
    for (offset, &byte) in (0..).zip(packet) {
        if rng.random_bool(share) {
            let mask = if rng.random_bool(0.8) { 0xff } else { rng.random() };
            facts.bits.extend(KnownBits::of(mask, byte).map(|bits| (offset, bits)));
        }
    }
    facts
}

/// Returns a random packet for which the facts hold.
fn fitting(rng: &mut StdRng, facts: &PacketFacts) -> Vec<u8> {
    let length = rng.random_range(facts.min_length..=facts.max_length);
    let mut packet = packet(rng, length.into());
    for (&offset, bits) in &facts.bits {
        if let Some(byte) = packet.get_mut(usize::from(offset)) {
            *byte = *byte & !bits.mask | bits.value;
        }
    }
    assert!(facts.hold(&packet));
    packet
}

/// Counts of packets and instructions, and the kinds of changes, over all random programs.
#[derive(Default)]
struct Tally {
    packets: usize,
    before: usize,
    after: usize,
    changes: BTreeSet<&'static str>,
}

fn check(kernel: &Kernel, object: &[u8], seed: u64, tally: &mut Tally) -> Result<(), String> {
    let object = Object::parse(object).map_err(|e| e.to_string())?;
    let program = object.link(0, None).map_err(|e| e.to_string())?;
    let mut rng = StdRng::seed_from_u64(seed);
    let length = rng.random_range(14..=130);
    let packet_of_facts = packet(&mut rng, length);
    let facts = facts(&mut rng, &packet_of_facts);
    for mode in [Mode::Trust, Mode::Guard] {
        let made = specialise(&object, &program, &facts, mode, &Stop::never());
        let made = made.map_err(|e| e.to_string())?;
        let listing = || {
            let lines = (0..made.program.insns.len())
                .map(|slot| format!("{slot}: {}", made.program.disassemble(&object, slot)));
            lines.collect::<Vec<_>>().join("\n")
        };
        let first = kernel.load(&object, 0).map_err(|e| e.to_string())?;
        let second = kernel.load_rewritten(&object, &made.program);
        let second = second.map_err(|e| format!("{mode:?}: {e:?}\n{}", listing()))?;
        for _ in 0..PACKETS {
            let arbitrary = mode == Mode::Guard && rng.random_bool(0.3);
            let packet = match arbitrary {
                true => {
                    let length = rng.random_range(14..=130);
                    packet(&mut rng, length)
                }
                false => fitting(&mut rng, &facts),
            };
            let found = compare(&first, &second, &packet).map_err(|e| e.to_string())?;
            if let Some(difference) = found {
                let text = packet.iter().map(|b| format!("{b:02x}")).collect::<String>();
                return Err(format!("{mode:?}: {difference}, packet {text}\n{}", listing()));
            }
            tally.packets += 1;
        }
        let found = compare_maps(&first, &second).map_err(|e| e.to_string())?;
        if let Some(difference) = found {
            return Err(format!("{mode:?}: {difference}\n{}", listing()));
        }
        if mode == Mode::Trust {
            tally.before += program.insns.len();
            tally.after += made.program.insns.len();
            for dropped in &made.changes {
                tally.changes.insert(match dropped.change {
                    slowpath_specialise::Change::AlwaysTaken => "always taken",
                    slowpath_specialise::Change::NeverTaken => "never taken",
                    slowpath_specialise::Change::Threaded => "threaded",
                    slowpath_specialise::Change::Constant(_) => "constant",
                    slowpath_specialise::Change::Operand(_) => "operand",
                    slowpath_specialise::Change::NoEffect => "no effect",
                    slowpath_specialise::Change::Inlined(_) => "inlined",
                });
            }
        }
    }
    Ok(())
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Checks `programs` random programs from consecutive seeds: compares each with its rewritten form
/// in the kernel.
fn check_all(programs: u64, object: impl Fn(u64) -> Vec<u8>, what: &str) {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let first = setting("SLOWPATH_FIRST_SEED", 0);
    let count = setting("SLOWPATH_SPECIALISED", programs);
    let mut tally = Tally::default();
    let mut faults = Vec::new();
    for seed in first..first + count {
        if let Err(fault) = check(&kernel, &object(seed), seed, &mut tally) {
            faults.push(format!("program {seed}: {fault}"));
        }
    }
    eprintln!(
        "{} of {} instructions left; {}",
        tally.after,
        tally.before,
        tally.changes.iter().copied().collect::<Vec<_>>().join(", ")
    );
    let shown = &faults[..faults.len().min(3)];
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), shown.join("\n"));
    // Without this check, passes that never change anything would be accepted.
    assert!(tally.after < tally.before);
    Oracle::Kernel.compared(tally.packets, what);
}

#[test]
fn rewritten_programs_do_in_the_kernel_what_the_original_does() {
    // Random values would differ between runs.
    let features = Features { random: false, ..Features::default() };
    let programs = Programs::new(features, SIZE);
    let object = |seed| programs.from_seed(seed).object();
    check_all(PROGRAMS, object, "packets in rewritten programs");
}

#[test]
fn rewritten_sequences_of_calls_do_in_the_kernel_what_the_original_does() {
    // The kernel chooses which element an LRU map evicts.
    let abilities = SequenceFeatures { evictions: false, ..SequenceFeatures::default() };
    let sequences = Sequences::new(abilities);
    let object = |seed| sequences.from_seed(seed).object();
    check_all(SEQUENCES, object, "packets in rewritten sequences of calls");
}
