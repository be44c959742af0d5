//! Tests conditions that depend on hash functions, which engines first treat as unknowns (opaque
//! terms).

use super::solver;
use crate::layered::mixing::Mixing;
use crate::{ArrayId, Domain, Model, Node, Outcome, Solver, TermId, TermPool};

fn bytes(pool: &mut TermPool, packet: ArrayId, first: u64, count: u64) -> Vec<TermId> {
    (first..first + count)
        .map(|place| {
            let index = pool.constant(16, place);
            pool.select(packet, index)
        })
        .collect()
}

/// Returns a hash of bytes that is computed as in MurmurHash: multiply, rotate, exclusive or.
fn hash(pool: &mut TermPool, bytes: &[TermId]) -> TermId {
    let [first, second] = [0x85eb_ca6b, 0xc2b2_ae35].map(|factor| pool.constant(32, factor));
    let mut state = pool.constant(32, 7);
    for &byte in bytes {
        let wide = pool.zext(byte, 32);
        let mixed = pool.xor(state, wide);
        let product = pool.mul(mixed, first);
        let (high, low) = (pool.extract(product, 13, 19), pool.extract(product, 0, 13));
        let rotated = pool.concat(low, high);
        state = pool.mul(rotated, second);
    }
    state
}

/// Returns a model of the conditions. Also checks that the solver found it without translating the
/// hashes exactly.
fn model(pool: &mut TermPool, conditions: &[TermId]) -> Model {
    let mut bits = solver();
    let outcome = bits.check(pool, conditions);
    let Ok(Outcome::Sat(model)) = outcome else { panic!("satisfiable, not {outcome:?}") };
    assert!(conditions.iter().all(|&condition| pool.eval(condition, &model) == 1));
    assert!(bits.exact.is_none());
    model
}

#[test]
fn hashes_are_opaque_and_headers_are_not() {
    let mut pool = TermPool::new();
    let mut mixing = Mixing::default();
    let packet = pool.array("packet", 16);
    let header = bytes(&mut pool, packet, 0, 4);
    let hashed = hash(&mut pool, &header);
    assert!(mixing.is_opaque(&pool, hashed));
    let high = pool.extract(hashed, 16, 16);
    assert!(!mixing.is_opaque(&pool, high));
    // A byte at a hashed index can have any value, so it is not opaque.
    let chosen = pool.select(packet, high);
    let twice = pool.mul(chosen, chosen);
    assert!(!mixing.is_opaque(&pool, twice));
    // Computes the end of a header of variable length.
    let words = pool.extract(header[0], 0, 4);
    let two = pool.constant(2, 0);
    let length = pool.concat(words, two);
    let (length, start) = (pool.zext(length, 16), pool.constant(16, 14));
    let end = pool.add(length, start);
    let payload = pool.var("payload", Domain::full(16));
    let sum = pool.add(end, payload);
    assert!(!mixing.is_opaque(&pool, sum));
}

#[test]
fn a_hash_chooses_elements_of_maps() {
    let mut pool = TermPool::new();
    let (packet, ring) = (pool.array("packet", 16), pool.array("ring", 16));
    let backends = pool.array("backends", 16);
    let header = bytes(&mut pool, packet, 0, 24);
    let hashed = hash(&mut pool, &header[2..]);
    let place = pool.extract(hashed, 16, 16);
    let chosen = pool.select(ring, place);
    let index = pool.zext(chosen, 16);
    let backend = pool.select(backends, index);
    let (seven, zero, six) = (pool.constant(8, 7), pool.constant(8, 0), pool.constant(8, 6));
    let known = pool.eq(chosen, seven);
    let absent = pool.eq(backend, zero);
    let conditions = [pool.not(absent), known, pool.eq(header[0], six), pool.eq(header[5], six)];
    let found = model(&mut pool, &conditions);
    assert_eq!(pool.eval(header[5], &found), 6);
    // The contradiction does not depend on the hash.
    let other = pool.eq(chosen, six);
    let mut bits = solver();
    let all = [conditions[2], known, other];
    assert_eq!(bits.check(&mut pool, &all), Ok(Outcome::Unsat(vec![1, 2])));
    assert!(bits.exact.is_none());
}

#[test]
fn a_hash_is_reduced_by_what_a_map_holds() {
    let mut pool = TermPool::new();
    let (packet, counts) = (pool.array("packet", 16), pool.array("counts", 16));
    let header = bytes(&mut pool, packet, 0, 12);
    let hashed = hash(&mut pool, &header);
    let count = bytes(&mut pool, counts, 0, 4).into_iter().rev().reduce(|a, b| pool.concat(a, b));
    let Some(count) = count else { panic!("four bytes") };
    let (zero, limit) = (pool.constant(32, 0), pool.constant(32, 64));
    let none = pool.eq(count, zero);
    let rest = pool.urem(hashed, count);
    let conditions = [pool.not(none), pool.ult(rest, limit)];
    let found = model(&mut pool, &conditions);
    assert_ne!(pool.eval(count, &found), 0);
}

#[test]
fn a_hash_can_be_asked_for_a_value() {
    let mut pool = TermPool::new();
    let packet = pool.array("packet", 16);
    let header = bytes(&mut pool, packet, 0, 12);
    let hashed = hash(&mut pool, &header);
    let low = pool.extract(hashed, 9, 4);
    let value = pool.constant(4, 11);
    let wanted = pool.eq(low, value);
    let first = pool.constant(8, 0x45);
    let version = pool.eq(header[0], first);
    model(&mut pool, &[version, wanted]);
}

#[test]
fn opaque_terms_can_contradict_each_other() {
    let mut pool = TermPool::new();
    // The input has few values, so the exact session can decide.
    let x = pool.var("x", Domain::range(32, 0, 15));
    let factor = pool.constant(32, 0x85eb_ca6b);
    let mut product = x;
    for _ in 0..3 {
        let square = pool.mul(product, product);
        product = pool.mul(square, factor);
    }
    let high = pool.extract(product, 24, 8);
    let Node::Var(var) = *pool.node(x) else { panic!("an unknown") };
    let taken: Vec<u64> = (0..16)
        .map(|value| {
            let mut model = Model::new();
            model.set_var(var, value);
            pool.eval(high, &model)
        })
        .collect();
    let Some(free) = (0..).find(|value| !taken.contains(value)) else { panic!("16 of 256") };
    let free = pool.constant(8, free);
    let other = pool.eq(high, free);
    let mut bits = solver();
    assert_eq!(bits.check(&mut pool, &[other]), Ok(Outcome::Unsat(vec![0])));
    assert!(bits.exact.is_some());
}
