//! Provides proptest strategies for random steps of sequences. The arguments of helper calls often
//! coincide or are near the limits of the helpers.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::sample::select;
use proptest::strategy::{Just, Union};
use slowpath_bpf::MapKind;
use slowpath_bpf::insn::{Condition, Size};

use super::abilities::SequenceFeatures;
use super::layout::ARGUMENTS;
use super::statement::{Action, Calls, End, GuardedAction, InnerCall, Number, Shape, Test, Value};
use crate::statement::Pick;

/// Maximum number of maps that the calls of a sequence use; the map `out` for results is not
/// counted.
const MAPS: usize = 3;

/// Returns a strategy for sequences of helper calls that use these optional features.
pub(super) fn calls(abilities: &SequenceFeatures) -> BoxedStrategy<Calls> {
    let motifs = vec(motif(abilities), 1..=3);
    let steps = motifs.prop_map(|motifs| motifs.concat());
    (vec(shape(abilities), 1..=MAPS), steps, vec(test(), 1..=8))
        .prop_map(|(maps, steps, tests)| Calls { maps, steps, tests })
        .boxed()
}

fn shape(abilities: &SequenceFeatures) -> BoxedStrategy<Shape> {
    let inner = vec![MapKind::HASH, MapKind::ARRAY, MapKind::PERCPU_HASH];
    let lru = abilities.evictions;
    let full = abilities.full_maps;
    let entries = select(vec![1u8, 2, 3, 64]);
    (select(abilities.kinds()), select(inner), any::<bool>(), 1..=2u8, entries, any::<bool>())
        .prop_map(move |(kind, inner, wide, words, entries, allocates)| Shape {
            kind,
            inner,
            wide,
            words,
            entries: match kind {
                MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH if !lru => 64,
                MapKind::HASH | MapKind::PERCPU_HASH if !full => 64,
                kind if kind.holds_maps() && !full => 64,
                _ => entries,
            },
            allocates,
        })
        .boxed()
}

fn pick() -> BoxedStrategy<Pick> {
    Union::new_weighted(vec![(3, Just(0).boxed()), (1, any::<Pick>().boxed())]).boxed()
}

fn byte(mask: Vec<u8>, shift: u8, less: Vec<i32>) -> BoxedStrategy<Number> {
    (0..ARGUMENTS / 4, select(mask), 0..=shift, select(less), any::<bool>())
        .prop_map(|(at, mask, shift, less, negative)| Number::Byte {
            at,
            mask,
            shift,
            less,
            negative,
        })
        .boxed()
}

fn positive(mask: Vec<u8>) -> BoxedStrategy<Number> {
    (0..ARGUMENTS / 4, select(mask))
        .prop_map(|(at, mask)| Number::Byte { at, mask, shift: 0, less: 0, negative: false })
        .boxed()
}

fn mixed(
    constants: Vec<i32>,
    variable: BoxedStrategy<Number>,
    weights: (u32, u32),
) -> BoxedStrategy<Number> {
    let constant = select(constants).prop_map(Number::Constant).boxed();
    Union::new_weighted(vec![(weights.0, constant), (weights.1, variable)]).boxed()
}

/// Returns a strategy for map keys. It chooses among a few keys, so that several calls use the same
/// one.
fn key() -> BoxedStrategy<Number> {
    mixed(vec![0, 0, 1, 1, 2, 3], positive(vec![1, 3, 3, 7]), (2, 3))
}

fn content() -> BoxedStrategy<Number> {
    mixed(vec![0, 1, 5, 77, -1], positive(vec![3, 15, 255]), (1, 2))
}

fn flags(abilities: &SequenceFeatures) -> BoxedStrategy<Number> {
    let constants = match abilities.locks {
        true => vec![0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, -1],
        false => vec![0, 0, 0, 0, 1, 1, 2, 2, 3, 8, 9],
    };
    let masks = if abilities.locks { vec![1, 2, 3, 7] } else { vec![1, 2, 3, 0x83] };
    mixed(constants, positive(masks), (4, 1))
}

fn size() -> BoxedStrategy<Size> {
    select(vec![Size::B, Size::B, Size::H, Size::W, Size::DW]).boxed()
}

/// Returns a strategy for the distance in bytes by which a call moves the boundary `end` of the
/// packet.
fn delta(end: End) -> BoxedStrategy<Number> {
    let constants = match end {
        End::Head => {
            vec![
                -257, -256, -217, -216, -215, -128, -64, -16, -8, -4, -1, 0, 1, 4, 14, 16, 32, 46,
                64, 100, 1486, 3000,
            ]
        }
        End::Tail => {
            vec![
                -1486, -200, -64, -46, -32, -16, -8, -1, 0, 1, 4, 8, 16, 46, 64, 500, 2020, 3000,
                3460,
            ]
        }
        End::Meta => vec![-260, -256, -252, -216, -212, -64, -32, -8, -4, -2, 0, 2, 4, 8, 32, 252],
    };
    let shift = if end == End::Meta { 2 } else { 4 };
    let variable = byte(vec![1, 7, 15, 31, 63, 255], shift, vec![0, 0, 0, 8, 16, 64]);
    mixed(constants, variable, (1, 1))
}

fn offset() -> BoxedStrategy<Number> {
    let near = vec![0, 1, 2, 5, 8, 13, 14, 20, 30, 40, 46, 54, 60, 63, 64, 80, 100, 128, 200];
    mixed(near, positive(vec![7, 31, 63, 127]), (2, 1))
}

fn end() -> BoxedStrategy<End> {
    select(vec![End::Head, End::Tail, End::Meta]).boxed()
}

fn negated(number: Number) -> Number {
    match number {
        Number::Constant(value) => Number::Constant(-value),
        Number::Byte { at, mask, shift, less, negative } => {
            Number::Byte { at, mask, shift, less: -less, negative: !negative }
        }
    }
}

fn value() -> BoxedStrategy<Value> {
    Union::new_weighted(vec![
        (5, content().prop_map(Value::Number).boxed()),
        (1, any::<Pick>().prop_map(Value::Pointer).boxed()),
    ])
    .boxed()
}

/// Returns a strategy for calls of map helpers.
fn map_call(abilities: &SequenceFeatures) -> BoxedStrategy<Action> {
    let flags = flags(abilities);
    let lookup = (pick(), key(), 0..3u8)
        .prop_map(|(map, key, pointer_slot)| Action::Lookup { map, key, pointer_slot })
        .boxed();
    let update = (pick(), key(), value(), flags.clone())
        .prop_map(|(map, key, value, flags)| Action::Update { map, key, value, flags })
        .boxed();
    let delete = (pick(), key()).prop_map(|(map, key)| Action::Delete { map, key }).boxed();
    let inner = Union::new_weighted(vec![
        (
            2,
            (key(), 0..3u8)
                .prop_map(|(key, pointer_slot)| InnerCall::Lookup { key, pointer_slot })
                .boxed(),
        ),
        (
            2,
            (key(), content(), flags.clone())
                .prop_map(|(key, value, flags)| InnerCall::Update { key, value, flags })
                .boxed(),
        ),
        (1, key().prop_map(|key| InnerCall::Delete { key }).boxed()),
    ]);
    let inner =
        (pick(), key(), inner).prop_map(|(map, key, call)| Action::Inner { map, key, call });
    let push = (pick(), content(), flags)
        .prop_map(|(map, value, flags)| Action::Push { map, value, flags })
        .boxed();
    let pop = (pick(), any::<bool>()).prop_map(|(map, stays)| Action::Pop { map, stays }).boxed();
    Union::new_weighted(vec![
        (3, lookup),
        (4, update),
        (2, delete),
        (4, inner.boxed()),
        (2, push),
        (2, pop),
    ])
    .boxed()
}

fn through_pointer() -> BoxedStrategy<Action> {
    let read = (pick(), size(), 0..8u8)
        .prop_map(|(pointer, size, at)| Action::Read { pointer, size, at })
        .boxed();
    let write = (pick(), size(), 0..8u8, content())
        .prop_map(|(pointer, size, at, value)| Action::Write { pointer, size, at, value })
        .boxed();
    Union::new_weighted(vec![(3, read), (1, write)]).boxed()
}

fn peek() -> BoxedStrategy<Action> {
    (any::<bool>(), offset(), size())
        .prop_map(|(metadata, at, size)| Action::Peek { metadata, at, size })
        .boxed()
}

/// Returns a strategy for calls of packet helpers.
fn packet_call() -> BoxedStrategy<Action> {
    let adjust =
        end().prop_flat_map(|end| delta(end).prop_map(move |by| Action::Adjust { end, by }));
    let poke = (any::<bool>(), offset(), size(), content())
        .prop_map(|(metadata, at, size, value)| Action::Poke { metadata, at, size, value })
        .boxed();
    let far = mixed(
        vec![0, 14, 45, 46, 60, 64, 200, 0xffff, 0x1_0000, -1],
        positive(vec![63, 127, 255]),
        (1, 1),
    );
    let bytes = (any::<bool>(), far, 1..=16u8)
        .prop_map(|(store, offset, length)| Action::Bytes { store, offset, length })
        .boxed();
    Union::new_weighted(vec![
        (5, adjust.boxed()),
        (3, peek()),
        (2, poke),
        (3, bytes),
        (1, Just(Action::Length).boxed()),
    ])
    .boxed()
}

fn other_call(abilities: &SequenceFeatures) -> BoxedStrategy<Action> {
    let constants = vec![0, 4, 8, 12, 20, 28, 32, 0, 3];
    let bytes = match abilities.checksum_sizes {
        true => mixed(constants, positive(vec![4, 12, 28, 31]), (2, 1)),
        false => select(constants).prop_map(Number::Constant).boxed(),
    };
    let seed = mixed(vec![0, 1, 0xffff, 0x1_0000, i32::MAX, -1], positive(vec![255]), (2, 1));
    let checksum = (bytes.clone(), bytes, seed)
        .prop_map(|(from, to, seed)| Action::Checksum { from, to, seed })
        .boxed();
    let few = mixed(vec![0, 1, 2, 3], positive(vec![1, 3, 7]), (1, 1));
    let mode = mixed(vec![0, 1, 2, 3, 4, 8, 9, 16, 24, 32], positive(vec![3, 15, 27, 31]), (1, 1));
    let redirect =
        (few, mode.clone()).prop_map(|(device, flags)| Action::Redirect { device, flags }).boxed();
    let redirect_map = (pick(), key(), mode)
        .prop_map(|(map, key, flags)| Action::RedirectMap { map, key, flags })
        .boxed();
    Union::new_weighted(vec![(2, checksum), (1, redirect), (1, redirect_map)]).boxed()
}

/// Returns a strategy for a single step, or for a short list of related steps such as an update and
/// a look-up.
fn motif(abilities: &SequenceFeatures) -> BoxedStrategy<Vec<GuardedAction>> {
    let guard = option::weighted(0.2, (0..ARGUMENTS / 4, select(vec![1u8, 2, 4, 8, 16])));
    let always = |action| GuardedAction { guard: None, action };
    let one = Union::new_weighted(vec![
        (6, map_call(abilities)),
        (2, through_pointer()),
        (5, packet_call()),
        (2, other_call(abilities)),
    ]);
    let single =
        (guard.clone(), one).prop_map(|(guard, action)| vec![GuardedAction { guard, action }]);
    // Use a pointer after further calls with the same map.
    let outlived = (key(), vec((guard, map_call(abilities)), 1..=3), through_pointer(), size());
    let outlived = outlived.prop_map(move |(key, calls, through, size)| {
        let calls = calls.into_iter().map(|(guard, action)| GuardedAction { guard, action });
        [always(Action::Lookup { map: 0, key, pointer_slot: 0 })]
            .into_iter()
            .chain(calls)
            .chain([always(through), always(Action::Read { pointer: 0, size, at: 0 })])
            .collect()
    });
    // Move an end of the packet, and move it back.
    let back =
        (end(), any::<bool>(), vec(peek(), 1..=2)).prop_flat_map(move |(end, even, peeks)| {
            (delta(end), delta(end)).prop_map(move |(first, second)| {
                let by = if even { negated(first) } else { second };
                let moves = [Action::Adjust { end, by: first }, Action::Adjust { end, by }];
                moves.into_iter().chain(peeks.clone()).map(always).collect::<Vec<GuardedAction>>()
            })
        });
    // Make more updates than the map may have room for.
    let crowd = (vec((key(), content(), flags(abilities)), 2..=4), option::of(key()));
    let crowd = crowd.prop_map(move |(updates, deleted)| {
        let update = |(key, value, flags)| {
            always(Action::Update { map: 0, key, value: Value::Number(value), flags })
        };
        let mut steps: Vec<GuardedAction> = updates.into_iter().map(update).collect();
        if let Some(key) = deleted {
            steps.insert(1, always(Action::Delete { map: 0, key }));
        }
        steps
    });
    Union::new_weighted(vec![
        (4, single.boxed()),
        (3, outlived.boxed()),
        (2, back.boxed()),
        (2, crowd.boxed()),
    ])
    .boxed()
}

fn test() -> impl Strategy<Value = Test> {
    const RESULTS: [i32; 16] = [0, 0, 1, 2, 3, 4, 5, 10, 64, 77, -2, -7, -12, -17, -22, 100];
    let conditions = vec![
        Condition::Eq,
        Condition::Eq,
        Condition::Ne,
        Condition::Gt,
        Condition::Lt,
        Condition::Slt,
        Condition::Sge,
        Condition::Set,
    ];
    (any::<Pick>(), select(conditions), select(&RESULTS[..]), 0..=15u8).prop_map(
        |(result, condition, constant, weight)| Test { result, condition, constant, weight },
    )
}
