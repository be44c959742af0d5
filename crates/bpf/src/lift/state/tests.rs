//! What is known after joins, moves, spills and calls.

use super::abstract_state::State;
use super::origin::Origin;
use super::value::Known;

fn frame(offset: i64) -> Known {
    Known::Frame { depth: 0, offset: Some(offset) }
}

#[test]
fn joins_keep_only_what_holds_on_both_ways() {
    let anywhere = Known::Frame { depth: 0, offset: None };
    let cases = [
        (Known::Const(3), Known::Const(3), Known::Const(3)),
        (Known::Const(3), Known::Const(4), Known::NoStack),
        (frame(-8), frame(-16), anywhere),
        // A pointer into the stack must not be taken for something else.
        (frame(-8), Known::Const(0), Known::Nothing),
        (Known::Nothing, Known::NoStack, Known::Nothing),
        (Known::Map(2), Known::Map(5), Known::Maps(0b10_0100)),
        (Known::Maps(0b10_0100), Known::Map(0), Known::Maps(0b10_0101)),
        // Null beside a map: the call is behind a check.
        (Known::Map(1), Known::Const(0), Known::Maps(0b10)),
        (Known::Inner(1), Known::Const(0), Known::Inner(1)),
        (Known::Inner(1), Known::Map(0), Known::Maps(1 | 1 << 65)),
    ];
    for (a, b, both) in cases {
        assert_eq!(a.join(b, Origin::First), both, "{a:?} and {b:?}");
        assert_eq!(b.join(a, Origin::First), both, "{b:?} and {a:?}");
    }
}

#[test]
fn bits_of_several_maps_name_them() {
    assert_eq!(Known::of_bit(3), Known::Map(3));
    assert_eq!(Known::of_bit(67), Known::Inner(3));
    assert_eq!(Known::Map(64).maps(), None, "more maps than bits");
}

#[test]
fn constants_move_pointers() {
    assert_eq!(frame(-8).plus(-8), frame(-16));
    assert_eq!(Known::Const(u64::MAX).plus(1), Known::Const(0));
    assert_eq!(Known::Map(1).plus(0), Known::Map(1));
    assert_eq!(Known::Map(1).plus(8), Known::NoStack);
    assert_eq!(frame(-8).moved(Origin::First), Known::Frame { depth: 0, offset: None });
}

#[test]
fn spilled_values_come_back_until_something_may_have_written_there() {
    let mut state = State::start();
    state.store(frame(-8), 8, Known::Map(1));
    state.store(frame(-24), 8, Known::Const(7));
    assert_eq!(state.load(frame(-8), 8), Known::Map(1));
    assert_eq!(state.load(frame(-8), 4), Known::NoStack, "half of a pointer is none");
    // One byte of it.
    state.store(frame(-1), 1, Known::Const(0));
    assert_eq!(state.load(frame(-8), 8), Known::Nothing);
    assert_eq!(state.load(frame(-24), 8), Known::Const(7));
    // Somewhere else than the stack, then somewhere in it.
    state.store(Known::NoStack, 8, Known::Const(1));
    assert_eq!(state.load(frame(-24), 8), Known::Const(7));
    state.store(frame(-100).moved(Origin::First), 8, Known::Const(1));
    assert_eq!(state.load(frame(-24), 8), Known::Nothing);
}

#[test]
fn calls_keep_the_callers_registers_and_lose_the_callees_frame() {
    let mut state = State::start();
    state.regs[6] = Known::Map(4);
    state.regs[1] = frame(-16);
    state.store(frame(-16), 8, Known::Const(1));
    state.call(1);
    assert_eq!(state.regs[6], Known::Nothing);
    assert_eq!(state.regs[1], frame(-16), "arguments are passed");
    let inner = Known::Frame { depth: 1, offset: Some(-8) };
    state.store(inner, 8, Known::Const(5));
    state.ret(0);
    assert_eq!(state.regs[6], Known::Map(4));
    assert_eq!(state.regs[1], Known::NoStack);
    assert_eq!(state.load(frame(-16), 8), Known::Const(1));
    state.call(1);
    assert_eq!(state.load(inner, 8), Known::Nothing, "another call, another content");
}

#[test]
fn joining_says_whether_less_is_known_than_before() {
    let mut state = State::start();
    state.store(frame(-8), 8, Known::Const(1));
    let same = state.clone();
    assert!(!state.join(&same, (0, 0)));
    let mut other = State::start();
    assert!(state.join(&other, (0, 0)));
    assert_eq!(state.load(frame(-8), 8), Known::Nothing);
    other.store(frame(-8), 8, Known::Const(2));
    assert!(!state.join(&other, (0, 0)), "nothing was known there");
}
