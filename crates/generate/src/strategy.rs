//! Random statements, with constants and shapes that are likely to be special cases.

mod statements;

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::sample::select;
use proptest::strategy::{Just, Union};

use crate::Features;
use crate::statement::{Code, Function, MapShape, Operand, Pick, Program, Stmt};
use statements::{Statements, statement};

/// How deep statements nest.
const NESTING: u32 = 3;
/// Immediates at which something changes: sizes of fields, signs, the middle of the word.
const IMMEDIATES: [i32; 26] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    0x10,
    0x1f,
    0x20,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0xff_ffff,
    0xff_0000,
    i32::MAX,
    i32::MIN,
    -1,
    -2,
    -0x100,
    -0x1_0000,
];

/// Programs of about so many statements on the outermost level, at most twice as many.
pub(crate) fn program(features: &Features, size: usize) -> BoxedStrategy<Program> {
    let mut nested = Just(Vec::new()).boxed();
    for level in 0..NESTING {
        let most = if level + 1 == NESTING { 4 } else { 3 };
        nested = vec(statement(features, &Statements::Inside(nested)), 0..=most).boxed();
    }
    let half = vec(statement(features, &Statements::Outside(nested)), 0..=size).boxed();
    let leaf = statement(features, &Statements::Inside(Just(Vec::new()).boxed()));
    let leaf = vec(leaf, 0..=2).boxed();
    let called = vec(statement(features, &Statements::Function(leaf)), 1..=6);
    let function = (1..=3u8, called, code()).prop_map(|(arguments, body, result)| Function {
        arguments,
        body,
        result,
    });
    let functions = vec(function, 0..=if features.calls { 2 } else { 0 });
    let reach = features.packet_reach;
    let first_check = Union::new_weighted(vec![
        (8, select(vec![14u16, 18, 20, 34, 38, 42, 54, 60, 64]).boxed()),
        (3, (1..=reach.max(1)).boxed()),
        (1, Just(0).boxed()),
    ]);
    let loads = vec(statements::load(), 1..=5);
    // Two lists: short programs are less frequent than with one.
    let body = (loads, half.clone(), half)
        .prop_map(|(loads, first, second)| [loads, first, second].concat());
    (any::<Pick>(), first_check, body, code(), 0..=7u8, functions, map())
        .prop_map(|(context, first_check, body, end, observed, functions, map)| Program {
            context,
            first_check,
            body,
            end,
            observed,
            functions,
            map,
        })
        .boxed()
}

fn map() -> impl Strategy<Value = MapShape> {
    (1..=8u8, 0..=6u8, any::<u8>()).prop_map(|(words, log_entries, added)| MapShape {
        words,
        log_entries,
        added,
    })
}

/// An immediate.
fn immediate() -> BoxedStrategy<i32> {
    let near = (select(&IMMEDIATES[..]), -1..=1i32).prop_map(|(value, by)| value.wrapping_add(by));
    Union::new_weighted(vec![
        (5, select(&IMMEDIATES[..]).boxed()),
        (2, near.boxed()),
        (2, (0..64i32).boxed()),
        (1, any::<i32>().boxed()),
    ])
    .boxed()
}

/// A 64-bit immediate: two halves of immediates.
fn wide_immediate() -> BoxedStrategy<u64> {
    (immediate(), immediate())
        .prop_map(|(high, low)| u64::from(high as u32) << 32 | u64::from(low as u32))
        .boxed()
}

/// A right operand.
fn operand() -> BoxedStrategy<Operand> {
    Union::new_weighted(vec![
        (1, immediate().prop_map(Operand::Constant).boxed()),
        (1, any::<Pick>().prop_map(Operand::Register).boxed()),
    ])
    .boxed()
}

/// What a program returns.
fn code() -> BoxedStrategy<Code> {
    Union::new_weighted(vec![
        (4, (0..=4).prop_map(Code::Constant).boxed()),
        (3, any::<Pick>().prop_map(Code::Masked).boxed()),
        (3, any::<Pick>().prop_map(Code::Scalar).boxed()),
    ])
    .boxed()
}

/// One of the statements that are enabled, by weight; arithmetic always is.
fn one_of(list: Vec<(bool, u32, BoxedStrategy<Stmt>)>) -> BoxedStrategy<Stmt> {
    let enabled = list.into_iter().filter(|(enabled, ..)| *enabled);
    Union::new_weighted(enabled.map(|(_, weight, of)| (weight, of)).collect()).boxed()
}
