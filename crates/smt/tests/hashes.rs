//! Tests conditions on hash functions with few inputs. Answers are compared with an enumeration of
//! all inputs. Exact translation of hashes is the solver's last resort, so these tests cover the
//! methods that come before it.

use crate::common;

use proptest::prelude::*;
use slowpath_smt::{
    ArrayId, BitSolver, Domain, Evaluator, Model, Node, Outcome, Solver, TermId, TermPool,
};

/// Number of values that each input can have.
const VALUES: u64 = 24;

/// The rounds of a hash function: for each round, the number of an operator and a constant.
type Rounds = Vec<(u8, u64)>;
/// A random condition: a number that selects the term to compare, a number that selects the
/// comparison, and the value to compare with.
type Condition = (u8, u8, u64);

struct Inputs {
    x: TermId,
    y: TermId,
    map: ArrayId,
}

fn hash(pool: &mut TermPool, inputs: &Inputs, rounds: &Rounds) -> TermId {
    let (x, y) = (pool.zext(inputs.x, 16), pool.zext(inputs.y, 16));
    let factor = pool.constant(16, 0xca6b);
    let mut state = pool.mul(x, factor);
    for &(operator, number) in rounds {
        let constant = pool.constant(16, number | 1);
        let mixed = if number & 2 == 0 { pool.xor(state, y) } else { pool.add(state, x) };
        state = match operator % 5 {
            0 => pool.mul(mixed, constant),
            1 => {
                let (high, low) = (pool.extract(mixed, 5, 11), pool.extract(mixed, 0, 5));
                let rotated = pool.concat(low, high);
                pool.mul(rotated, factor)
            }
            2 => {
                let divisor = pool.add(y, constant);
                pool.urem(mixed, divisor)
            }
            3 => pool.mul(mixed, state),
            _ => pool.udiv(mixed, constant),
        };
    }
    state
}

/// Builds a condition on the hash, on an input, or on an element of a map. The hash or an input
/// selects this element.
fn condition(pool: &mut TermPool, inputs: &Inputs, hash: TermId, c: Condition) -> TermId {
    let (about, comparison, number) = c;
    let low = pool.extract(hash, (number % 9) as u8, 8);
    let subject = match about % 8 {
        0 | 1 => low,
        2 => inputs.x,
        3 => inputs.y,
        4 | 5 => pool.select(inputs.map, low),
        6 => pool.select(inputs.map, inputs.x),
        _ => {
            let element = pool.select(inputs.map, low);
            pool.select(inputs.map, element)
        }
    };
    let value = pool.constant(8, number / 16 % 32);
    match comparison % 4 {
        0 => pool.eq(subject, value),
        1 => pool.ult(subject, value),
        2 => pool.ult(value, subject),
        _ => {
            let (bit, other) = (pool.extract(subject, 0, 1), pool.extract(value, 0, 1));
            pool.eq(bit, other)
        }
    }
}

/// Returns true if the conditions can hold for some inputs and some content of the map. Tries all
/// inputs; for each of them, hashes are constants, and a solver finds the content of the map.
fn possible(pool: &mut TermPool, inputs: &Inputs, conditions: &[TermId]) -> bool {
    for x in 0..VALUES {
        for y in 0..VALUES {
            let values = [(inputs.x, x), (inputs.y, y)];
            let mut model = Model::new();
            for (input, value) in values {
                if let Node::Var(var) = *pool.node(input) {
                    model.set_var(var, value);
                }
            }
            let plain: Vec<TermId> = conditions
                .iter()
                .copied()
                .filter(|&c| {
                    !pool
                        .subterms(&[c])
                        .iter()
                        .any(|&t| matches!(pool.node(t), Node::Select { .. }))
                })
                .collect();
            let mut evaluator = Evaluator::new(pool, &model);
            if plain.iter().any(|&c| evaluator.value(c) == 0) {
                continue;
            }
            let mut images =
                values.map(|(input, value)| (input, pool.constant(8, value))).into_iter().collect();
            let left: Vec<TermId> =
                conditions.iter().map(|&c| pool.substitute(c, &mut images)).collect();
            let mut solver = BitSolver::new();
            if matches!(solver.check(pool, &left), Ok(Outcome::Sat(_))) {
                return true;
            }
        }
    }
    false
}

proptest! {
    #![proptest_config(common::config(60))]

    #[test]
    fn hashes_are_decided_as_by_trying_everything(
        rounds in prop::collection::vec(any::<(u8, u64)>(), 2..5),
        wanted in prop::collection::vec(any::<Condition>(), 1..6),
    ) {
        let mut pool = TermPool::new();
        let inputs = Inputs {
            x: pool.var("x", Domain::range(8, 0, VALUES - 1)),
            y: pool.var("y", Domain::range(8, 0, VALUES - 1)),
            map: pool.array("map", 8),
        };
        let hash = hash(&mut pool, &inputs, &rounds);
        let conditions: Vec<TermId> =
            wanted.iter().map(|&c| condition(&mut pool, &inputs, hash, c)).collect();
        let mut solver = BitSolver::new();
        // The sets of conditions grow, so later checks use facts learnt in earlier checks.
        for count in 1..=conditions.len() {
            match solver.check(&mut pool, &conditions[..count]).expect("no error") {
                Outcome::Sat(model) => {
                    let mut evaluator = Evaluator::new(&pool, &model);
                    prop_assert!(conditions[..count].iter().all(|&c| evaluator.value(c) == 1));
                    for input in [inputs.x, inputs.y] {
                        prop_assert!(evaluator.value(input) < VALUES);
                    }
                }
                Outcome::Unsat(core) => {
                    let core: Vec<TermId> = core.iter().map(|&n| conditions[n]).collect();
                    prop_assert!(!possible(&mut pool, &inputs, &core));
                }
                Outcome::Unknown(why) => prop_assert!(false, "{why}"),
            }
        }
    }
}
