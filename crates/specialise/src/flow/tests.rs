use super::{Compared, EdgeKind, Fate, FlowBlock, Part, blocks, compare};
use crate::assemble;
use crate::pipeline::Mode;
use crate::support::{checked, facts, whole};
use slowpath_generate::{Features, Programs};
use slowpath_stop::Stop;

const PROGRAMS: u64 = 100;

/// Returns a program that drops packets shorter than 14 bytes and all packets except IPv6. Its last
/// branch depends on an unknown value.
fn parser() -> String {
    checked(
        14,
        "r5 = *(u16 *)(r2 +12)
        r5 = be16 r5
        if r5 != 0x86dd goto drop
        r5 = *(u8 *)(r2 +0)
        if r5 == 1 goto drop
        r0 = 2
        exit",
    )
}

fn compared(mode: Mode) -> Compared {
    let known = facts(14, &[(12, 0x86), (13, 0xdd)]);
    let made = whole(&parser(), &known, mode);
    compare(&assemble::program(&parser()), &made).expect("it has a graph")
}

#[test]
fn blocks_have_their_slots_and_ways() {
    let found = blocks(&assemble::program(&parser())).expect("it has a graph");
    let slots: Vec<_> = found.iter().map(|block| block.slots.clone()).collect();
    assert_eq!(slots, [0..5, 5..8, 8..10, 10..12, 12..14]);
    assert_eq!(found[0].next, [(4, EdgeKind::Taken), (1, EdgeKind::NotTaken)]);
    assert_eq!(found[3].next, []);
}

#[test]
fn what_is_decided_leads_one_way_only() {
    let found = compared(Mode::Trust);
    // The bounds check is decided, too, but the kernel's verifier needs it.
    assert_eq!(found.never.iter().copied().collect::<Vec<_>>(), [(1, 0)]);
    assert!(found.unreached.is_empty(), "the last branch leads there");
    // The only new code is the block after a failed check, which no packet reaches.
    assert_eq!(found.changed.iter().copied().collect::<Vec<_>>(), [9, 10]);
    assert_eq!(found.parts, vec![Part::Rewritten; found.after.len()]);
    // The load of the packet's start and the last branch remain.
    let kept: Vec<usize> = (0..14).filter(|&slot| found.fates[slot] == Fate::Kept).collect();
    assert!(kept.contains(&0) && kept.contains(&9), "{kept:?}");
    assert_eq!(found.fates[4], Fate::Kept);
    assert_eq!(found.fates[5..8], [Fate::Removed; 3]);
}

#[test]
fn what_no_packet_gets_to_is_unreached() {
    let text = checked(14, "r5 = *(u8 *)(r2 +12)\nif r5 == 1 goto drop\nr0 = 2\nexit");
    let made = whole(&text, &facts(14, &[(12, 0)]), Mode::Trust);
    let found = compare(&assemble::program(&text), &made).expect("it has a graph");
    assert_eq!(found.unreached.iter().copied().collect::<Vec<_>>(), [3]);
    assert_eq!(found.fates[9..], [Fate::Removed; 2]);
}

#[test]
fn what_is_known_is_new() {
    let text = checked(14, "r0 = *(u8 *)(r2 +12)\nexit");
    let made = whole(&text, &facts(14, &[(12, 7)]), Mode::Trust);
    let found = compare(&assemble::program(&text), &made).expect("it has a graph");
    assert_eq!(found.fates[5], Fate::Changed);
    assert_eq!(found.changed.iter().copied().collect::<Vec<_>>(), [0]);
}

#[test]
fn a_guard_and_the_original_are_told_apart() {
    let found = compared(Mode::Guard);
    let count = |part| found.parts.iter().filter(|&&other| other == part).count();
    assert_eq!((count(Part::Guard), count(Part::Original)), (2, 5));
    assert!(count(Part::Rewritten) > 0);
    // Checks of the guard and copies in the original do not count as remaining code.
    assert_eq!(found.fates[4..8], [Fate::Removed; 4]);
    assert_eq!(found.never.iter().copied().collect::<Vec<_>>(), [(0, 0), (1, 0)]);
}

/// Checks that the blocks together contain each slot of a program once, and that edges lead to
/// existing blocks.
#[test]
fn blocks_are_the_whole_program() {
    let mut unreached = 0;
    for seed in 0..PROGRAMS {
        let object = Programs::new(Features::default(), 20).from_seed(seed).object();
        let object = slowpath_bpf::Object::parse(&object).expect("an object");
        let program = object.link(0, None).expect("it is linked");
        let known = facts(64, &[(12, 0x86), (13, 0xdd), (14, 0x60)]);
        for mode in [Mode::Trust, Mode::Guard] {
            let made = crate::specialise(&object, &program, &known, mode, &Stop::never());
            let made = made.expect("it has a graph");
            let found = compare(&program, &made).expect("it has a graph");
            assert_eq!(found.fates.len(), program.insns.len());
            are_all(&found.before, program.insns.len());
            are_all(&found.after, made.program.insns.len());
            assert_eq!(found.parts.contains(&Part::Original), made.guard.is_some());
            assert!(found.unreached.is_empty() || !found.never.is_empty());
            unreached += found.unreached.len();
        }
    }
    assert!(unreached > 0);
}

fn are_all(blocks: &[FlowBlock], slots: usize) {
    let mut next = 0;
    for block in blocks {
        assert_eq!(block.slots.start, next);
        assert!(block.slots.end > next);
        assert!(block.next.iter().all(|(to, _)| *to < blocks.len()));
        next = block.slots.end;
    }
    assert_eq!(next, slots);
}
