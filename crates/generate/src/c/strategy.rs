//! Provides proptest strategies for random statements of C programs.

use proptest::array::uniform2;
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::sample::select;
use proptest::strategy::{Just, Union};

use crate::sequence::SequenceFeatures;

use super::statement::{Condition, Distance, Source, Stmt, Table};

/// Packet offsets in bytes at which generated programs load fields.
const PLACES: [u16; 16] = [0, 4, 12, 14, 15, 16, 18, 20, 22, 23, 24, 26, 30, 34, 36, 42];

pub(super) fn source(abilities: &SequenceFeatures) -> BoxedStrategy<Source> {
    let mut nested = vec(leaf(abilities), 1..=2).boxed();
    for _ in 0..2 {
        nested = vec(statement(abilities, nested), 1..=2).boxed();
    }
    let body = (vec(field(), 2..=3), vec(statement(abilities, nested), 1..=6))
        .prop_map(|(fields, body)| [fields, body].concat());
    let table =
        (0..6u8, select(vec![1u32, 2, 4, 64])).prop_map(|(kind, entries)| Table { kind, entries });
    (body, vec(compute(), 1..=4), uniform2(table))
        .prop_map(|(body, function, maps)| Source { body, function, maps })
        .boxed()
}

fn variable() -> impl Strategy<Value = u8> + Clone {
    0..4u8
}

fn place() -> impl Strategy<Value = u16> + Clone {
    select(&PLACES[..])
}

fn bytes() -> impl Strategy<Value = u8> + Clone {
    select(vec![1u8, 1, 2, 4, 8])
}

fn mask() -> impl Strategy<Value = u8> + Clone {
    select(vec![1u8, 3, 3, 7, 15])
}

fn constant() -> impl Strategy<Value = u32> + Clone {
    select(vec![0u32, 1, 2, 3, 4, 6, 8, 17, 53, 64, 80, 255, 0x800, 0x8100, 0xffff, 0x1234_5678])
}

fn condition() -> impl Strategy<Value = Condition> {
    (variable(), 0..6u8, constant()).prop_map(|(variable, comparison, constant)| Condition {
        variable,
        comparison,
        constant,
    })
}

fn distance(constants: Vec<i32>, variable_too: bool) -> BoxedStrategy<Distance> {
    let mask = select(vec![3u8, 7, 15, 31, 63]);
    let variable = (variable(), mask, select(vec![0, 0, 4, 16, 32]));
    let constant = select(constants).prop_map(Distance::Constant);
    let variable = variable.prop_map(|(v, mask, less)| Distance::Variable(v, mask, less));
    if variable_too {
        Union::new([constant.boxed(), variable.boxed()]).boxed()
    } else {
        constant.boxed()
    }
}

fn field() -> BoxedStrategy<Stmt> {
    (place(), bytes(), variable(), any::<bool>())
        .prop_map(|(at, bytes, to, swap)| Stmt::Field { at, bytes, to, swap })
        .boxed()
}

fn compute() -> BoxedStrategy<Stmt> {
    (0..8u8, variable(), variable(), constant())
        .prop_map(|(operator, to, from, constant)| Stmt::Compute { operator, to, from, constant })
        .boxed()
}

fn leaf(abilities: &SequenceFeatures) -> BoxedStrategy<Stmt> {
    let field_at = (variable(), mask(), 0..64u8, bytes(), variable()).prop_map(
        |(variable, mask, at, bytes, to)| Stmt::FieldAt { variable, mask, at, bytes, to },
    );
    let sum = (place(), 2..=24u8, variable(), 1..=4u8).prop_map(|(at, most, to, by)| Stmt::Sum {
        at,
        most,
        to,
        by,
    });
    let options = (place(), 1..=6u8, 0..4u8, mask(), variable())
        .prop_map(|(at, most, wanted, mask, to)| Stmt::Options { at, most, wanted, mask, to });
    let stale = abilities.stale_pointers;
    let count = (0..2u8, variable(), mask(), 0..4u8, any::<bool>()).prop_map(
        move |(map, key, mask, flags, reread)| {
            let reread = reread && stale;
            Stmt::Count { map, key, mask, flags, reread }
        },
    );
    let forget =
        (0..2u8, variable(), mask()).prop_map(|(map, key, mask)| Stmt::Forget { map, key, mask });
    let write = (place(), bytes(), variable()).prop_map(|(at, bytes, variable)| Stmt::Write {
        at,
        bytes,
        variable,
    });
    let call = (variable(), variable(), variable()).prop_map(|(first, second, to)| Stmt::Call {
        first,
        second,
        to,
    });
    let copy =
        (place(), place(), 1..=16u8).prop_map(|(at, to, bytes)| Stmt::Copy { at, to, bytes });
    let tags = (1..=4u8, variable()).prop_map(|(most, to)| Stmt::Tags { most, to });
    Union::new_weighted(vec![
        (3, field()),
        (2, field_at.boxed()),
        (3, compute()),
        (2, sum.boxed()),
        (2, options.boxed()),
        (1, tags.boxed()),
        (4, count.boxed()),
        (2, forget.boxed()),
        (2, write.boxed()),
        (1, call.boxed()),
        (1, copy.boxed()),
        (1, (0..5u8).prop_map(|action| Stmt::Return { action }).boxed()),
    ])
    .boxed()
}

fn statement(
    abilities: &SequenceFeatures,
    nested: BoxedStrategy<Vec<Stmt>>,
) -> BoxedStrategy<Stmt> {
    let maybe = Union::new(vec![nested.clone(), Just(Vec::new()).boxed()]);
    let branch = (condition(), nested.clone(), maybe.clone())
        .prop_map(|(test, then, other)| Stmt::If { test, then, other });
    let switch = (variable(), mask(), vec(nested.clone(), 2..=4))
        .prop_map(|(variable, mask, cases)| Stmt::Switch { variable, mask, cases });
    let state = (0..2u8, variable(), mask(), 0..4u8, nested.clone(), maybe.clone()).prop_map(
        |(map, key, mask, limit, found, missing)| Stmt::State {
            map,
            key,
            mask,
            limit,
            found,
            missing,
        },
    );
    let head = (distance(vec![-64, -20, -4, 4, 8, 14, 20, -256, 40], true), maybe.clone())
        .prop_map(|(by, then)| Stmt::Head { by, then });
    let tails = vec![-60, -16, -8, -4, 4, 8, 32, 200, 3000];
    let tail = (distance(tails, abilities.variable_tails), maybe)
        .prop_map(|(by, then)| Stmt::Tail { by, then });
    Union::new_weighted(vec![
        (10, leaf(abilities)),
        (4, branch.boxed()),
        (1, switch.boxed()),
        (3, state.boxed()),
        (2, head.boxed()),
        (2, tail.boxed()),
    ])
    .boxed()
}
