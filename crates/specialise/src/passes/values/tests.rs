use super::simplify_values;
use crate::passes::{Change, Log};
use crate::support::{after, checked, facts, is};
use slowpath_bpf::BpfProgram;
use slowpath_ir::{KnownBits, PacketFacts};

fn simplified(text: &str, facts: &PacketFacts) -> Option<(BpfProgram, Log)> {
    after(text, facts, simplify_values)
}

/// Checks that the pass does not change the program.
#[track_caller]
fn stays(text: &str, facts: &PacketFacts) {
    if let Some((program, _)) = simplified(text, facts) {
        panic!("{}", crate::support::listing(&program.insns));
    }
}

#[test]
fn known_bytes_become_constants() {
    let text = checked(14, "r0 = *(u8 *)(r2 +12)\nexit");
    let (program, log) = simplified(&text, &facts(14, &[(12, 0x86)])).expect("it is known");
    is(&program, &checked(14, "r0 = 0x86\nexit"));
    let (&(slot, change), reason) = log.changes.first_key_value().expect("it is noted");
    assert_eq!((slot, change), (5, Change::Constant(0x86)));
    assert_eq!(reason.bytes().collect::<Vec<_>>(), [12]);
    assert!(!reason.length && log.changes.len() == 1);
    stays(&text, &facts(14, &[(11, 0x86), (13, 0xdd)]));
}

#[test]
fn known_bytes_are_one_number_in_their_order() {
    let text = checked(
        14,
        "r0 = *(u16 *)(r2 +12)
        r0 = be16 r0
        exit",
    );
    let (program, _) = simplified(&text, &facts(14, &[(12, 0x86), (13, 0xdd)])).expect("known");
    is(&program, &checked(14, "r0 = 0xdd86\nr0 = 0x86dd\nexit"));
    stays(&text, &facts(14, &[(13, 0xdd)]));
}

#[test]
fn of_bytes_known_in_part_the_known_bits_are_used() {
    let text = checked(
        20,
        "r0 = *(u8 *)(r2 +14)
        r0 &= 0xf0
        exit",
    );
    let mut version = facts(20, &[]);
    version.bits.extend(KnownBits::of(0xf0, 0x60).map(|bits| (14, bits)));
    let (program, _) = simplified(&text, &version).expect("the mask has known bits only");
    is(&program, &checked(20, "r0 = *(u8 *)(r2 +14)\nr0 = 0x60\nexit"));
    version.bits.extend(KnownBits::of(0x70, 0x60).map(|bits| (14, bits)));
    stays(&text, &version);
}

#[test]
fn long_constants_take_two_slots() {
    let bytes: Vec<(u16, u8)> = (0..8).map(|at| (at, 0x81 + at as u8)).collect();
    let text = checked(14, "r0 = *(u64 *)(r2 +0)\nr5 = *(u32 *)(r2 +4)\nexit");
    let (program, _) = simplified(&text, &facts(14, &bytes)).expect("all are known");
    let constants = "r0 = 0x8887868584838281 ll\nw5 = 0x88878685\nexit";
    is(&program, &checked(14, constants));
}

#[test]
fn a_second_load_is_a_copy() {
    let text = |between: &str| {
        let loads = format!("r5 = *(u8 *)(r2 +20)\n{between}\nr0 = *(u8 *)(r2 +20)\nexit");
        checked(34, &loads)
    };
    let none = facts(34, &[]);
    let copied = |between: &str| {
        let (program, _) = simplified(&text(between), &none).expect("it was loaded");
        let copy = format!("r5 = *(u8 *)(r2 +20)\n{between}\nr0 = r5\nexit");
        is(&program, &checked(34, &copy));
    };
    copied("");
    // The store is next to the byte.
    copied("*(u8 *)(r2 +19) = 1");
    copied("*(u8 *)(r2 +21) = 1");
    copied("*(u64 *)(r10 -8) = 1");
    // The store overwrites the byte, alone or as part of more bytes.
    stays(&text("*(u16 *)(r2 +19) = r1"), &none);
    stays(&text("*(u32 *)(r2 +17) = r1"), &none);
    // The store is at an unknown place in the packet.
    stays(&text("r6 = r5\nr6 &= 7\nr6 += r2\n*(u8 *)(r6 +0) = 1"), &none);
    // The first register no longer holds the byte.
    stays(&text("r5 += 1"), &none);
}

#[test]
fn what_was_spilled_is_filled_from_its_register() {
    let text = "
        *(u64 *)(r10 -8) = r1
        r6 = *(u64 *)(r10 -8)
        r0 = *(u32 *)(r6 +12)
        exit";
    let (program, _) = simplified(text, &facts(14, &[])).expect("it was spilled");
    is(&program, "*(u64 *)(r10 -8) = r1\nr6 = r1\nr0 = *(u32 *)(r6 +12)\nexit");
}

#[test]
fn what_changes_nothing_goes() {
    let text = "
        r6 = *(u32 *)(r1 +12)
        r7 = r6
        r6 = r7
        r0 = r6
        exit";
    let (program, log) = simplified(text, &facts(14, &[])).expect("a copy back");
    is(&program, "r6 = *(u32 *)(r1 +12)\nr7 = r6\nr0 = r6\nexit");
    assert!(log.changes.contains_key(&(2, Change::NoEffect)));
}

#[test]
fn moving_the_packet_forgets_it() {
    let text = "
        r6 = r1
        r2 = 20
        call 44
        r2 = *(u32 *)(r6 +0)
        r3 = *(u32 *)(r6 +4)
        r4 = r2
        r4 += 14
        if r4 > r3 goto drop
        r0 = *(u8 *)(r2 +12)
        exit
        drop:
        r0 = 1
        exit";
    let known = facts(54, &[(12, 0x86), (32, 6)]);
    stays(text, &known);
    // The other helper does not change the content.
    let (program, _) = simplified(&text.replace("call 44", "call 5"), &known).expect("known");
    assert!(crate::support::listing(&program.insns).contains("r0 = 134"));
}

#[test]
fn helpers_that_write_to_the_stack_frame_are_seen() {
    // r2 points 16 bytes below the frame pointer.
    let text = |number: u32, offset: i16| {
        format!(
            "*(u64 *)(r10 {offset}) = 5
            r2 = r10
            r2 += -16
            r3 = 16
            r4 = 0
            call {number}
            r0 = *(u64 *)(r10 {offset})
            exit"
        )
    };
    let none = facts(14, &[]);
    let fib_lookup = 69;
    stays(&text(fib_lookup, -16), &none);
    stays(&text(fib_lookup, -8), &none);
    // Known helpers do not write below the address in an argument; an unknown helper may.
    for (number, offset) in [(fib_lookup, -24), (2, -16)] {
        let (program, _) = simplified(&text(number, offset), &none).expect("it is left alone");
        assert!(crate::support::listing(&program.insns).contains("r0 = 5"), "{number}");
    }
    stays(&text(131, -24), &none);
}

#[test]
fn calls_of_functions_forget_what_they_may_change() {
    let text = "
        r6 = r1
        *(u64 *)(r10 -8) = 5
        r1 = r10
        r1 += -8
        call set
        r0 = *(u64 *)(r10 -8)
        r2 = *(u32 *)(r6 +0)
        r3 = *(u32 *)(r6 +4)
        r4 = r2
        r4 += 14
        if r4 > r3 goto drop
        r0 = *(u8 *)(r2 +12)
        drop:
        exit
        set::
        *(u64 *)(r1 +0) = 6
        r0 = 0
        exit";
    stays(text, &facts(14, &[(12, 0x86)]));
}

#[test]
fn atomic_operations_change_memory() {
    let text = "
        r5 = 1
        *(u64 *)(r10 -8) = 5
        lock *(u64 *)(r10 -8) += r5
        r0 = *(u64 *)(r10 -8)
        exit";
    stays(text, &facts(14, &[]));
    let (program, _) =
        simplified(&text.replace("lock *(u64 *)(r10 -8) += r5", "r6 = 7"), &facts(14, &[]))
            .expect("it is known");
    assert!(crate::support::listing(&program.insns).contains("r0 = 5"));
}

#[test]
fn a_loop_budget_can_end_at_any_time() {
    let text = "
        r6 = 0
        again:
        may_goto out
        r6 += 1
        goto again
        out:
        r0 = r6
        exit";
    stays(text, &facts(14, &[]));
}

#[test]
fn constants_of_ways_that_meet_are_not_those_of_one() {
    let text = "
        r6 = 1
        r5 = *(u32 *)(r1 +12)
        if r5 == 0 goto meet
        r6 = 2
        meet:
        r0 = r6
        r0 &= 1
        exit";
    stays(text, &facts(14, &[]));
    // 1 and 3 have a bit in common.
    let (program, _) = simplified(&text.replace("r6 = 2", "r6 = 3"), &facts(14, &[])).expect("1");
    assert!(crate::support::listing(&program.insns).contains("r0 = 1"));
}
