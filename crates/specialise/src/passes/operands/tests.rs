use super::simplify_operands;
use crate::passes::{Change, Log};
use crate::support::{after, checked, facts, is, listing};
use slowpath_bpf::BpfProgram;

fn simplified(text: &str) -> Option<(BpfProgram, Log)> {
    after(text, &facts(14, &[(12, 8)]), simplify_operands)
}

#[track_caller]
fn becomes(before: &str, expected: &str) {
    let (program, _) = simplified(before).expect("it is simplified");
    is(&program, expected);
}

#[track_caller]
fn stays(text: &str) {
    if let Some((program, _)) = simplified(text) {
        panic!("{}", listing(&program.insns));
    }
}

#[test]
fn numbers_stand_for_registers_that_hold_them() {
    becomes(
        "r5 = 7\nr6 = *(u32 *)(r1 +12)\nr6 += r5\nif r6 > r5 goto out\nout:\nr0 = 1\nexit",
        "r5 = 7\nr6 = *(u32 *)(r1 +12)\nr6 += 7\nif r6 > 7 goto out\nout:\nr0 = 1\nexit",
    );
    becomes(
        "r5 = -2\n*(u64 *)(r10 -8) = 0\n*(u64 *)(r10 -8) = r5\n*(u8 *)(r10 -8) = r5\nr0 = 1\nexit",
        "r5 = -2\n*(u64 *)(r10 -8) = 0\n*(u64 *)(r10 -8) = -2\n*(u8 *)(r10 -8) = -2\nr0 = 1\nexit",
    );
}

#[test]
fn programs_that_store_registers_store_no_numbers() {
    stays("r5 = -2\n*(u64 *)(r10 -8) = r5\n*(u8 *)(r10 -8) = r5\nr0 = 1\nexit");
}

#[test]
fn numbers_that_immediates_cannot_hold_stay_in_registers() {
    stays("r5 = 0x123456789 ll\nr6 = *(u32 *)(r1 +12)\nr6 += r5\nr0 = 1\nexit");
    stays("r5 = 0xffffffff ll\n*(u64 *)(r10 -8) = 0\n*(u64 *)(r10 -8) = r5\nr0 = 1\nexit");
    // Some instructions need only the low 32 bits.
    becomes(
        "r5 = 0x1ffffffff ll\n*(u32 *)(r10 -8) = 0\n*(u32 *)(r10 -8) = r5\nr6 = 1\nw6 ^= w5\nr0 = 1\nexit",
        "r5 = 0x1ffffffff ll\n*(u32 *)(r10 -8) = 0\n*(u32 *)(r10 -8) = -1\nr6 = 1\nw6 ^= -1\nr0 = 1\nexit",
    );
}

#[test]
fn what_rests_on_facts_is_noted() {
    let text = checked(14, "r5 = *(u8 *)(r2 +12)\nr6 = *(u32 *)(r1 +12)\nr6 += r5\nr0 = 1\nexit");
    let (_, log) = simplified(&text).expect("the byte is known");
    let reason = log.changes[&(7, Change::Operand(8))];
    assert_eq!(reason.bytes().collect::<Vec<_>>(), [12]);
}

#[test]
fn what_was_copied_stands_for_its_copies() {
    becomes(
        "r6 = r1\nr7 = r6\nr0 = *(u32 *)(r7 +12)\nexit",
        "r6 = r1\nr7 = r1\nr0 = *(u32 *)(r1 +12)\nexit",
    );
}

#[test]
fn what_was_overwritten_does_not() {
    stays("r5 = *(u32 *)(r1 +12)\nr6 = r5\nr5 += 1\nr0 = r6\nexit");
    stays("r6 = r1\ncall 5\nr0 = *(u32 *)(r6 +12)\nexit");
    // The register is a copy on one path only.
    stays(
        "r5 = *(u32 *)(r1 +12)
        r6 = r5
        if r5 > 7 goto meet
        r5 = 1
        meet:
        r0 = r6
        exit",
    );
}

#[test]
fn accesses_go_through_the_pointer_to_the_packets_start() {
    let text = |reg: &str, offset: i16| {
        checked(34, &format!("r5 = r2\nr5 += 14\nr0 = *(u8 *)({reg} +{offset})\nexit"))
    };
    becomes(&text("r5", 6), &text("r2", 20));
    stays(&text("r2", 20));
    becomes(
        "r5 = r10\nr5 += -8\n*(u32 *)(r5 +4) = 1\nr0 = 1\nexit",
        "r5 = r10\nr5 += -8\n*(u32 *)(r10 -4) = 1\nr0 = 1\nexit",
    );
}

#[test]
fn pointers_of_which_less_is_checked_do_not_stand_for_others() {
    // The program reads the packet's start again after the check.
    stays(&checked(34, "r2 = *(u32 *)(r1 +0)\nr0 = *(u8 *)(r4 -1)\nexit"));
}

#[test]
fn pointers_are_moved_from_the_packets_start() {
    becomes(
        &checked(34, "r5 = r4\nr5 += 8\nif r5 > r3 goto drop\nr0 = 2\nexit"),
        &checked(34, "r5 = r2\nr5 += 42\nif r5 > r3 goto drop\nr0 = 2\nexit"),
    );
}
