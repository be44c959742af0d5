//! Tests the proof method that compares two programs on all paths at once, rather than path by
//! path. Pairs of programs that differ are never proved; most equivalent pairs are. The work does
//! not grow with the number of paths.

use crate::assemble;
use crate::pairs;

use pairs::{pairs, programs};
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::{Proof, prove, prove_together};
use slowpath_ir::{KnownBits, PacketFacts};
use slowpath_stop::Stop;
use std::fmt::Write;

/// Returns facts that describe IPv6 packets with a TCP header and at least 100 bytes.
fn facts() -> PacketFacts {
    let mut facts = PacketFacts::lengths(100, 1500);
    for (offset, byte) in [(12, 0x86), (13, 0xdd), (20, 6)] {
        facts.bits.insert(offset, KnownBits::all(byte));
    }
    facts.bits.insert(14, KnownBits { mask: 0xf0, value: 0x60 });
    facts
}

fn together(object: &Object, original: &BpfProgram, other: &BpfProgram) -> Proof {
    let never = Stop::never();
    let options = LiftOptions::default();
    let proof = prove_together(object, original, other, &facts(), &options, &never);
    proof.expect("both can be lifted")
}

#[test]
fn programs_that_do_the_same_are_proved_together() {
    let object = pairs::object("pairs");
    let programs = programs(&object);
    let (mut proved, mut all) = (0, 0);
    for (original, other) in pairs(&programs, "same") {
        let proof = together(&object, original, other);
        assert_eq!(proof.proved, proof.undecided.is_empty(), "{}: {proof:?}", other.name);
        proved += usize::from(proof.proved);
        all += 1;
    }
    assert!(proved * 10 >= all * 7, "{proved} of {all}");
}

#[test]
fn programs_that_differ_are_not_proved_together() {
    let object = pairs::object("pairs");
    let programs = programs(&object);
    let pairs = pairs(&programs, "differs");
    assert!(pairs.len() > 30);
    for (original, other) in pairs {
        let proof = together(&object, original, other);
        assert!(!proof.proved, "{}: {proof:?}", other.name);
    }
}

/// Returns a program with a branch for each of `bits` packet bits, and so with 2^`bits` paths. It
/// returns the sum of one number for each bit that is set. `last` replaces the number for the last
/// bit.
fn many_ways(bits: u16, last: Option<u32>) -> BpfProgram {
    let mut text = String::from("r2 = *(u32 *)(r1 +0)\nr0 = 0\n");
    for bit in 0..bits {
        let number = last.filter(|_| bit + 1 == bits).unwrap_or(u32::from(bit) * 3 + 1);
        let (at, mask) = (30 + bit / 8, 1 << (bit % 8));
        let _ = write!(
            text,
            "r3 = *(u8 *)(r2 +{at})
            r3 &= {mask}
            if r3 == 0 goto next{bit}
            r0 += {number}
            next{bit}:
            "
        );
    }
    text.push_str("exit");
    assemble::program(&text)
}

#[test]
fn many_paths_are_proved_together_and_none_is_overlooked() {
    let object = pairs::object("pairs");
    let [original, same] = [many_ways(40, None), many_ways(40, None)];
    let other = many_ways(40, Some(0));
    // The programs have 2^40 paths.
    let proof = together(&object, &original, &same);
    assert!(proof.proved && proof.queries < 100, "{proof:?}");
    assert!(!together(&object, &original, &other).proved);
    // The ordinary proof switches to comparing all paths together.
    let (facts, options, never) = (facts(), LiftOptions::default(), Stop::never());
    let proof = prove(&object, &original, &same, &facts, &options, &never).expect("it is lifted");
    assert!(proof.proved && proof.test_inputs.len() > 100, "{:?}", proof.undecided);
}
