use super::{Mode, specialise};
use crate::assemble;
use crate::support::{checked, facts, is, listing, whole};
use slowpath_bpf::Object;
use slowpath_generate::{Features, Programs};
use slowpath_stop::{Limits, Stop};

/// Returns the text of a program that drops all packets except IPv6.
fn parser() -> String {
    checked(
        14,
        "r5 = *(u16 *)(r2 +12)
        r5 = be16 r5
        if r5 != 0x86dd goto drop
        r0 = 2
        exit",
    )
}

#[test]
fn a_parser_is_gone_where_its_packets_are_known() {
    let known = facts(14, &[(12, 0x86), (13, 0xdd)]);
    let made = whole(&parser(), &known, Mode::Trust);
    is(&made.program, "r0 = 2\nexit");
    assert_eq!((made.bytes, made.length, made.guard), (vec![12, 13], true, None));
    assert_eq!(made.origins.len(), made.program.insns.len());
    let slots: Vec<usize> = made.changes.iter().map(|dropped| dropped.slot).collect();
    assert!(slots.contains(&4) && slots.contains(&7), "{slots:?}");
}

#[test]
fn other_packets_get_what_is_for_them() {
    let known = facts(14, &[(12, 0x08)]);
    is(&whole(&parser(), &known, Mode::Trust).program, "r0 = 1\nexit");
    let known = facts(14, &[(13, 0xdd)]);
    let made = whole(&parser(), &known, Mode::Trust);
    assert_eq!(listing(&made.program.insns).matches("if ").count(), 2);
}

#[test]
fn without_time_a_program_stays_as_it_is() {
    let (text, known) = (parser(), facts(14, &[(12, 0x86), (13, 0xdd)]));
    let object = Programs::new(Features { maps: false, ..Features::default() }, 1).from_seed(0);
    let object = Object::parse(&object.object()).expect("an object");
    let program = assemble::program(&text);
    for mode in [Mode::Trust, Mode::Guard] {
        let stop = Stop::new(Limits { polls: Some(0), ..Limits::default() });
        let made = specialise(&object, &program, &known, mode, &stop).expect("it has a graph");
        assert_eq!(listing(&made.program.insns), listing(&program.insns));
        assert!(made.changes.is_empty() && made.guard.is_none());
    }
}
