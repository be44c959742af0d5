use std::thread;
use std::time::Duration;

use slowpath_stop::{Limits, Stop};

use crate::layered::tests::examples::{contradiction, hard};
use crate::{Domain, Outcome, Solver, TermPool, Z3Solver, minimise_core};

fn solver() -> Z3Solver {
    Z3Solver::new().expect("Z3 is installed")
}

#[test]
fn cores_name_the_contradiction() {
    let mut pool = TermPool::new();
    let mut z3 = solver();
    let assumptions = contradiction(&mut pool);
    let Ok(Outcome::Unsat(core)) = z3.check(&mut pool, &assumptions) else { panic!("unsat") };
    let core = minimise_core(&mut z3, &mut pool, &assumptions, &core, 10);
    assert_eq!(core, Ok(vec![0, 2]));
    // The solver still works after the contradiction.
    let rest = [assumptions[0], assumptions[1], assumptions[3]];
    assert!(matches!(z3.check(&mut pool, &rest), Ok(Outcome::Sat(_))));
}

#[test]
fn facts_about_bytes_and_numbers_are_told() {
    let mut pool = TermPool::new();
    let (memory, zero) = (pool.array("memory", 8), pool.constant(64, 0));
    let table = pool.constant_array("table", 8, &[7, 7, 3]);
    let [i, j] = ["i", "j"].map(|name| pool.var(name, Domain::full(8)));
    let [a, b] = [i, j].map(|index| pool.select(memory, index));
    let [m, n] = [i, j].map(|index| {
        let key = pool.zext(index, 64);
        pool.intern(key, zero)
    });
    let byte = pool.select(table, i);
    let three = pool.constant(8, 3);
    let (same_byte, same_number) = (pool.eq(a, b), pool.eq(m, n));
    let differs = pool.not(same_byte);
    let is_three = pool.eq(byte, three);
    let mut z3 = solver();
    assert!(matches!(z3.check(&mut pool, &[differs, same_number]), Ok(Outcome::Unsat(_))));
    let Ok(Outcome::Sat(model)) = z3.check(&mut pool, &[differs, is_three]) else {
        panic!("satisfiable")
    };
    assert_eq!(pool.eval(i, &model), 2);
}

#[test]
fn a_time_limit_ends_a_check() {
    let mut pool = TermPool::new();
    let mut z3 = solver();
    let assumptions = hard(&mut pool);
    z3.set_time_limit(Some(Duration::from_millis(50)));
    let outcome = z3.check(&mut pool, &assumptions);
    assert_eq!(outcome, Ok(Outcome::Unknown("time limit reached".to_owned())));
    // An easy check still succeeds.
    z3.set_time_limit(None);
    assert!(matches!(z3.check(&mut pool, &assumptions[1..]), Ok(Outcome::Sat(_))));
}

#[test]
fn a_step_limit_ends_a_check() {
    let mut pool = TermPool::new();
    let mut z3 = solver();
    let assumptions = hard(&mut pool);
    z3.set_step_limit(Some(1_000_000));
    let outcome = z3.check(&mut pool, &assumptions);
    assert_eq!(outcome, Ok(Outcome::Unknown("step limit reached".to_owned())));
    assert!(matches!(z3.check(&mut pool, &assumptions[1..]), Ok(Outcome::Sat(_))));
}

#[test]
fn another_thread_can_interrupt() {
    let mut pool = TermPool::new();
    let mut z3 = solver();
    let assumptions = hard(&mut pool);
    let stop = Stop::new(Limits::default());
    pool.set_stop(stop.clone());
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        stop.request_stop();
    });
    let outcome = z3.check(&mut pool, &assumptions);
    assert_eq!(outcome, Ok(Outcome::Unknown("interrupted".to_owned())));
    assert!(thread.join().is_ok());
}
