use super::thread_jumps;
use crate::passes::{Change, Log};
use crate::support::{after, facts, is};
use slowpath_bpf::BpfProgram;

fn threaded(text: &str) -> Option<(BpfProgram, Log)> {
    after(text, &facts(14, &[]), thread_jumps)
}

/// Returns the text of a program with two paths that set `r6` to different numbers. After the paths
/// merge, the instructions `meet` run.
fn meeting(first: i32, second: i32, meet: &str) -> String {
    format!(
        "r5 = *(u32 *)(r1 +12)
        r6 = {first}
        if r5 > 7 goto meet
        r6 = {second}
        meet:
        {meet}
        if r6 == 1 goto one
        r0 = 2
        exit
        one:
        r0 = 3
        exit"
    )
}

#[test]
fn the_way_decides() {
    let (program, log) = threaded(&meeting(1, 2, "r7 = r5")).expect("each way knows");
    is(
        &program,
        "r5 = *(u32 *)(r1 +12)
        r6 = 1
        if r5 > 7 goto first
        r6 = 2
        r7 = r5
        if r6 == 1 goto one
        r0 = 2
        exit
        first:
        r7 = r5
        one:
        r0 = 3
        exit",
    );
    assert_eq!(log.changes.keys().copied().collect::<Vec<_>>(), [(5, Change::Threaded)]);
}

#[test]
fn what_no_way_knows_stays() {
    let text = meeting(1, 2, "r7 = r5").replace("if r6 ==", "if r5 ==");
    assert!(threaded(&text.replace("r5 == 1", "r5 == 100")).is_some());
    assert!(threaded(&meeting(1, 2, "r6 = *(u32 *)(r1 +16)")).is_none());
}

#[test]
fn much_is_not_copied() {
    let four = "r7 = 1\nr7 = 2\nr7 = 3\nr7 = 4";
    assert!(threaded(&meeting(1, 2, four)).is_some());
    assert!(threaded(&meeting(1, 2, &format!("{four}\nr7 = 5"))).is_none());
}

#[test]
fn loops_are_not_entered_elsewhere() {
    let text = "
        r6 = 0
        again:
        if r6 > 5 goto out
        r6 += 1
        r5 = *(u32 *)(r1 +12)
        if r5 > 7 goto again
        out:
        r0 = r6
        exit";
    assert!(threaded(text).is_none());
}
