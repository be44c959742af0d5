use super::remove_dead_code;
use crate::support::{after, checked, facts, is, listing};
use slowpath_bpf::BpfProgram;

/// Returns the program after the pass has removed its dead code, or `None` if the pass changed
/// nothing.
fn without(text: &str) -> Option<BpfProgram> {
    let any = facts(14, &[]);
    Some(after(text, &any, |graph, analysis, _| remove_dead_code(graph, analysis))?.0)
}

#[track_caller]
fn becomes(before: &str, expected: &str) {
    is(&without(before).expect("something is dead"), expected);
}

#[track_caller]
fn stays(text: &str) {
    if let Some(program) = without(text) {
        panic!("{}", listing(&program.insns));
    }
}

#[test]
fn what_nothing_reads_goes() {
    becomes(
        "r5 = *(u32 *)(r1 +12)\nr6 = r5\nr6 += 1\nr6 ^= r5\nr0 = 1\nr0 = 2\nexit",
        "r0 = 2\nexit",
    );
    stays("r5 = *(u32 *)(r1 +12)\nr0 = 1\nif r5 > 7 goto out\nr0 = 2\nout:\nexit");
}

#[test]
fn what_is_read_on_one_way_stays() {
    let text = |use_: &str| {
        format!(
            "r6 = *(u32 *)(r1 +16)
            r5 = *(u32 *)(r1 +12)
            r0 = 1
            if r5 > 7 goto out
            {use_}
            out:
            exit"
        )
    };
    stays(&text("r0 = r6"));
    becomes(
        &text("r0 = r5"),
        "r5 = *(u32 *)(r1 +12)\nr0 = 1\nif r5 > 7 goto out\nr0 = r5\nout:\nexit",
    );
}

#[test]
fn stores_to_the_stack_frame_go_if_nothing_reads_them() {
    becomes("*(u64 *)(r10 -8) = r1\nr0 = 1\nexit", "r0 = 1\nexit");
    becomes(
        "*(u64 *)(r10 -8) = 1\n*(u64 *)(r10 -8) = 2\nr0 = *(u64 *)(r10 -8)\nexit",
        "*(u64 *)(r10 -8) = 2\nr0 = *(u64 *)(r10 -8)\nexit",
    );
    // Only the first or last byte is read, or only a part is overwritten.
    stays("*(u64 *)(r10 -8) = 1\nr0 = *(u8 *)(r10 -8)\nexit");
    stays("*(u64 *)(r10 -8) = 1\nr0 = *(u8 *)(r10 -1)\nexit");
    stays("*(u64 *)(r10 -8) = 1\n*(u32 *)(r10 -8) = 2\nr0 = *(u64 *)(r10 -8)\nexit");
    becomes(
        "*(u64 *)(r10 -16) = 1\n*(u64 *)(r10 -8) = 1\nr0 = *(u8 *)(r10 -8)\nexit",
        "*(u64 *)(r10 -8) = 1\nr0 = *(u8 *)(r10 -8)\nexit",
    );
    // The read uses another pointer.
    stays("*(u64 *)(r10 -8) = 1\nr2 = r10\nr2 += -8\nr0 = *(u8 *)(r2 +0)\nexit");
}

#[test]
fn stores_that_helpers_read_stay() {
    let text = |stored: i16, number: u32| {
        format!(
            "*(u64 *)(r10 {stored}) = 1
            r2 = r10
            r2 += -8
            call {number}
            r0 = 1
            exit"
        )
    };
    // `bpf_map_lookup_elem` reads its key; an unknown helper may do anything.
    stays(&text(-8, 1));
    stays(&text(-8, 131));
    stays(&text(-16, 131));
    becomes(&text(-16, 1), "r2 = r10\nr2 += -8\ncall 1\nr0 = 1\nexit");
    // The helper does not read the register with the address.
    becomes(
        "*(u64 *)(r10 -8) = 1\nr1 = 0\nr2 = 0\nr3 = r10\nr3 += -8\ncall 23\nexit",
        "r1 = 0\nr2 = 0\ncall 23\nexit",
    );
}

#[test]
fn stores_that_functions_may_read_stay() {
    stays(
        "*(u64 *)(r10 -8) = 1
        r1 = r10
        r1 += -8
        r2 = 0
        r3 = 0
        r4 = 0
        r5 = 0
        call get
        exit
        get::
        r0 = *(u64 *)(r1 +0)
        exit",
    );
}

#[test]
fn what_others_see_stays() {
    stays(&checked(14, "*(u8 *)(r2 +0) = 1\nr0 = 2\nexit"));
    stays("r5 = 1\n*(u64 *)(r10 -8) = 1\nlock *(u64 *)(r10 -8) += r5\nr0 = 2\nexit");
    stays("call 7\nr0 = 2\nexit");
}

#[test]
fn what_the_next_round_reads_stays() {
    stays(
        "r6 = 0
        *(u64 *)(r10 -8) = 1
        again:
        r0 = *(u64 *)(r10 -8)
        r7 = r6
        *(u64 *)(r10 -8) = r7
        r6 += 1
        r5 = *(u32 *)(r1 +12)
        if r6 < r5 goto again
        exit",
    );
}
