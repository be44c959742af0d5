use super::merge_bounds_checks;
use crate::pipeline::Mode;
use crate::support::{after, checked, facts, is, listing, whole};

/// Returns the text of a program that first checks for 14 packet bytes and then for `more` bytes.
fn twice(more: u16) -> String {
    let second = format!(
        "r5 = r2
        r5 += {more}
        if r5 > r3 goto drop
        r0 = *(u8 *)(r2 +{})
        exit",
        more - 1
    );
    checked(14, &second)
}

fn merged(text: &str, min_length: u16) -> Option<slowpath_bpf::BpfProgram> {
    let known = facts(min_length, &[]);
    Some(after(text, &known, |graph, analysis, _| merge_bounds_checks(graph, analysis))?.0)
}

#[test]
fn the_first_check_checks_as_much_as_later_ones() {
    let program = merged(&twice(34), 34).expect("packets are long enough");
    is(&program, &twice(34).replacen("r4 += 14", "r4 += 34", 1));
}

#[test]
fn packets_that_may_be_too_short_are_not_dropped() {
    assert!(merged(&twice(34), 33).is_none());
    assert!(merged(&twice(34), 14).is_none());
}

#[test]
fn a_register_that_is_read_later_is_left_alone() {
    let text = twice(34).replace("exit", "r0 += r4\nexit");
    // The kernel would reject this use of a pointer, but the test needs it.
    let program = merged(&text, 34).expect("packets are long enough");
    let listing = listing(&program.insns);
    assert!(listing.contains("r0 = r4\nr0 += 20\nif r0 > r3"), "{listing}");
}

#[test]
fn the_later_check_goes_then() {
    let made = whole(&twice(34), &facts(34, &[]), Mode::Trust);
    is(
        &made.program,
        "r2 = *(u32 *)(r1 +0)
        r3 = *(u32 *)(r1 +4)
        r4 = r2
        r4 += 34
        if r4 > r3 goto drop
        r0 = *(u8 *)(r2 +33)
        exit
        drop:
        w0 = 0
        exit",
    );
    assert!(made.length && made.bytes.is_empty());
    // Packets may be one byte too short, so both checks are needed.
    let made = whole(&twice(34), &facts(33, &[]), Mode::Trust);
    assert_eq!(listing(&made.program.insns).matches("if r").count(), 2);
}
