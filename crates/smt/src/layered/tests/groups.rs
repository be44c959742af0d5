//! Tests that conditions are split into independent groups, that models of groups are combined, and
//! that outcomes are cached.

use std::collections::BTreeSet;

use super::solver;
use crate::layered::components::{join, split};
use crate::layered::engine::Engine as _;
use crate::layered::inputs::Inputs;
use crate::layered::query_cache::canonicalise;
use crate::{ArrayId, Domain, Model, Outcome, Solver, TermId, TermPool};

fn byte(pool: &mut TermPool, array: ArrayId, place: u64) -> TermId {
    let index = pool.constant(pool.array_info(array).1, place);
    pool.select(array, index)
}

fn equals(pool: &mut TermPool, byte: TermId, value: u64) -> TermId {
    let value = pool.constant(8, value);
    pool.eq(byte, value)
}

#[test]
fn conditions_without_a_common_input_are_independent() {
    let mut pool = TermPool::new();
    let packet = pool.array("packet", 16);
    let [a, b, c, d] = [0, 1, 2, 3].map(|place| byte(&mut pool, packet, place));
    let conditions = [pool.ult(a, b), equals(&mut pool, c, 1), pool.ult(b, d)];
    let mut inputs = Inputs::default();
    let (mut conflicting_arrays, mut groups) =
        (BTreeSet::new(), |pool: &TermPool, conflicting_arrays: &_, terms: &[_]| {
            split(pool, &mut inputs, conflicting_arrays, terms)
        });
    assert_eq!(groups(&pool, &conflicting_arrays, &conditions), [vec![0, 2], vec![1]]);
    // Numbers of different pairs differ, so conditions on numbers form one group.
    let zero = pool.constant(64, 0);
    let numbers = [a, c].map(|key| {
        let key = pool.zext(key, 64);
        pool.intern(key, zero)
    });
    let seven = pool.constant(32, 7);
    let sevens = numbers.map(|number| pool.ult(number, seven));
    assert_eq!(groups(&pool, &conflicting_arrays, &sevens), [vec![0, 1]]);
    conflicting_arrays.insert(packet);
    assert_eq!(groups(&pool, &conflicting_arrays, &conditions), [vec![0, 1, 2]]);
}

#[test]
fn models_join_unless_they_disagree() {
    let mut pool = TermPool::new();
    let packet = pool.array("packet", 16);
    let mut models = [Model::new(), Model::new(), Model::new()];
    models[0].set_byte(packet, 3, 7);
    models[1].set_byte(packet, 4, 8);
    models[2].set_byte(packet, 4, 8);
    let joined = join(&models);
    assert!(joined.is_ok_and(|model| model.bytes().count() == 2));
    models[2].set_byte(packet, 3, 9);
    assert_eq!(join(&models), Err(BTreeSet::from([packet])));
}

#[test]
fn groups_that_meet_at_a_place_are_decided_together() {
    let mut pool = TermPool::new();
    let packet = pool.array("packet", 16);
    let index = pool.var("index", Domain::range(16, 10, 11));
    let walked = pool.select(packet, index);
    let [first, second] = [10, 11].map(|place| byte(&mut pool, packet, place));
    let is_one = equals(&mut pool, walked, 1);
    let conditions = [is_one, equals(&mut pool, first, 2), equals(&mut pool, second, 1)];
    let mut bits = solver();
    let Ok(Outcome::Sat(model)) = bits.check(&mut pool, &conditions) else { panic!("satisfiable") };
    assert_eq!(pool.eval(index, &model), 11);
    let contradiction = [is_one, conditions[1], equals(&mut pool, second, 3)];
    assert_eq!(bits.check(&mut pool, &contradiction), Ok(Outcome::Unsat(vec![0, 1, 2])));
    // Positions in a core are positions in all assumptions, not in the group.
    let (other, unrelated) = (byte(&mut pool, packet, 0), byte(&mut pool, packet, 1));
    let [five, six] = [5, 6].map(|value| equals(&mut pool, other, value));
    let unrelated = equals(&mut pool, unrelated, 1);
    let yes = pool.bool(true);
    let all = [yes, unrelated, five, unrelated, six];
    assert_eq!(bits.check(&mut pool, &all), Ok(Outcome::Unsat(vec![2, 4])));
}

#[test]
fn shapes_forget_names_but_not_domains() {
    let mut pool = TermPool::new();
    let (packet, other) = (pool.array("packet", 16), pool.array("other", 16));
    let below = |pool: &mut TermPool, array, place, limit| {
        let (byte, limit) = (byte(pool, array, place), pool.constant(8, limit));
        pool.ult(byte, limit)
    };
    let mut inputs = Inputs::default();
    let mut shaped = |pool: &TermPool, terms: &[TermId]| {
        let inputs = inputs.all(pool, terms);
        canonicalise(pool, &inputs, terms).expect("small")
    };
    let a = below(&mut pool, packet, 1, 9);
    let b = below(&mut pool, other, 300, 9);
    let c = below(&mut pool, packet, 1, 8);
    let (shape_a, shape_b, shape_c) =
        (shaped(&pool, &[a]).0, shaped(&pool, &[b]).0, shaped(&pool, &[c]).0);
    assert_eq!(shape_a, shape_b);
    assert_ne!(shape_a, shape_c);
    let [wide, narrow] = [Domain::full(8), Domain::range(8, 0, 20)].map(|domain| {
        let (x, nine) = (pool.var("x", domain), pool.constant(8, 9));
        pool.ult(x, nine)
    });
    assert_eq!(shaped(&pool, &[wide]).0, shape_a);
    assert_ne!(shaped(&pool, &[narrow]).0, shape_a);
    // If an array is read at an unknown index, all indices into the array matter.
    let walks = [1, 2].map(|place| {
        let index = pool.var("index", Domain::full(16));
        let (walked, fixed) = (pool.select(packet, index), byte(&mut pool, packet, place));
        pool.ult(walked, fixed)
    });
    assert_ne!(shaped(&pool, &walks[..1]).0, shaped(&pool, &walks[1..]).0);
    // A repeated condition differs from two similar conditions.
    let d = below(&mut pool, packet, 2, 9);
    assert_ne!(shaped(&pool, &[a, a]).0, shaped(&pool, &[a, d]).0);
}

#[test]
fn what_is_known_is_not_asked_again() {
    let mut pool = TermPool::new();
    let packet = pool.array("packet", 16);
    let mut bits = solver();
    let mut asked = Vec::new();
    for place in 0..10 {
        let (a, b) = (byte(&mut pool, packet, 2 * place), byte(&mut pool, packet, 2 * place + 1));
        let sum = pool.add(a, b);
        let conditions = [equals(&mut pool, sum, 100), pool.ult(a, b)];
        let Ok(Outcome::Sat(model)) = bits.check(&mut pool, &conditions) else { panic!("sat") };
        assert!(pool.eval(a, &model) < pool.eval(b, &model));
        let contradiction = [conditions[1], pool.ult(b, a)];
        assert_eq!(bits.check(&mut pool, &contradiction), Ok(Outcome::Unsat(vec![0, 1])));
        asked.push(bits.coarse.engine.conditions());
    }
    assert!(asked.iter().all(|&count| count == asked[0]), "{asked:?}");
    assert_eq!(bits.statistics().checks, 20);
}

#[test]
fn most_of_many_conditions_need_not_be_asked() {
    let mut pool = TermPool::new();
    let packet = pool.array("packet", 16);
    let mut bits = solver();
    let wide = byte(&mut pool, packet, 0);
    let (wide, offset) = (pool.zext(wide, 64), pool.constant(64, 0x7fff_ffff_ffff_ff10));
    let counter = pool.add(wide, offset);
    let mut conditions: Vec<TermId> = (2..4000)
        .map(|round| {
            let limit = pool.constant(64, 0x8000_0000_0000_0000 + round);
            let below = pool.slt(counter, limit);
            pool.not(below)
        })
        .collect();
    assert!(matches!(bits.check(&mut pool, &conditions), Ok(Outcome::Sat(_))));
    assert!(bits.coarse.engine.conditions() < 400, "{}", bits.coarse.engine.conditions());
    let limit = pool.constant(64, 0x8000_0000_0000_0003);
    conditions.push(pool.slt(counter, limit));
    let Ok(Outcome::Unsat(core)) = bits.check(&mut pool, &conditions) else { panic!("unsat") };
    assert!(core.contains(&(conditions.len() - 1)) && core.len() < 400);
}
