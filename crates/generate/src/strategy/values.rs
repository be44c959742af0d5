//! Provides proptest strategies for parts of statements: immediates near boundaries, operands, and
//! return values.

use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::sample::select;
use proptest::strategy::Union;

use crate::statement::{Code, Operand, Pick, Stmt};

/// Immediates near limits: of field sizes, of signed numbers, and of 16-bit halves.
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

/// Returns a strategy for 32-bit immediates, most of which are near boundaries.
pub(super) fn immediate() -> BoxedStrategy<i32> {
    let near = (select(&IMMEDIATES[..]), -1..=1i32).prop_map(|(value, by)| value.wrapping_add(by));
    Union::new_weighted(vec![
        (5, select(&IMMEDIATES[..]).boxed()),
        (2, near.boxed()),
        (2, (0..64i32).boxed()),
        (1, any::<i32>().boxed()),
    ])
    .boxed()
}

/// Returns a strategy for 64-bit immediates that consist of two 32-bit ones.
pub(super) fn wide_immediate() -> BoxedStrategy<u64> {
    (immediate(), immediate())
        .prop_map(|(high, low)| u64::from(high as u32) << 32 | u64::from(low as u32))
        .boxed()
}

/// Returns a strategy for right operands of instructions: an immediate or a register.
pub(super) fn operand() -> BoxedStrategy<Operand> {
    Union::new_weighted(vec![
        (1, immediate().prop_map(Operand::Constant).boxed()),
        (1, any::<Pick>().prop_map(Operand::Register).boxed()),
    ])
    .boxed()
}

/// Returns a strategy for the return values of programs and functions.
pub(super) fn code() -> BoxedStrategy<Code> {
    Union::new_weighted(vec![
        (4, (0..=4).prop_map(Code::Constant).boxed()),
        (3, any::<Pick>().prop_map(Code::Masked).boxed()),
        (3, any::<Pick>().prop_map(Code::Scalar).boxed()),
    ])
    .boxed()
}

/// Returns a strategy that chooses among the enabled statements. Each item of `list` has a flag,
/// true if the statement is enabled, a weight, and a strategy. At least one item must be enabled.
pub(super) fn one_of(list: Vec<(bool, u32, BoxedStrategy<Stmt>)>) -> BoxedStrategy<Stmt> {
    let enabled = list.into_iter().filter(|(enabled, ..)| *enabled);
    Union::new_weighted(enabled.map(|(_, weight, of)| (weight, of)).collect()).boxed()
}
