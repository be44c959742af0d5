use std::thread;
use std::time::Duration;

use slowpath_stop::{Limits, Stop};

use super::Layered;
use crate::bit_solver::Engine;
use crate::{Domain, Outcome, Solver, SolverError, TermId, TermPool, minimise_core};
use examples::{contradiction, hard};

pub(crate) mod examples;
mod groups;
mod hashes;
mod numbers;

fn solver() -> Layered<Engine> {
    Layered::new(Engine::default())
}

#[test]
fn constants_need_no_solver() {
    let mut pool = TermPool::new();
    let (yes, no) = (pool.bool(true), pool.bool(false));
    let mut bits = solver();
    assert!(matches!(bits.check(&mut pool, &[]), Ok(Outcome::Sat(_))));
    assert!(matches!(bits.check(&mut pool, &[yes]), Ok(Outcome::Sat(_))));
    assert_eq!(bits.check(&mut pool, &[yes, no, no]), Ok(Outcome::Unsat(vec![1])));
    let statistics = bits.statistics();
    assert_eq!((statistics.checks, statistics.sat, statistics.unsat), (3, 2, 1));
}

#[test]
fn wide_assumptions_are_refused() {
    let mut pool = TermPool::new();
    let x = pool.var("x", Domain::full(8));
    let error = solver().check(&mut pool, &[x]);
    assert_eq!(error, Err(SolverError::NotACondition { index: 0, width: 8 }));
}

#[test]
fn models_respect_domains() {
    let mut pool = TermPool::new();
    let x = pool.var("x", Domain::range(16, 100, 200));
    let y = pool.var("y", Domain::from_bits(16, 3, 0));
    let sum = pool.add(x, y);
    let target = pool.constant(16, 50);
    let wraps = pool.eq(sum, target);
    let Ok(Outcome::Sat(model)) = solver().check(&mut pool, &[wraps]) else {
        panic!("satisfiable")
    };
    assert!(pool.domain(x).contains(pool.eval(x, &model)));
    assert!(pool.domain(y).contains(pool.eval(y, &model)));
}

#[test]
fn cores_name_the_contradiction() {
    let mut pool = TermPool::new();
    let mut bits = solver();
    let assumptions = contradiction(&mut pool);
    let Ok(Outcome::Unsat(core)) = bits.check(&mut pool, &assumptions) else { panic!("unsat") };
    let core = minimise_core(&mut bits, &mut pool, &assumptions, &core, 10);
    assert_eq!(core, Ok(vec![0, 2]));
    let everything = minimise_core(&mut bits, &mut pool, &assumptions, &[3, 2, 1, 0, 9], 10);
    assert_eq!(everything, Ok(vec![0, 2]));
    let unbudgeted = minimise_core(&mut bits, &mut pool, &assumptions, &[0, 1, 2], 0);
    assert_eq!(unbudgeted, Ok(vec![0, 1, 2]));
    // The solver still works after the contradiction.
    let rest = [assumptions[0], assumptions[1], assumptions[3]];
    assert!(matches!(bits.check(&mut pool, &rest), Ok(Outcome::Sat(_))));
}

#[test]
fn equal_indices_give_equal_bytes() {
    let mut pool = TermPool::new();
    let mut bits = solver();
    let memory = pool.array("packet", 16);
    let (i, j) = (pool.var("i", Domain::full(16)), pool.var("j", Domain::full(16)));
    let (a, b) = (pool.select(memory, i), pool.select(memory, j));
    let same_place = pool.eq(i, j);
    let same_byte = pool.eq(a, b);
    let differ = pool.not(same_byte);
    assert_eq!(bits.check(&mut pool, &[differ, same_place]), Ok(Outcome::Unsat(vec![0, 1])));
    let Ok(Outcome::Sat(model)) = bits.check(&mut pool, &[differ]) else { panic!("satisfiable") };
    assert_ne!(pool.eval(i, &model), pool.eval(j, &model));
    assert_eq!(pool.eval(differ, &model), 1);
}

#[test]
fn bytes_can_index_bytes() {
    let mut pool = TermPool::new();
    let mut bits = solver();
    let memory = pool.array("table", 8);
    // A sequence m[x], m[m[x]], ... of six reads that returns to its start.
    let start = pool.var("x", Domain::full(8));
    let mut at = start;
    let mut conditions = Vec::new();
    for _ in 0..6 {
        let next = pool.select(memory, at);
        let stays = pool.eq(next, at);
        conditions.push(pool.not(stays));
        at = next;
    }
    conditions.push(pool.eq(at, start));
    let Ok(Outcome::Sat(model)) = bits.check(&mut pool, &conditions) else { panic!("satisfiable") };
    assert!(conditions.iter().all(|&c| pool.eval(c, &model) == 1));
    assert!(model.bytes().count() >= 2);
}

#[test]
fn a_time_limit_ends_a_check() {
    let mut pool = TermPool::new();
    let mut bits = solver();
    let assumptions = hard(&mut pool);
    bits.set_time_limit(Some(Duration::from_millis(50)));
    let outcome = bits.check(&mut pool, &assumptions);
    assert_eq!(outcome, Ok(Outcome::Unknown("time limit reached".to_owned())));
    assert_eq!(bits.statistics().unknown, 1);
    // An easy check still succeeds.
    bits.set_time_limit(None);
    assert!(matches!(bits.check(&mut pool, &assumptions[1..]), Ok(Outcome::Sat(_))));
}

#[test]
fn a_step_limit_ends_a_check_at_the_same_place_every_time() {
    let mut pool = TermPool::new();
    let assumptions = hard(&mut pool);
    let ended = |pool: &mut TermPool, limit| {
        let mut bits = solver();
        bits.set_step_limit(Some(limit));
        let outcome = bits.check(pool, &assumptions);
        assert_eq!(outcome, Ok(Outcome::Unknown("step limit reached".to_owned())));
        let steps = bits.statistics().steps;
        // An easy check still succeeds.
        assert!(matches!(bits.check(pool, &assumptions[1..]), Ok(Outcome::Sat(_))));
        steps
    };
    let few = ended(&mut pool, 300_000);
    assert_eq!(ended(&mut pool, 300_000), few);
    assert!(few > 300_000 && ended(&mut pool, 900_000) > few + 500_000);
}

#[test]
fn a_deadline_ends_all_checks() {
    let mut pool = TermPool::new();
    let mut bits = solver();
    let assumptions = hard(&mut pool);
    pool.set_stop(Stop::new(Limits { time: Some(Duration::ZERO), ..Limits::default() }));
    for _ in 0..2 {
        let outcome = bits.check(&mut pool, &assumptions);
        assert_eq!(outcome, Ok(Outcome::Unknown("deadline".to_owned())));
    }
    pool.set_stop(Stop::never());
    assert!(matches!(bits.check(&mut pool, &assumptions[1..]), Ok(Outcome::Sat(_))));
}

#[test]
fn another_thread_can_interrupt() {
    let mut pool = TermPool::new();
    let mut bits = solver();
    let assumptions = hard(&mut pool);
    let stop = Stop::new(Limits::default());
    pool.set_stop(stop.clone());
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        stop.request_stop();
    });
    let outcome = bits.check(&mut pool, &assumptions);
    assert_eq!(outcome, Ok(Outcome::Unknown("interrupted".to_owned())));
    assert!(thread.join().is_ok());
    // The stop condition still holds.
    let easy = &assumptions[1..];
    assert!(matches!(bits.check(&mut pool, easy), Ok(Outcome::Unknown(_))));
    pool.set_stop(Stop::never());
    assert!(matches!(bits.check(&mut pool, easy), Ok(Outcome::Sat(_))));
}

#[test]
fn deep_terms_are_translated_without_recursion() {
    let mut pool = TermPool::new();
    let mut bits = solver();
    let mut t = pool.var("x", Domain::full(1));
    let unknowns: Vec<TermId> = (0..7).map(|_| pool.var("y", Domain::full(1))).collect();
    for n in 0..100_000 {
        let other = unknowns[n % unknowns.len()];
        t = if n % 2 == 0 { pool.and(t, other) } else { pool.xor(t, other) };
    }
    assert!(pool.subterms(&[t]).len() > 100_000);
    // The solver polls the stop condition between translation and search.
    let stop = Stop::new(Limits::default());
    stop.request_stop();
    pool.set_stop(stop);
    let outcome = bits.check(&mut pool, &[t]);
    assert_eq!(outcome, Ok(Outcome::Unknown("interrupted".to_owned())));
}
