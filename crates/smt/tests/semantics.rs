//! Tests that simplified terms have the same values as the expressions from which they were built,
//! and that their domains contain these values.

use crate::common;

use common::{Expressions, Shape, domain, member, model, steps};
use proptest::prelude::*;
use slowpath_smt::{Domain, Model, Node, TermId, TermPool, nearby_model};

const SHAPES: [Shape; 3] = [
    Shape {
        widths: &[1, 3, 8, 13, 32, 64],
        max_width: 64,
        arrays: true,
        products: true,
        interns: true,
    },
    Shape { widths: &[1, 2, 3, 4, 5], max_width: 12, arrays: true, products: true, interns: false },
    Shape {
        widths: &[1, 8, 14, 16, 32],
        max_width: 64,
        arrays: false,
        products: false,
        interns: true,
    },
];

fn domains(shape: usize) -> BoxedStrategy<Vec<Domain>> {
    match shape {
        0 => (domain(1), domain(8), domain(13), domain(32), domain(64))
            .prop_map(|(a, b, c, d, e)| vec![a, b, c, d, e])
            .boxed(),
        1 => (domain(1), domain(2), domain(3), domain(4), domain(5))
            .prop_map(|(a, b, c, d, e)| vec![a, b, c, d, e])
            .boxed(),
        // A pointer, a packet length and header bytes.
        _ => (domain(32), domain(8), domain(8), domain(16))
            .prop_map(|(a, b, c, d)| {
                let base = Domain::range(32, 0x10000, 0x3fff_0000);
                vec![base, Domain::range(14, 60, 1500), a, b, c, d]
            })
            .boxed(),
    }
}

/// Returns a number for a pair of values. Different pairs have different numbers, unless their
/// hashes collide.
fn number((a, b): (u64, u64), seed: u64) -> u32 {
    let mixed = [a, b, seed].into_iter().fold(0x9e37_79b9_7f4a_7c15_u64, |mixed, value| {
        (mixed ^ value).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_right(29)
    });
    (mixed >> 16) as u32
}

fn check(
    domains: &[Domain],
    steps: &[common::Step],
    seeds: &[u64],
    shape: Shape,
) -> Result<(), TestCaseError> {
    let e = Expressions::new(domains, steps, shape);
    let mut pool = TermPool::new();
    let (terms, array) = e.build(&mut pool);
    for &seed in seeds {
        let vars: Vec<u64> = domains
            .iter()
            .enumerate()
            .map(|(n, &d)| member(d, seed.rotate_left(11 * n as u32)))
            .collect();
        let byte = |index: u64| (index.wrapping_mul(seed | 1) >> 3) as u8;
        let expected = e.values(&vars, byte, |pair| number(pair, seed));
        let mut model = model(&pool, &terms, &vars, array, byte);
        for pair in e.pairs(&expected) {
            model.set_interned(pair, number(pair, seed));
        }
        let mut evaluator = slowpath_smt::Evaluator::new(&pool, &model);
        for (n, &term) in terms.iter().enumerate() {
            let value = evaluator.value(term);
            prop_assert_eq!(pool.width(term), e.widths[n]);
            prop_assert_eq!(
                value,
                expected[n],
                "node {} = {:?} became {} under {:?}",
                n,
                &e.nodes[n],
                pool.display(term),
                &vars
            );
            prop_assert!(
                pool.domain(term).contains(value),
                "{} has {:?}, is {:#x}",
                pool.display(term),
                pool.domain(term),
                value
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::config(800))]

    #[test]
    fn mixed_widths(d in domains(0), s in steps(1..40), seeds in prop::collection::vec(any::<u64>(), 8)) {
        check(&d, &s, &seeds, SHAPES[0])?;
    }

    #[test]
    fn narrow_widths(d in domains(1), s in steps(1..40), seeds in prop::collection::vec(any::<u64>(), 12)) {
        check(&d, &s, &seeds, SHAPES[1])?;
    }

    #[test]
    fn packet_arithmetic(d in domains(2), s in steps(1..40), seeds in prop::collection::vec(any::<u64>(), 8)) {
        check(&d, &s, &seeds, SHAPES[2])?;
    }

    #[test]
    fn sums_add_up(d in domains(2), s in steps(1..30), seed in any::<u64>()) {
        let e = Expressions::new(&d, &s, SHAPES[2]);
        let mut pool = TermPool::new();
        let (terms, _) = e.build(&mut pool);
        let vars: Vec<u64> = d.iter().map(|&d| member(d, seed)).collect();
        for &term in &terms {
            let sum = pool.split_sum(term);
            let model = model(&pool, &terms, &vars, None, |_| 0);
            let total = sum.addends.iter().fold(sum.constant, |total, &addend| {
                total.wrapping_add(pool.eval(addend, &model))
            });
            let mask = common::ones(pool.width(term));
            prop_assert_eq!(total & mask, pool.eval(term, &model), "{}", pool.display(term));
            prop_assert!(sum.addends.is_sorted());
        }
    }

    #[test]
    fn rebuilding_changes_nothing(d in domains(0), s in steps(1..30), seed in any::<u64>()) {
        let e = Expressions::new(&d, &s, SHAPES[0]);
        let mut pool = TermPool::new();
        let (terms, array) = e.build(&mut pool);
        let vars: Vec<u64> = d.iter().map(|&d| member(d, seed)).collect();
        let model = model(&pool, &terms, &vars, array, |i| i as u8 ^ seed as u8);
        for &term in &terms {
            let children: Vec<_> = pool.children(term).collect();
            let again = pool.rebuild(term, &children);
            prop_assert_eq!(pool.eval(again, &model), pool.eval(term, &model));
        }
    }
}

proptest! {
    #![proptest_config(common::config(2000))]

    /// Checks that local search around a model returns only models that meet all conditions. Two
    /// bytes at unknown indices can be the same byte, although their terms permit different values.
    #[test]
    fn a_nearby_model_meets_all_conditions(
        domains in domains(0),
        steps in steps(8..60),
        (picks, seed) in (prop::collection::vec(any::<(u16, u8)>(), 1..12), any::<u64>()),
        (starts_empty, narrowed) in any::<(bool, bool)>(),
    ) {
        let e = Expressions::new(&domains, &steps, SHAPES[0]);
        let mut pool = TermPool::new();
        let (terms, array) = e.build(&mut pool);
        let conditions: Vec<TermId> = picks
            .iter()
            .map(|&(pick, wanted)| {
                let term = terms[usize::from(pick) % terms.len()];
                let low = pool.extract(term, 0, pool.width(term).min(8));
                let value = pool.constant(pool.width(low), u64::from(wanted));
                if wanted % 3 == 0 { pool.eq(low, value) } else { pool.ule(low, value) }
            })
            .collect();
        let permitted = |term: TermId| match *pool.node(term) {
            Node::Select { index, .. } if narrowed => {
                let least = (seed >> (index.index() % 48)) as u8 / 2;
                Domain::range(8, least.into(), u64::from(least) + 100)
            }
            _ => pool.domain(term),
        };
        let vars: Vec<u64> = domains.iter().map(|&domain| member(domain, seed)).collect();
        let start = match starts_empty {
            true => Model::new(),
            false => model(&pool, &terms, &vars, array, |index| (index.wrapping_mul(seed)) as u8),
        };
        if let Some(found) = nearby_model(&pool, &start, &conditions, &permitted) {
            for &condition in &conditions {
                prop_assert_eq!(pool.eval(condition, &found), 1, "{}", pool.display(condition));
            }
            for (&term, domain) in terms.iter().zip(&domains) {
                if let Node::Var(var) = *pool.node(term) {
                    prop_assert!(found.var(var).is_none_or(|value| domain.contains(value)));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(common::config(300))]

    /// Checks that a solver that answers overlapping checks repeatedly agrees with a new solver
    /// each time.
    #[test]
    fn repeated_checks_agree_with_a_new_solver(
        domains in domains(1),
        steps in steps(8..40),
        picks in prop::collection::vec((any::<u16>(), 0u8..6), 2..8),
        subsets in prop::collection::vec(any::<u8>(), 4..24),
    ) {
        use slowpath_smt::{BitSolver, Outcome, Solver};
        let expressions = Expressions::new(&domains, &steps, SHAPES[1]);
        let mut pool = TermPool::new();
        let (terms, _) = expressions.build(&mut pool);
        let mut conditions = Vec::new();
        for &(pick, wanted) in &picks {
            let term = terms[usize::from(pick) % terms.len()];
            let low = pool.extract(term, 0, pool.width(term).min(8));
            let value = pool.constant(pool.width(low), u64::from(wanted));
            let even = wanted % 2 == 0;
            conditions.push(if even { pool.eq(low, value) } else { pool.ule(low, value) });
        }
        let mut solver = BitSolver::new();
        for &subset in subsets.iter().chain(&subsets).chain(&subsets) {
            let chosen = |at: usize| subset >> at & 1 == 1;
            let some: Vec<TermId> =
                (0..conditions.len()).filter(|&at| chosen(at)).map(|at| conditions[at]).collect();
            let outcome = solver.check(&mut pool, &some).expect("works");
            let fresh = BitSolver::new().check(&mut pool, &some).expect("works");
            match (&outcome, &fresh) {
                (Outcome::Sat(model), Outcome::Sat(_)) => {
                    for &condition in &some {
                        prop_assert_eq!(pool.eval(condition, model), 1);
                    }
                }
                (Outcome::Unsat(core), Outcome::Unsat(_)) => {
                    let core: Vec<TermId> = core.iter().map(|&at| some[at]).collect();
                    let again = BitSolver::new().check(&mut pool, &core).expect("works");
                    prop_assert!(matches!(again, Outcome::Unsat(_)));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
