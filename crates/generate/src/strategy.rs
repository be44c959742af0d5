//! Provides proptest strategies for random programs. Their constants and control flow are likely to
//! be special cases.

mod statements;
mod values;

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::sample::select;
use proptest::strategy::{Just, Union};

use crate::Features;
use crate::statement::{Function, MapShape, Pick, Program};
use statements::{Statements, statement};
use values::code;

/// Maximum nesting depth of branches and loops in a random program.
const NESTING: u32 = 3;

/// Returns a strategy for programs with about `size` statements on the outermost level, and at most
/// twice as many.
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
    // With two lists instead of one, short programs are less frequent.
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
