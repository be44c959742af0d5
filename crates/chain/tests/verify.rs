//! Tests the comparison of two finished objects, with known pairs and with changed versions
//! (mutants) of compiled programs. A mutant that behaves differently in the kernel is never
//! reported as equal.

use crate::pairs;
use crate::random;

use proptest::test_runner::TestRng;
use random::{below, packet, random};
use slowpath_bpf::insn::{Insn, decode, encode};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::Loaded;
use slowpath_chain::facts::any_packet;
use slowpath_chain::verify::{ChainContext, Outcome, VerifyReport, verify};
use slowpath_ir::{KnownBits, PacketFacts};
use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::{compare, compare_maps};
use slowpath_oracle::Oracle;
use slowpath_specialise::Mode;
use slowpath_stop::{Limits, Stop};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Number of mutants; `SLOWPATH_MUTANTS` sets another number.
const MUTANTS: usize = 16;
/// Number of packets for each mutant that is reported as equal.
const PACKETS: usize = 400;
/// Time limit of one proof.
const SECONDS: Duration = Duration::from_secs(2);

/// Writes an object with only this program, and reads the written object.
fn finished(object: &Object, program: &BpfProgram) -> Option<Loaded> {
    let bytes = object.write(&[program]).ok()?;
    let object = Object::parse(&bytes).ok()?;
    let number = object.programs.iter().position(|one| one.name == program.name)?;
    Some(Loaded { object: Arc::new(object), program: number })
}

fn verified(first: &Loaded, second: &Loaded, facts: &PacketFacts) -> Option<VerifyReport> {
    let stop = Stop::new(Limits { time: Some(SECONDS), ..Limits::default() });
    verify([first, second], &ChainContext::from(facts.clone()), None, &stop).ok()
}

/// Returns facts that describe IPv6 packets with a TCP header and at least 100 bytes.
fn facts() -> PacketFacts {
    let mut facts = PacketFacts::lengths(100, 1500);
    for (offset, byte) in [(12, 0x86), (13, 0xdd), (20, 6)] {
        facts.bits.insert(offset, KnownBits::all(byte));
    }
    facts.bits.insert(14, KnownBits { mask: 0xf0, value: 0x60 });
    facts
}

#[test]
fn pairs_of_finished_objects_are_told_apart() {
    let object = pairs::object("pairs");
    let programs = pairs::programs(&object);
    let outcomes = |kind: &str| {
        let each = pairs::pairs(&programs, kind).into_iter().map(|(original, other)| {
            let both = [original, other].map(|one| finished(&object, one).expect("written"));
            let report = verified(&both[0], &both[1], &facts()).expect("both can be lifted");
            assert_eq!(report.counterexample.is_some(), report.outcome == Outcome::Differ);
            assert_eq!(report.undecided.is_empty(), report.outcome != Outcome::Undecided);
            (other.name.clone(), report.outcome)
        });
        each.collect::<Vec<_>>()
    };
    let same = outcomes("same");
    assert!(same.iter().all(|(_, outcome)| *outcome != Outcome::Differ), "{same:?}");
    let equal = same.iter().filter(|(_, outcome)| *outcome == Outcome::Equal).count();
    assert!(equal * 10 >= same.len() * 7, "{same:?}");
    let differ = outcomes("differs");
    assert!(differ.iter().all(|(_, outcome)| *outcome != Outcome::Equal), "{differ:?}");
    let shown = differ.iter().filter(|(_, outcome)| *outcome == Outcome::Differ).count();
    assert!(shown * 10 >= differ.len() * 7, "{differ:?}");
}

/// Returns the program with one change in a random instruction; `None` if this instruction cannot
/// be changed.
fn mutant(program: &BpfProgram, rng: &mut TestRng) -> Option<BpfProgram> {
    let slot = below(rng, program.insns.len());
    let insn = program.insns[slot];
    // Relocations determine the meaning of these instructions, not only their bytes.
    if matches!(insn, Insn::LoadImm64 { .. } | Insn::SecondSlot) {
        return None;
    }
    let mut code = encode(&[insn]);
    match below(rng, 5) {
        // Flips a bit of opcode, registers, offset or immediate, or adds one to the immediate.
        0 => code[0] ^= 1 << below(rng, 8),
        1 => code[1] ^= 1 << below(rng, 8),
        2 => code[2] ^= 1 << below(rng, 4),
        3 => code[4 + below(rng, 4)] ^= 1 << below(rng, 8),
        _ => code[4] = code[4].wrapping_add(1),
    }
    let [changed] = decode(&code).ok()?[..] else { return None };
    let mut made = program.clone();
    made.insns[slot] = changed;
    (changed != insn).then_some(made)
}

fn objects() -> Vec<Object> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/chain");
    let mut all = vec![pairs::object("pairs")];
    for name in ["counter", "blocklist", "port_filter"] {
        let bytes = std::fs::read(folder.join(format!("{name}.bpf.o"))).expect("the object exists");
        all.push(Object::parse(&bytes).expect("it is one"));
    }
    all
}

#[test]
fn no_mutant_is_called_equal_that_differs_in_the_kernel() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let count = std::env::var("SLOWPATH_MUTANTS").ok().and_then(|count| count.parse().ok());
    let objects = objects();
    let mut rng = random(38);
    let (mut equal, mut differ, mut open, mut refused, mut packets) = (0, 0, 0, 0, 0);
    while equal + differ + open < count.unwrap_or(MUTANTS) {
        let object = &objects[below(&mut rng, objects.len())];
        let Ok(program) = object.link(below(&mut rng, object.programs.len()), None) else {
            continue;
        };
        let Some(made) = mutant(&program, &mut rng) else { continue };
        let both = [&program, &made].map(|one| finished(object, one));
        let [Some(first), Some(second)] = both else { continue };
        // Programs that cannot be lifted cannot be compared.
        let Some(report) = verified(&first, &second, &any_packet()) else { continue };
        match report.outcome {
            Outcome::Undecided => open += 1,
            Outcome::Differ => differ += 1,
            Outcome::Equal => {
                equal += 1;
                let one = kernel.load(&first.object, first.program).expect("the original loads");
                let Ok(other) = kernel.load(&second.object, second.program) else {
                    refused += 1;
                    continue;
                };
                for _ in 0..PACKETS {
                    let packet = packet(&mut rng, &facts(), Mode::Guard);
                    let found = compare(&one, &other, &packet).expect("it runs");
                    assert!(found.is_none(), "{}: {found:?}: {packet:02x?}", program.name);
                    packets += 1;
                }
                let maps = compare_maps(&one, &other).expect("they are read");
                assert!(maps.is_none(), "{}: {maps:?}", program.name);
            }
        }
    }
    eprintln!("{equal} equal ({refused} refused), {differ} differ, {open} not decided");
    assert!(differ > 0);
    Oracle::Kernel.compared(packets.max(1), "packets through mutants that are proved equal");
}
