use crate::graph::Graph;
use crate::pipeline::Mode;
use crate::support::{checked, facts, is, listing, whole};

/// Returns the text of a program with a loop that runs `r7` times and adds 2 to `r0` each time.
/// `count` is the instruction that sets `r7`.
fn rounds(count: &str) -> String {
    format!(
        "{count}
        r0 = 0
        r6 = 0
        again:
        if r6 >= r7 goto out
        r0 += 2
        r6 += 1
        goto again
        out:
        exit"
    )
}

#[test]
fn loops_with_known_rounds_collapse() {
    for count in [0, 1, 2, 7, 256] {
        let made = whole(&rounds(&format!("r7 = {count}")), &facts(14, &[]), Mode::Trust);
        if count < 256 {
            is(&made.program, &format!("r0 = {}\nexit", 2 * count));
        } else {
            assert!(has_loop(&made.program), "more than are taken apart");
        }
    }
}

#[test]
fn rounds_are_counted() {
    let of = |count: &str, facts| {
        let made = whole(&rounds(count), &facts, Mode::Trust);
        made.iterations.iter().map(|r| (r.slot, r.min, r.max)).collect::<Vec<_>>()
    };
    for count in [0, 1, 7] {
        // The last iteration only tests the loop condition.
        let found = of(&format!("r7 = {count}"), facts(14, &[]));
        assert_eq!(found, [(3, count + 1, count + 1)]);
    }
    assert_eq!(of("r7 = *(u32 *)(r1 +12)", facts(14, &[])), []);
}

#[test]
fn rounds_of_inner_loops_may_differ() {
    let text = "
        r0 = 0
        r6 = 0
        outer:
        r7 = 0
        inner:
        r0 += 2
        r7 += 1
        if r7 <= r6 goto inner
        r6 += 1
        if r6 < 3 goto outer
        exit";
    let made = whole(text, &facts(14, &[]), Mode::Trust);
    is(&made.program, "r0 = 12\nexit");
    let found: Vec<_> = made.iterations.iter().map(|r| (r.slot, r.min, r.max)).collect();
    assert_eq!(found, [(2, 3, 3), (3, 1, 3)]);
}

fn has_loop(program: &slowpath_bpf::BpfProgram) -> bool {
    !Graph::of(program).expect("it has a graph").loops(0).expect("one entry each").is_empty()
}

#[test]
fn known_bytes_may_say_how_many() {
    let text = |rounds: &str| {
        let rounds = rounds.replace("exit", "exit\n");
        checked(34, &rounds)
    };
    let text = text(&rounds("r7 = *(u8 *)(r2 +20)"));
    let made = whole(&text, &facts(34, &[(20, 3)]), Mode::Trust);
    is(&made.program, "r0 = 6\nexit");
    assert_eq!(made.bytes, [20]);
    let made = whole(&text, &facts(34, &[]), Mode::Trust);
    assert!(has_loop(&made.program));
}

#[test]
fn loops_with_unknown_rounds_stay() {
    let made = whole(&rounds("r7 = *(u32 *)(r1 +12)\nr7 &= 7"), &facts(14, &[]), Mode::Trust);
    assert!(has_loop(&made.program), "{}", listing(&made.program.insns));
    let made = whole(
        "r0 = 0
        r6 = 0
        again:
        r6 += 1
        r5 = *(u32 *)(r1 +12)
        if r5 == 3 goto out
        if r6 < 10 goto again
        out:
        exit",
        &facts(14, &[]),
        Mode::Trust,
    );
    assert!(has_loop(&made.program), "it may end sooner");
}

#[test]
fn loops_in_loops_collapse() {
    let text = |bound: &str| {
        format!(
            "r0 = 0
            r6 = 0
            outer:
            r7 = 0
            inner:
            r0 += 1
            r7 += 1
            if r7 < {bound} goto inner
            r6 += 1
            if r6 < 4 goto outer
            exit"
        )
    };
    is(&whole(&text("3"), &facts(14, &[]), Mode::Trust).program, "r0 = 12\nexit");
    // The counter of the outer loop determines the iterations of the inner one.
    let made = whole(&text("r6"), &facts(14, &[]), Mode::Trust);
    is(&made.program, "r0 = 7\nexit");
}

#[test]
fn a_loop_behind_another_one_collapses() {
    let text = "
        r0 = 0
        r6 = *(u32 *)(r1 +12)
        r6 &= 15
        first:
        r0 += 1
        if r0 < r6 goto first
        r7 = 0
        second:
        r0 += 1
        r7 += 1
        if r7 < 3 goto second
        exit";
    let made = whole(text, &facts(14, &[]), Mode::Trust);
    let graph = Graph::of(&made.program).expect("it has a graph");
    assert_eq!(graph.loops(0).expect("one entry each").len(), 1);
    assert_eq!(listing(&made.program.insns).matches("r0 += 1").count(), 4);
}
