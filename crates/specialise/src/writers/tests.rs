use super::writer;
use crate::assemble;
use slowpath_bpf::{MapDef, MapKind, Object, READ_ONLY};
use slowpath_generate::{Features, Programs};
use slowpath_stop::Stop;

/// Returns the text of a program that looks up an element in map 0 and an element in map 1. It
/// keeps the addresses of the values in `r6` and `r7`, and continues with `rest`.
fn text(rest: &str) -> String {
    format!(
        "*(u32 *)(r10 -4) = 0
        r2 = r10
        r2 += -4
        r1 = map 0
        call 1
        r6 = r0
        r2 = r10
        r2 += -4
        r1 = map 1
        call 1
        r7 = r0
        if r6 == 0 goto end
        if r7 == 0 goto end
        {rest}
        end:
        r0 = 2
        exit"
    )
}

/// Returns the instruction of the program that may change map 0 as text, or `None` if there is
/// none.
fn found(rest: &str, flags: u32) -> Option<String> {
    let object = Programs::new(Features { maps: false, ..Features::default() }, 1).from_seed(0);
    let mut object = Object::parse(&object.object()).expect("an object");
    let map = |name| MapDef {
        kind: MapKind::HASH,
        key_size: 4,
        value_size: 8,
        max_entries: 16,
        flags,
        ..MapDef::new(name)
    };
    object.maps = vec![map("a"), map("b")];
    let program = assemble::program(&text(rest));
    let found = writer(&object, &program, 0, &Stop::never()).expect("it has a graph");
    found.expect("in time").map(|slot| program.insns[slot].to_string())
}

#[test]
fn looking_up_and_reading_writes_nothing() {
    assert_eq!(found("r0 = *(u64 *)(r6 +0)\n*(u64 *)(r7 +0) = r0", 0), None);
    assert_eq!(found("r8 = *(u64 *)(r6 +0)\n*(u64 *)(r10 -16) = r6", 0), None);
}

#[test]
fn stores_through_what_was_found_are_seen() {
    let store = Some("*(u32 *)(r6 +4) = 1".to_owned());
    assert_eq!(found("*(u32 *)(r6 +4) = 1", 0), store);
    let spilled = "*(u64 *)(r10 -16) = r6\nr8 = *(u64 *)(r10 -16)\n*(u32 *)(r8 +0) = 1";
    assert_eq!(found(spilled, 0), Some("*(u32 *)(r8 +0) = 1".to_owned()));
    assert!(found("r8 = 1\nlock *(u64 *)(r6 +0) += r8", 0).is_some());
    // The path decides which map is written.
    let either =
        "r8 = r7\nr1 = *(u32 *)(r7 +0)\nif r1 == 0 goto on\nr8 = r6\non:\n*(u32 *)(r8 +0) = 1";
    assert!(found(either, 0).is_some());
    // An unknown address may point into the map.
    assert!(found("r8 = *(u64 *)(r10 -24)\n*(u32 *)(r8 +0) = 1", 0).is_some());
}

#[test]
fn updates_and_deletions_are_seen() {
    let call = |map: u32, helper: u32| {
        let text = format!("r2 = r10\nr2 += -4\nr3 = r7\nr4 = 0\nr1 = map {map}\ncall {helper}");
        found(&text, 0)
    };
    assert!(call(0, 2).is_some() && call(0, 3).is_some());
    assert_eq!((call(1, 2), call(1, 3)), (None, None));
}

#[test]
fn functions_may_write_what_they_are_given() {
    let text = "r1 = r6\ncall write\nr0 = 2\nexit\nwrite::\n*(u32 *)(r1 +0) = 1\nr0 = 0\nexit";
    assert_eq!(found(text, 0), Some("*(u32 *)(r1 +0) = 1".to_owned()));
}

#[test]
fn what_the_kernel_keeps_programs_from_writing_they_do_not() {
    assert_eq!(found("*(u32 *)(r6 +4) = 1", READ_ONLY), None);
}
