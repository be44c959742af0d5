//! Tests concrete execution of three kinds of operations: those that identify pairs of values by
//! numbers (`Intern`), yield unknown values, or read tables of constants.

use crate::straight;

use slowpath_exec::concrete::{self, Environment, Run};
use slowpath_ir::{BinaryOp, BlockBuilder, DrawId, Emit, InputId, Operand, Reg, RegionId};
use straight::{CONTENT, HASH_REGION, TABLE, VALUES, element, k, look_up, program};

/// Runs a program that copies the values that `body` returns to the registers [`VALUES`].
fn run<const N: usize>(
    environment: &Environment,
    body: impl FnOnce(&mut BlockBuilder<'_>) -> [Operand; N],
) -> Run {
    let program = program(|b| {
        let values = body(b);
        for (dst, value) in VALUES.into_iter().zip(values) {
            let value = b.zero_extend(value, 64);
            b.copy(dst, value);
        }
    });
    let mut environment = environment.clone();
    for (input, value) in Environment::with_fill(&program, 0).inputs {
        environment.inputs.entry(input).or_insert(value);
    }
    concrete::run(&program, &environment, 10).expect("runs")
}

fn values(run: &Run) -> [u64; 4] {
    VALUES.map(|Reg(index)| run.regs[index as usize])
}

#[test]
fn numbers_are_those_given_or_new_ones() {
    let pairs = [(1, 2), (2, 1), (1, 2), (3, 4)];
    let body = |b: &mut BlockBuilder<'_>| {
        pairs.map(|(first, second)| b.binary(BinaryOp::Intern, k(first), k(second)))
    };
    let fresh = run(&Environment::default(), body);
    let [a, b, c, d] = values(&fresh);
    assert_eq!(a, c);
    assert!(a != b && b != d && a != d);
    let expected = [((1, 2), a), ((2, 1), b), ((3, 4), d)].map(|(pair, n)| (pair, n as u32));
    assert_eq!(fresh.interned, expected.into_iter().collect());
    // New pairs do not get the numbers of given pairs.
    let interned = [((3, 4), 0), ((9, 9), 1), ((8, 8), u32::MAX)].into_iter().collect();
    let given = run(&Environment { interned, ..Environment::default() }, body);
    let [a, b, c, d] = values(&given);
    assert_eq!((a, d), (c, 0));
    assert!(a > 1 && b > 1 && a != b);
    assert_eq!(given.interned.len(), 3, "(9, 9) and (8, 8) were not met");
}

#[test]
fn draws_come_in_order_and_then_are_the_least() {
    let body = |b: &mut BlockBuilder<'_>| {
        [
            b.unknown(DrawId(0), 64, 3, 9),
            b.unknown(DrawId(0), 8, 1, 255),
            b.unknown(DrawId(0), 64, 4, 9),
            b.unknown(DrawId(0), 64, 5, 9),
        ]
    };
    let least = run(&Environment::default(), body);
    assert_eq!((values(&least), least.unknowns), ([3, 1, 4, 5], 4));
    let environment = Environment { unknowns: vec![8, 200, 7], ..Environment::default() };
    let given = run(&environment, body);
    assert_eq!((values(&given), given.unknowns), ([8, 200, 7, 5], 4));
}

#[test]
fn tables_are_what_the_program_says() {
    let mut environment = Environment { fill: 0x5a, ..Environment::default() };
    environment.memory.insert((RegionId(2), 0), 77);
    let done = run(&environment, |b| {
        let at = |b: &mut BlockBuilder<'_>, offset| {
            let place = b.binary(BinaryOp::Add, TABLE, k(offset));
            b.load(place, 2)
        };
        let before = [at(b, 0), at(b, 5), at(b, 1 << 40)];
        let place = b.binary(BinaryOp::Add, TABLE, k(1));
        b.store(place, Operand::constant(8, 9));
        [before[0], before[1], before[2], at(b, 0)]
    });
    let pair = |n: usize| u64::from(CONTENT[n]) | u64::from(CONTENT[n + 1]) << 8;
    assert_eq!(values(&done), [pair(0), u64::from(CONTENT[5]), 0, 0x0901]);
}

#[test]
fn elements_are_places_of_the_map() {
    // Element numbers can be arbitrarily large; the address still belongs to the map.
    let interned = [((7, 0), 0xffff_fff0), ((8, 0), 3)].into_iter().collect();
    let mut environment = Environment { interned, ..Environment::default() };
    environment.inputs.insert(InputId(1), 0x7fff_ffff);
    environment.memory.insert((HASH_REGION, 0xffff_fff0 * 16 + 8), 42);
    environment.memory.insert((HASH_REGION, 3 * 16), 1);
    let done = run(&environment, |b| {
        let (found, missing) = (look_up(b, k(7)), look_up(b, k(8)));
        let value = b.load(found, 1);
        let next = element(b, k(8), k(0), 9);
        b.store(next, Operand::constant(8, 6));
        [value, missing]
    });
    assert_eq!(values(&done), [42, 0, 0, 0]);
    assert_eq!(done.written, [((HASH_REGION, 3 * 16 + 9), 6)].into_iter().collect());
}
