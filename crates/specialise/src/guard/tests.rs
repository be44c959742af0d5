use super::{Comparison, comparisons};
use crate::pipeline::{Guard, Mode};
use crate::support::{checked, facts, listing, whole};
use crate::{assemble, graph::Graph};
use slowpath_ir::{Field, KnownBits};
use std::collections::{BTreeMap, BTreeSet};

fn of(known: &[(u16, u8)], needed: &[u16]) -> Vec<(u16, u8, u64, u64)> {
    let parts = |c: Comparison| (c.offset, c.bytes, c.mask, c.value);
    comparisons(&facts(60, known), needed, &[]).into_iter().map(parts).collect()
}

#[test]
fn bytes_are_compared_together() {
    let all: Vec<(u16, u8)> = (12..24).map(|at| (at, at as u8)).collect();
    assert_eq!(of(&all, &[12]), [(12, 1, 0xff, 12)]);
    assert_eq!(of(&all, &[12, 13]), [(12, 2, 0xffff, 0x0d0c)]);
    // The byte between them is loaded as well, without additional instructions.
    assert_eq!(of(&all, &[12, 13, 15]), [(12, 4, 0xffff_ffff, 0x0f0e_0d0c)]);
    assert_eq!(of(&all, &[12, 15]), [(12, 4, 0xffff_ffff, 0x0f0e_0d0c)]);
    let eight: Vec<u16> = (12..20).collect();
    assert_eq!(of(&all, &eight), [(12, 8, u64::MAX, 0x1312_1110_0f0e_0d0c)]);
    let nine: Vec<u16> = (12..21).collect();
    let sizes: Vec<u8> = of(&all, &nine).into_iter().map(|(_, bytes, ..)| bytes).collect();
    assert_eq!(sizes, [8, 1]);
}

#[test]
fn bytes_that_are_not_known_are_not_compared() {
    assert_eq!(of(&[(12, 1), (13, 2)], &[12, 13, 14]), [(12, 2, 0xffff, 0x0201)]);
    assert_eq!(of(&[(12, 1), (14, 2)], &[12, 14]), [(12, 4, 0x00ff_00ff, 0x0002_0001)]);
    assert_eq!(of(&[(12, 1)], &[]), []);
}

#[test]
fn bytes_known_in_part_are_masked() {
    let mut known = facts(60, &[(13, 0xdd), (15, 0)]);
    known.bits.extend(KnownBits::of(0xf0, 0x60).map(|bits| (14, bits)));
    let found = comparisons(&known, &[13, 14, 15], &[]);
    let parts: Vec<_> = found.iter().map(|c| (c.offset, c.bytes, c.mask, c.value)).collect();
    assert_eq!(parts, [(13, 4, 0x00ff_f0ff, 0x60dd)]);
}

#[test]
fn facts_of_a_guard_are_what_it_compares() {
    let mut known = facts(60, &[(12, 0x86), (13, 0xdd), (20, 6)]);
    known.bits.extend(KnownBits::of(0xf0, 0x60).map(|bits| (14, bits)));
    let compared = comparisons(&known, &[12, 13, 14, 20], &[]);
    let facts = Guard {
        length: 21,
        comparisons: compared,
        values: BTreeMap::new(),
        generation: None,
        original: 0,
    }
    .facts();
    assert_eq!(facts.bits, known.bits);
    assert_eq!((facts.min_length, facts.max_length), (21, u16::MAX));
}

/// Returns the text of a program that depends on one packet byte and calls a function.
fn parser() -> String {
    let text = checked(
        34,
        "r5 = *(u8 *)(r2 +12)
        if r5 != 0x86 goto drop
        r6 = *(u8 *)(r2 +20)
        r1 = r6
        call twice
        exit",
    );
    format!("{text}\ntwice::\nr0 = r1\nr0 += r1\nexit")
}

#[test]
fn the_original_stays_word_for_word_behind_its_guard() {
    let text = parser();
    let made = whole(&text, &facts(34, &[(12, 0x86)]), Mode::Guard);
    let guard = made.guard.expect("it relies on a byte");
    let compared = [Comparison { offset: 12, bytes: 1, mask: 0xff, value: 0x86 }];
    assert_eq!((&guard.comparisons[..], guard.length), (&compared[..], 34));
    let original = assemble::program(&text);
    let entry = original.subprograms[1].first;
    let copy = &made.program.insns[guard.original..guard.original + entry];
    let call = entry - 4;
    for (slot, (new, old)) in copy.iter().zip(&original.insns).enumerate() {
        match (new.function_target(guard.original + slot), old.function_target(slot)) {
            (None, None) => assert_eq!(new, old, "{slot}"),
            (new, Some(old)) => {
                assert_eq!(slot, call);
                let function = made.program.subprograms[1].first;
                assert_eq!((new, old), (Some(function), entry));
                assert_eq!(made.program.insns[function..], original.insns[entry..]);
            }
            (Some(_), None) => panic!("no call at {slot}"),
        }
        assert_eq!(made.origins[guard.original + slot], slot);
    }
}

#[test]
fn packets_of_which_something_does_not_hold_go_to_the_original() {
    let made = whole(&parser(), &facts(34, &[(12, 0x86)]), Mode::Guard);
    let at = made.guard.expect("it relies on a byte").original;
    let program = &made.program.insns;
    let back = |&slot: &usize| program[slot].jump_target(slot) == Some(at);
    let back: Vec<usize> = (0..at).filter(back).collect();
    // One edge from the check of the length, one from the check of the byte.
    assert_eq!(back.len(), 2, "{}", listing(program));
    let text = listing(program);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[back[0] - 1] == "r4 += 34" && lines[back[0]].starts_with("if r4 > r3"), "{text}");
    assert!(lines[back[1]].contains("!= 0x86"), "{text}");
}

#[test]
fn what_is_compared_with_a_mask_is_known_behind_the_guard() {
    let text = checked(
        34,
        "r5 = *(u16 *)(r2 +12)
        if r5 != 0xdd86 goto drop
        r6 = *(u8 *)(r2 +14)
        r6 >>= 4
        if r6 != 6 goto drop
        r0 = *(u8 *)(r2 +15)",
    );
    let mut known = facts(34, &[(12, 0x86), (13, 0xdd)]);
    known.bits.extend(KnownBits::of(0xf0, 0x60).map(|bits| (14, bits)));
    let made = whole(&text, &known, Mode::Guard);
    let guard = made.guard.expect("it relies on bytes");
    let one = Comparison { offset: 12, bytes: 4, mask: 0x00f0_ffff, value: 0x0060_dd86 };
    assert_eq!(guard.comparisons, [one]);
    let text = listing(&made.program.insns[..guard.original]);
    // One check of the length, one comparison.
    assert_eq!(text.matches("if ").count(), 2, "{text}");
}

#[test]
fn without_facts_there_is_no_guard() {
    let made = whole(&parser(), &facts(14, &[]), Mode::Guard);
    assert_eq!(made.guard, None);
    let made = whole(&parser(), &facts(14, &[(13, 1)]), Mode::Guard);
    assert_eq!(made.guard, None, "nothing rests on it");
    assert!(Graph::of(&made.program).is_ok());
}

#[test]
fn the_greatest_length_is_not_relied_on() {
    let mut short = facts(14, &[]);
    short.max_length = 33;
    let made = whole(&parser(), &short, Mode::Guard);
    assert_eq!(made.guard, None);
    let made = whole(&parser(), &short, Mode::Trust);
    assert!(made.length);
    assert_eq!(listing(&made.program.insns), "r0 = 1\nexit\n");
}

#[test]
fn a_field_is_compared_with_each_of_its_values() {
    let mut known = facts(34, &[]);
    let field = Field { offset: 20, bytes: 1 };
    known.values.insert(field, BTreeSet::from([6, 17]));
    let text = checked(
        34,
        "r5 = *(u8 *)(r2 +20)
        if r5 == 6 goto pass
        if r5 == 17 goto pass
        r0 = 1
        exit
        pass:
        r0 = 2
        exit",
    );
    let made = whole(&text, &known, Mode::Guard);
    let guard = made.guard.expect("it relies on the field");
    assert_eq!((&guard.values, guard.length), (&known.values, 34));
    assert_eq!((guard.comparisons.len(), guard.facts().values), (0, known.values));
    let text = listing(&made.program.insns[..guard.original]);
    for value in ["0x6", "0x11"] {
        assert_eq!(text.matches(&format!("= {value} goto")).count(), 1, "{text}");
    }
    assert!(!text.contains("r0 = 1"), "{text}");
}
