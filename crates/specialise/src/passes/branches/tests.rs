use super::fold_branches;
use crate::passes::{Change, Log};
use crate::support::{after, checked, facts, is, listing};
use slowpath_bpf::BpfProgram;
use slowpath_ir::{Field, KnownBits, PacketFacts};

fn folded(text: &str, facts: &PacketFacts) -> Option<(BpfProgram, Log)> {
    after(text, facts, fold_branches)
}

/// Returns the text of a program that loads a packet byte into `r5` and branches on `test`.
fn tested(test: &str) -> String {
    let text = format!(
        "r5 = *(u8 *)(r2 +20)
        if {test} goto taken
        r0 = 2
        exit
        taken:
        r0 = 3
        exit"
    );
    checked(34, &text)
}

/// Returns the text of the program that is left of [`tested`] after its branch was removed. The
/// bounds check stays.
fn left(result: u32) -> String {
    checked(34, &format!("r5 = *(u8 *)(r2 +20)\nr0 = {result}\nexit"))
}

#[test]
fn branches_that_are_decided_become_jumps() {
    // Packets may be shorter than the bounds check requires, so the check is unchanged.
    let known = |byte| facts(14, &[(20, byte)]);
    for (test, byte, result) in [
        ("r5 == 6", 6, 3),
        ("r5 != 6", 6, 2),
        ("r5 > 6", 6, 2),
        ("r5 >= 6", 6, 3),
        ("w5 < 7", 6, 3),
        ("r5 & 0x80", 0x80, 3),
        ("r5 & 0x7f", 0x80, 2),
    ] {
        let (program, log) = folded(&tested(test), &known(byte)).expect(test);
        is(&program, &left(result));
        let change = if result == 3 { Change::AlwaysTaken } else { Change::NeverTaken };
        let reason = &log.changes[&(6, change)];
        assert_eq!(reason.bytes().collect::<Vec<_>>(), [20], "{test}");
        // An unknown byte decides nothing.
        assert!(folded(&tested(test), &facts(14, &[(19, byte)])).is_none(), "{test}");
    }
}

#[test]
fn known_bits_decide_what_they_suffice_for() {
    let mut known = facts(14, &[]);
    known.bits.extend(KnownBits::of(0xf0, 0x60).map(|bits| (20, bits)));
    for (test, result) in [("r5 == 0x45", 2), ("r5 & 0x20", 3), ("r5 < 0x70", 3), ("r5 > 0x5f", 3)]
    {
        let (program, _) = folded(&tested(test), &known).expect(test);
        is(&program, &left(result));
    }
    for test in ["r5 == 0x65", "r5 & 1", "r5 < 0x6f", "r5 > 0x60"] {
        assert!(folded(&tested(test), &known).is_none(), "{test}");
    }
}

/// Returns the facts that packets have at least 14 bytes and a field has one of these values.
fn one_of(offset: u16, bytes: u8, values: &[u64]) -> PacketFacts {
    let mut known = facts(14, &[]);
    known.values.insert(Field { offset, bytes }, values.iter().copied().collect());
    known
}

#[test]
fn a_field_with_few_values_decides_what_is_the_same_for_all_of_them() {
    let known = one_of(20, 1, &[6, 17]);
    for (test, result) in [("r5 == 1", 2), ("r5 & 0x10", 0), ("r5 & 0x20", 2), ("r5 < 18", 3)] {
        let found = folded(&tested(test), &known);
        let Some((program, log)) = found else {
            assert_eq!(result, 0, "{test}");
            continue;
        };
        is(&program, &left(result));
        let reason = log.reason();
        assert_eq!(reason.fields().collect::<Vec<_>>(), [0], "{test}");
        assert_eq!(reason.bytes().count(), 0, "{test}");
    }
}

#[test]
fn comparisons_leave_fewer_values() {
    let text = checked(
        34,
        "r5 = *(u8 *)(r2 +20)
        if r5 == 6 goto drop
        if r5 == 17 goto other
        r0 = 2
        exit
        other:
        r0 = 3
        exit",
    );
    let (program, log) = folded(&text, &one_of(20, 1, &[6, 17])).expect("nothing else is left");
    let expected = checked(34, "r5 = *(u8 *)(r2 +20)\nif r5 == 6 goto drop\nr0 = 3\nexit");
    is(&program, &expected);
    assert!(log.changes.contains_key(&(7, Change::AlwaysTaken)));
}

#[test]
fn fields_with_few_values_are_known_by_part_and_swapped() {
    let known = one_of(12, 2, &[0x0800, 0x86dd]);
    let tested = |text: &str| {
        let text = format!("{text} goto drop\nr0 = 2\nexit");
        folded(&checked(34, &text), &known).is_some()
    };
    let swapped = "r5 = *(u16 *)(r2 +12)\nr5 = be16 r5\n";
    assert!(tested(&format!("{swapped}if r5 == 0x0806")));
    assert!(!tested(&format!("{swapped}if r5 == 0x0800")));
    assert!(tested("r5 = *(u8 *)(r2 +13)\nif r5 == 0x06"));
    assert!(!tested("r5 = *(u8 *)(r2 +13)\nif r5 == 0xdd"));
    // The program has overwritten the field.
    let written = "*(u8 *)(r2 +13) = 6\nr5 = *(u16 *)(r2 +12)\nif r5 == 0x0608";
    assert!(!tested(written));
}

#[test]
fn what_a_branch_tells_decides_the_next() {
    let text = "
        r5 = *(u32 *)(r1 +12)
        if r5 > 7 goto other
        if r5 > 8 goto never
        other:
        r0 = 2
        exit
        never:
        r0 = 3
        exit";
    let (program, log) = folded(text, &facts(14, &[])).expect("it is less");
    is(&program, "r5 = *(u32 *)(r1 +12)\nif r5 > 7 goto other\nother:\nr0 = 2\nexit");
    assert!(log.reason() == crate::analysis::FactSet::NONE);
}

#[test]
fn bounds_checks_stay_that_the_verifier_learns_from() {
    let text = checked(34, "r0 = *(u8 *)(r2 +20)\nexit");
    // No packet is dropped, so the code for dropped packets is replaced.
    let (program, log) = folded(&text, &facts(34, &[])).expect("nothing is dropped");
    is(&program, &text.replace("r0 = 1", "w0 = 0"));
    assert!(log.reason().length && log.changes.contains_key(&(4, Change::NeverTaken)));
    assert!(folded(&text, &facts(33, &[])).is_none());
}

#[test]
fn bounds_checks_go_that_the_verifier_learns_nothing_useful_from() {
    // The program reads nothing from the packet.
    let text = checked(34, "r0 = *(u32 *)(r1 +12)\nexit");
    let (program, _) = folded(&text, &facts(34, &[])).expect("nothing is dropped");
    assert!(!listing(&program.insns).contains("if "));
    // The program reads the packet through an address on the stack.
    let text = checked(34, "r6 = *(u64 *)(r10 -8)\nr0 = *(u8 *)(r6 +0)\nexit");
    let text = text.replacen("r4 = r2", "*(u64 *)(r10 -8) = r2\nr4 = r2", 1);
    let (program, _) = folded(&text, &facts(34, &[])).expect("nothing is dropped");
    assert!(listing(&program.insns).contains("if r4 > r3"));
}

#[test]
fn bounds_checks_go_that_were_made_already() {
    let text = |first, second| {
        let check = format!(
            "r5 = r2
            r5 += {second}
            if r5 > r3 goto drop
            r0 = *(u8 *)(r2 +20)
            exit"
        );
        checked(first, &check)
    };
    let gone = |first, second| {
        let left = format!("r5 = r2\nr5 += {second}\nr0 = *(u8 *)(r2 +20)\nexit");
        checked(first, &left)
    };
    let any = facts(14, &[]);
    for (first, second) in [(34, 34), (34, 21)] {
        let (program, log) = folded(&text(first, second), &any).expect("it is checked");
        is(&program, &gone(first, second));
        assert!(!log.reason().length);
    }
    assert!(folded(&text(34, 35), &any).is_none());
}

#[test]
fn a_branch_with_one_target_is_none() {
    let text = "
        r5 = *(u32 *)(r1 +12)
        if r5 > 7 goto next
        next:
        r0 = 2
        exit";
    let (program, _) = folded(text, &facts(14, &[])).expect("it leads to the same");
    is(&program, "r5 = *(u32 *)(r1 +12)\nr0 = 2\nexit");
}
