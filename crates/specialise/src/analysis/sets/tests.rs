use super::super::fact_set::FactSet;
use super::super::numbers::{Def, Numbers};
use super::{Compared, ValueSets};
use crate::graph::Test;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_bpf::insn::{AluOp, Condition, Register, Size, Source, SwapKind, Width};
use std::collections::BTreeSet;

/// Returns the value number of a two-byte number that was loaded from memory.
fn loaded(numbers: &mut Numbers) -> u32 {
    let result = numbers.of(Def::Result(0, 0, 0));
    numbers.of(Def::Low(16, result))
}

fn test(width: Width, cond: Condition) -> Test {
    Test { width, cond, dst: Register::R5, src: Source::Imm(0) }
}

/// A function that compares two numbers as a condition does.
type Outcome = fn(u64, u64) -> bool;

const CONDITIONS: [(Condition, Outcome); 11] = [
    (Condition::Eq, |a, b| a == b),
    (Condition::Ne, |a, b| a != b),
    (Condition::Set, |a, b| a & b != 0),
    (Condition::Gt, |a, b| a > b),
    (Condition::Ge, |a, b| a >= b),
    (Condition::Lt, |a, b| a < b),
    (Condition::Le, |a, b| a <= b),
    (Condition::Sgt, |a, b| a as i64 > b as i64),
    (Condition::Sge, |a, b| a as i64 >= b as i64),
    (Condition::Slt, |a, b| (a as i64) < b as i64),
    (Condition::Sle, |a, b| a as i64 <= b as i64),
];

/// Checks that a comparison of values computed from a set of numbers is decided only if its outcome
/// is the same for each number. If an outcome is assumed, the set must keep exactly the numbers
/// with this outcome.
#[test]
fn comparisons_end_as_for_each_of_the_values() {
    let mut rng = StdRng::seed_from_u64(1);
    let mut decided = 0;
    for _ in 0..2000 {
        let few = rng.random_range(1..=8);
        let values: BTreeSet<u64> = (0..few).map(|_| rng.random_range(0..=0xffff)).collect();
        let (mask, shift) = (rng.random_range(0..=0xffff_u64), rng.random_range(0..16));
        let against = if rng.random() { 0 } else { rng.random_range(0..=0xffff_u64) };
        let (cond, outcome) = CONDITIONS[rng.random_range(0..CONDITIONS.len())];
        let mut numbers = Numbers::default();
        let field = loaded(&mut numbers);
        let swapped = numbers.of(Def::Swap(SwapKind::Be, Size::H, field));
        let bits = numbers.of(Def::Constant(mask));
        let masked = numbers.alu(Width::W64, AluOp::And, swapped, bits);
        let by = numbers.of(Def::Constant(shift));
        let shifted = numbers.alu(Width::W64, AluOp::Rsh, masked, by);
        let right = numbers.of(Def::Constant(against));
        let end = |value: &u64| {
            outcome((u64::from((*value as u16).swap_bytes()) & mask) >> shift, against)
        };
        let mut sets = ValueSets::default();
        sets.insert(field, values.iter().copied(), FactSet::field(3));
        let test = test(Width::W64, cond);
        let compared = Compared { test: &test, sides: [shifted, right], numbers: &numbers };
        let ends: Vec<bool> = values.iter().map(end).collect();
        let all = ends.iter().all(|&end| end == ends[0]).then_some(ends[0]);
        assert_eq!(sets.decide(compared).map(|(holds, _)| holds), all, "{cond:?} {values:x?}");
        decided += usize::from(all.is_some());
        for holds in [true, false] {
            let mut behind = sets.clone();
            behind.refine(compared, holds, FactSet::NONE);
            let left: Vec<u64> =
                values.iter().copied().filter(|value| end(value) == holds).collect();
            // Impossible outcomes are not recorded.
            if !left.is_empty() {
                assert_eq!(behind.get(field), Some((&left[..], FactSet::field(3))), "{cond:?}");
            }
        }
    }
    assert!((200..1800).contains(&decided), "{decided}");
}

#[test]
fn where_ways_meet_a_number_is_one_of_the_values_of_both() {
    let mut numbers = Numbers::default();
    let field = loaded(&mut numbers);
    let other = numbers.of(Def::Result(1, 0, 0));
    let (mut a, mut b) = (ValueSets::default(), ValueSets::default());
    a.insert(field, [6], FactSet::field(0));
    a.insert(other, [1], FactSet::NONE);
    b.insert(field, [17], FactSet::byte(5));
    let joined = a.join(&b);
    let reason = FactSet::field(0) | FactSet::byte(5);
    assert_eq!(joined.get(field), Some((&[6, 17][..], reason)));
    assert_eq!(joined.get(other), None, "the other way may leave anything");
    b.insert(field, 0..8, FactSet::NONE);
    assert_eq!(a.join(&b).get(field).map(|(values, _)| values.len()), Some(8));
    b.insert(field, 10..18, FactSet::NONE);
    assert_eq!(a.join(&b).get(field), None, "too many");
}

#[test]
fn what_was_swapped_is_learnt_too() {
    let mut numbers = Numbers::default();
    let field = loaded(&mut numbers);
    let swapped = numbers.of(Def::Swap(SwapKind::Be, Size::H, field));
    let mut sets = ValueSets::default();
    sets.learn(&numbers, swapped, 0x0800, FactSet::NONE);
    assert_eq!(sets.get(field), Some((&[8][..], FactSet::NONE)));
    // The upper bits of a number with more than two bytes are unknown.
    let long = numbers.of(Def::Result(2, 0, 0));
    let swapped = numbers.of(Def::Swap(SwapKind::Be, Size::H, long));
    sets.learn(&numbers, swapped, 0x0800, FactSet::NONE);
    assert_eq!(sets.get(long), None);
    assert_eq!(sets.get(swapped), Some((&[0x0800][..], FactSet::NONE)));
}

#[test]
fn a_number_that_rests_on_two_sets_is_not_decided_by_one() {
    let mut numbers = Numbers::default();
    let (a, b) = (loaded(&mut numbers), numbers.of(Def::Result(4, 0, 0)));
    let sum = numbers.alu(Width::W64, AluOp::Add, a, b);
    let zero = numbers.of(Def::Constant(0));
    let mut sets = ValueSets::default();
    sets.insert(a, [1, 2], FactSet::NONE);
    sets.insert(b, [1, 2], FactSet::NONE);
    let test = test(Width::W64, Condition::Ne);
    let compared = Compared { test: &test, sides: [sum, zero], numbers: &numbers };
    assert_eq!(sets.decide(compared), None);
    let compared = Compared { test: &test, sides: [a, zero], numbers: &numbers };
    assert_eq!(sets.decide(compared), Some((true, FactSet::NONE)));
}
