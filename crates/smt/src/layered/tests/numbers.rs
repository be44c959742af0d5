//! Tests conditions on interned pairs of values ([`TermPool::intern`]) and on tables of known
//! content.

use super::solver;
use crate::{ArrayId, Domain, Model, Outcome, Solver, TermId, TermPool};

fn model(pool: &mut TermPool, conditions: &[TermId]) -> Model {
    let Ok(Outcome::Sat(model)) = solver().check(pool, conditions) else { panic!("satisfiable") };
    assert!(conditions.iter().all(|&condition| pool.eval(condition, &model) == 1));
    model
}

fn unsat(pool: &mut TermPool, conditions: &[TermId]) {
    let outcome = solver().check(pool, conditions);
    assert!(matches!(outcome, Ok(Outcome::Unsat(_))), "{outcome:?}");
}

/// Returns the array index of byte `place` of a 16-byte map element. The array contains all
/// elements; the interned number of the pair (`a`, `b`) selects the element.
fn element(pool: &mut TermPool, a: TermId, b: TermId, place: u64) -> TermId {
    let (zeros, number, low) = (pool.constant(28, 0), pool.intern(a, b), pool.constant(4, place));
    let rest = pool.concat(number, low);
    pool.concat(zeros, rest)
}

#[test]
fn equal_keys_find_equal_elements() {
    let mut pool = TermPool::new();
    let map = pool.array("map", 64);
    let [a, b, c] = ["a", "b", "c"].map(|name| pool.var(name, Domain::full(64)));
    let [x, y] = [a, c].map(|first| {
        let index = element(&mut pool, first, b, 3);
        pool.select(map, index)
    });
    let (same_key, same_byte) = (pool.eq(a, c), pool.eq(x, y));
    let other_byte = pool.not(same_byte);
    unsat(&mut pool, &[same_key, other_byte]);
    let found = model(&mut pool, &[other_byte]);
    assert_ne!(pool.eval(a, &found), pool.eval(c, &found));
    assert_eq!(found.interned_pairs().count(), 2);
    // Bytes of elements can serve as keys.
    let key = pool.zext(x, 64);
    let index = element(&mut pool, key, key, 0);
    let z = pool.select(map, index);
    let (wide_y, seven) = (pool.zext(y, 64), pool.constant(8, 7));
    let other = element(&mut pool, wide_y, wide_y, 0);
    let other = pool.select(map, other);
    let (z_is_seven, other_is_seven) = (pool.eq(z, seven), pool.eq(other, seven));
    let not_seven = pool.not(other_is_seven);
    unsat(&mut pool, &[same_key, z_is_seven, not_seven]);
    model(&mut pool, &[z_is_seven, not_seven]);
}

#[test]
fn many_keys_have_many_numbers() {
    let mut pool = TermPool::new();
    let zero = pool.constant(64, 0);
    let numbers: Vec<TermId> = (0..40)
        .map(|n| {
            let key = pool.var("key", Domain::range(64, n / 2, 100));
            pool.intern(key, zero)
        })
        .collect();
    // If numbers are ordered, their keys differ, but nothing else follows.
    let mut conditions: Vec<TermId> =
        numbers.windows(2).map(|pair| pool.ult(pair[0], pair[1])).collect();
    let found = model(&mut pool, &conditions);
    assert_eq!(found.interned_pairs().count(), 40);
    let back = pool.ule(numbers[39], numbers[0]);
    conditions.push(back);
    unsat(&mut pool, &conditions);
    // Eight different keys cannot have only seven possible values.
    let small: Vec<TermId> = (0..8)
        .map(|_| {
            let key = pool.var("key", Domain::range(64, 0, 6));
            pool.intern(key, zero)
        })
        .collect();
    let mut different = Vec::new();
    for (n, &a) in small.iter().enumerate() {
        for &b in &small[..n] {
            // Comparing halves of numbers prevents simplification to an equality of keys.
            let [low, high] = [0, 16].map(|lo| {
                let (x, y) = (pool.extract(a, lo, 16), pool.extract(b, lo, 16));
                pool.eq(x, y)
            });
            let same = pool.and(low, high);
            different.push(pool.not(same));
        }
    }
    unsat(&mut pool, &different);
}

#[test]
fn unassigned_pairs_have_numbers_of_their_own() {
    let mut pool = TermPool::new();
    let [a, b] = [1, 2].map(|value| pool.constant(64, value));
    let terms: Vec<TermId> =
        [(a, a), (a, b), (b, a), (b, b)].map(|(x, y)| pool.intern(x, y)).into();
    let mut model = Model::new();
    // Assigns the default number of one pair to another pair.
    let taken = pool.eval(terms[0], &model);
    model.set_interned((2, 1), taken as u32);
    let mut numbers: Vec<u64> = terms.iter().map(|&term| pool.eval(term, &model)).collect();
    assert_eq!(numbers[2], taken);
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 4);
}

/// Returns an unknown index into a table, and the condition that the table has `value` at this
/// index.
fn lookup(pool: &mut TermPool, table: ArrayId, value: u64) -> (TermId, TermId) {
    let index = pool.var("index", Domain::full(32));
    let (byte, value) = (pool.select(table, index), pool.constant(8, value));
    (index, pool.eq(byte, value))
}

#[test]
fn tables_hold_what_they_hold() {
    let content: Vec<u8> = (0..=255).map(|n: u8| n.wrapping_mul(7) | 1).collect();
    // A short table is asserted completely, a long table in windows.
    for repeat in [1, 20] {
        let mut pool = TermPool::new();
        let bytes = content.repeat(repeat);
        let table = pool.constant_array("table", 32, &bytes);
        let (index, is_29) = lookup(&mut pool, table, 29);
        let found = model(&mut pool, &[is_29]);
        assert_eq!(bytes[pool.eval(index, &found) as usize], 29);
        assert_eq!(found.bytes().count(), 0);
        let length = pool.constant(32, bytes.len() as u64);
        let inside = pool.ult(index, length);
        let (behind, is_zero) = lookup(&mut pool, table, 0);
        let found = model(&mut pool, &[is_zero, inside]);
        assert!(pool.eval(behind, &found) >= bytes.len() as u64);
    }
    let mut pool = TermPool::new();
    let table = pool.constant_array("table", 32, &content);
    let (_, even) = lookup(&mut pool, table, 30);
    unsat(&mut pool, &[even]);
}
