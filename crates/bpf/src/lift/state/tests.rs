//! Tests of abstract states after joins, moves, spills and calls.

use super::abstract_state::AbstractState;
use super::origin::Origin;
use super::value::{AbstractValue, MapSet};

fn frame(offset: i64) -> AbstractValue {
    AbstractValue::Frame { depth: 0, offset: Some(offset) }
}

fn variable(map: u32, offset: Option<i64>) -> AbstractValue {
    AbstractValue::Data { map, offset }
}

fn one_of<const N: usize>(numbers: [u32; N]) -> AbstractValue {
    let sets = numbers.into_iter().filter_map(MapSet::of);
    AbstractValue::OneOfMaps(sets.fold(MapSet::default(), MapSet::with))
}

#[test]
fn joins_keep_what_holds_on_both_paths() {
    let anywhere = AbstractValue::Frame { depth: 0, offset: None };
    let cases = [
        (AbstractValue::Const(3), AbstractValue::Const(3), AbstractValue::Const(3)),
        (AbstractValue::Const(3), AbstractValue::Const(4), AbstractValue::NotStack),
        (frame(-8), frame(-16), anywhere),
        // A possible stack pointer must not lose this property.
        (frame(-8), AbstractValue::Const(0), AbstractValue::Unknown),
        (AbstractValue::Unknown, AbstractValue::NotStack, AbstractValue::Unknown),
        (AbstractValue::Map(2), AbstractValue::Map(5), one_of([2, 5])),
        (one_of([2, 5]), AbstractValue::Map(0), one_of([0, 2, 5])),
        // The program checks for null before it passes the map to a call.
        (AbstractValue::Map(1), AbstractValue::Const(0), one_of([1])),
        (AbstractValue::InnerMap(1), AbstractValue::Const(0), AbstractValue::InnerMap(1)),
        (AbstractValue::InnerMap(1), AbstractValue::Map(0), one_of([0, MapSet::INNER + 1])),
        (variable(3, Some(8)), variable(3, Some(16)), variable(3, None)),
        (variable(3, Some(8)), variable(4, Some(8)), AbstractValue::NotStack),
    ];
    for (a, b, both) in cases {
        assert_eq!(a.join(b, Origin::First), both, "{a:?} and {b:?}");
        assert_eq!(b.join(a, Origin::First), both, "{b:?} and {a:?}");
    }
}

#[test]
fn sets_of_maps_have_their_members() {
    let members = [0, 64, 127, 128, 255];
    let set = members.into_iter().filter_map(MapSet::of).fold(MapSet::default(), MapSet::with);
    let mut found = Vec::new();
    while let Some(number) = set.next(found.last().map_or(0, |last| last + 1)) {
        found.push(number);
    }
    assert_eq!(found, members);
    assert!(set.mixes_inner_maps());
    assert_eq!(AbstractValue::of_number(127), AbstractValue::Map(127));
    assert_eq!(AbstractValue::of_number(131), AbstractValue::InnerMap(3));
    for value in [127, 131].map(AbstractValue::of_number) {
        let found = value.maps().and_then(|set| set.next(0)).map(AbstractValue::of_number);
        assert_eq!(found, Some(value));
    }
    assert_eq!(AbstractValue::Map(128).maps(), None, "the limit on maps");
    assert_eq!(AbstractValue::InnerMap(128).maps(), None, "the limit on maps");
}

#[test]
fn constants_move_pointers() {
    assert_eq!(frame(-8).plus(-8), frame(-16));
    assert_eq!(AbstractValue::Const(u64::MAX).plus(1), AbstractValue::Const(0));
    assert_eq!(AbstractValue::Map(1).plus(0), AbstractValue::Map(1));
    assert_eq!(AbstractValue::Map(1).plus(8), AbstractValue::NotStack);
    assert_eq!(frame(-8).moved(Origin::First), AbstractValue::Frame { depth: 0, offset: None });
    assert_eq!(variable(3, Some(8)).plus(4), variable(3, Some(12)));
    assert_eq!(variable(3, Some(8)).moved(Origin::First).plus(4), variable(3, None));
}

#[test]
fn spilled_values_are_loaded_until_they_may_be_overwritten() {
    let mut state = AbstractState::start();
    state.store(frame(-8), 8, AbstractValue::Map(1));
    state.store(frame(-24), 8, AbstractValue::Const(7));
    assert_eq!(state.load(frame(-8), 8), AbstractValue::Map(1));
    assert_eq!(state.load(frame(-8), 4), AbstractValue::NotStack, "half of a pointer is none");
    // Overwrite one byte of the spilled pointer.
    state.store(frame(-1), 1, AbstractValue::Const(0));
    assert_eq!(state.load(frame(-8), 8), AbstractValue::Unknown);
    assert_eq!(state.load(frame(-24), 8), AbstractValue::Const(7));
    // Store outside the stack, then to an unknown offset in the stack.
    state.store(AbstractValue::NotStack, 8, AbstractValue::Const(1));
    assert_eq!(state.load(frame(-24), 8), AbstractValue::Const(7));
    state.store(frame(-100).moved(Origin::First), 8, AbstractValue::Const(1));
    assert_eq!(state.load(frame(-24), 8), AbstractValue::Unknown);
}

#[test]
fn calls_keep_the_callers_registers_and_lose_the_callees_frame() {
    let mut state = AbstractState::start();
    state.regs[6] = AbstractValue::Map(4);
    state.regs[1] = frame(-16);
    state.store(frame(-16), 8, AbstractValue::Const(1));
    state.call(1);
    assert_eq!(state.regs[6], AbstractValue::Unknown);
    assert_eq!(state.regs[1], frame(-16), "arguments are passed");
    let inner = AbstractValue::Frame { depth: 1, offset: Some(-8) };
    state.store(inner, 8, AbstractValue::Const(5));
    state.ret(0);
    assert_eq!(state.regs[6], AbstractValue::Map(4));
    assert_eq!(state.regs[1], AbstractValue::NotStack);
    assert_eq!(state.load(frame(-16), 8), AbstractValue::Const(1));
    state.call(1);
    assert_eq!(state.load(inner, 8), AbstractValue::Unknown, "another call, another content");
}

#[test]
fn join_returns_true_if_the_state_changes() {
    let mut state = AbstractState::start();
    state.store(frame(-8), 8, AbstractValue::Const(1));
    let same = state.clone();
    assert!(!state.join(&same, (0, 0)));
    let mut other = AbstractState::start();
    assert!(state.join(&other, (0, 0)));
    assert_eq!(state.load(frame(-8), 8), AbstractValue::Unknown);
    other.store(frame(-8), 8, AbstractValue::Const(2));
    assert!(!state.join(&other, (0, 0)), "nothing was known there");
}
