//! Tests that circuits compute the same results as the operators on concrete values.

use proptest::prelude::*;

use super::blast::Blaster;
use crate::layered::view::View;
use crate::sat::{Answer, Hook, Lit};
use crate::{BitSolver, Domain, Model, Node, Outcome, Solver, TermId, TermPool};

type Binary = fn(&mut TermPool, TermId, TermId) -> TermId;

const BINARIES: [Binary; 18] = [
    TermPool::and,
    TermPool::or,
    TermPool::xor,
    TermPool::add,
    TermPool::sub,
    TermPool::mul,
    TermPool::udiv,
    TermPool::urem,
    TermPool::sdiv,
    TermPool::srem,
    TermPool::shl,
    TermPool::lshr,
    TermPool::ashr,
    TermPool::eq,
    TermPool::ult,
    TermPool::slt,
    TermPool::ule,
    TermPool::sle,
];

/// Returns the value of a term that follows from the given input values by unit propagation alone.
/// Returns `None` if a bit does not follow.
fn computed(pool: &TermPool, term: TermId, inputs: &[(TermId, u64)]) -> Option<u64> {
    let mut blaster = Blaster::new(Hook::default());
    let mut view = View::default();
    let bits = blaster.bits(pool, &mut view, term);
    let mut assumptions: Vec<Lit> = Vec::new();
    for &(input, value) in inputs {
        for (place, bit) in blaster.bits(pool, &mut view, input).into_iter().enumerate() {
            assumptions.push(if value >> place & 1 == 1 { bit } else { !bit });
        }
    }
    let answer = blaster.gates.sat.solve(&assumptions, &[], None, &|| false);
    assert_eq!(answer, Answer::Satisfiable);
    let mut value = 0;
    for (place, &bit) in bits.iter().enumerate() {
        value |= u64::from(blaster.gates.sat.value(bit)?) << place;
    }
    Some(value)
}

fn ones(width: u8) -> u64 {
    u64::MAX >> (64 - width)
}

/// Generates small numbers, numbers close to 2^64, and arbitrary numbers.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..70u64, (0..70u64).prop_map(|n| n.wrapping_neg())]
}

fn assigned(pool: &TermPool, inputs: &[(TermId, u64)]) -> Model {
    let mut model = Model::new();
    for &(input, value) in inputs {
        if let Node::Var(var) = *pool.node(input) {
            model.set_var(var, value);
        }
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn circuits_compute_what_operators_mean(
        width in 1u8..=64,
        values in (number(), number()),
        constant in 0..3u8,
    ) {
        let mask = ones(width);
        let (a, b) = (values.0 & mask, values.1 & mask);
        for operator in BINARIES {
            let mut pool = TermPool::new();
            let x = pool.var("x", Domain::full(width));
            let y = pool.var("y", Domain::full(width));
            let (left, right) = match constant {
                0 => (x, y),
                1 => (x, pool.constant(width, b)),
                _ => (pool.constant(width, a), y),
            };
            let term = operator(&mut pool, left, right);
            let inputs = [(x, a), (y, b)];
            let wanted = pool.eval(term, &assigned(&pool, &inputs));
            let text = pool.display(term).to_string();
            prop_assert_eq!(computed(&pool, term, &inputs), Some(wanted), "{}", text);
        }
    }

    #[test]
    fn circuits_of_other_operators(
        width in 1u8..=32,
        values in (number(), number()),
        lo in any::<u8>(),
    ) {
        let mut pool = TermPool::new();
        let x = pool.var("x", Domain::full(width));
        let y = pool.var("y", Domain::full(width));
        let c = pool.var("c", Domain::full(1));
        let lo = lo % width;
        let inputs = [(x, values.0 & ones(width)), (y, values.1 & ones(width)), (c, values.0 >> 63)];
        let terms = [
            pool.not(x),
            pool.neg(x),
            pool.concat(x, y),
            pool.extract(x, lo, width - lo),
            pool.zext(x, 64),
            pool.sext(x, 64),
            pool.ite(c, x, y),
        ];
        for term in terms {
            let wanted = pool.eval(term, &assigned(&pool, &inputs));
            prop_assert_eq!(computed(&pool, term, &inputs), Some(wanted));
        }
    }

    #[test]
    fn operators_are_undone(width in 1u8..=10, operator in 0..18usize, a in number(), b in number()) {
        let mut pool = TermPool::new();
        let x = pool.var("x", Domain::full(width));
        let y = pool.constant(width, b);
        let term = BINARIES[operator](&mut pool, x, y);
        let values = |value: u64| pool.eval(term, &assigned(&pool, &[(x, value)]));
        // Either a value that the operator yields for some `x`, or an arbitrary value.
        let target = if a % 2 == 0 { values(a & ones(width)) } else { a & ones(pool.width(term)) };
        let possible = (0..=ones(width)).any(|value| values(value) == target);
        let target = pool.constant(pool.width(term), target);
        let condition = pool.eq(term, target);
        match BitSolver::new().check(&mut pool, &[condition]).expect("no error") {
            Outcome::Sat(model) => prop_assert_eq!(pool.eval(condition, &model), 1),
            Outcome::Unsat(core) => {
                prop_assert_eq!(core, [0]);
                prop_assert!(!possible);
            }
            Outcome::Unknown(why) => prop_assert!(false, "{why}"),
        }
    }

    #[test]
    fn domains_of_unknowns_are_kept(
        width in 1u8..=64,
        bounds in (number(), number()),
        signed in any::<bool>(),
        beyond in any::<bool>(),
    ) {
        let (a, b) = (bounds.0 & ones(width), bounds.1 & ones(width));
        let domain = if signed {
            let [a, b] = [a, b].map(|v| slowpath_domain::sign_extend(v, width));
            Domain::signed(width, a.min(b), a.max(b))
        } else {
            Domain::range(width, a.min(b), a.max(b))
        };
        let mut pool = TermPool::new();
        let x = pool.var("x", domain);
        // The detour over `y` prevents a decision by domains alone.
        let y = pool.var("y", Domain::full(width));
        let same = pool.eq(x, y);
        let limit = pool.constant(width, if beyond { domain.hi() } else { domain.lo() });
        let outside = if beyond { pool.ult(limit, y) } else { pool.ult(y, limit) };
        let outcome = BitSolver::new().check(&mut pool, &[same, outside]).expect("no error");
        prop_assert!(matches!(outcome, Outcome::Unsat(_)), "{domain:?} {outcome:?}");
        let outcome = BitSolver::new().check(&mut pool, &[same]).expect("no error");
        prop_assert!(matches!(outcome, Outcome::Sat(_)));
    }
}

#[test]
fn equal_histories_give_equal_models() {
    let ask = || {
        let mut pool = TermPool::new();
        let [x, y] = ["x", "y"].map(|name| pool.var(name, Domain::full(32)));
        let product = pool.mul(x, y);
        let wanted = pool.constant(32, 0x1234_5678);
        let conditions = [pool.eq(product, wanted), pool.ult(x, y)];
        let mut solver = BitSolver::new();
        let outcomes = [&conditions[..1], &conditions].map(|asked| solver.check(&mut pool, asked));
        outcomes.map(|outcome| format!("{outcome:?}"))
    };
    assert_eq!(ask(), ask());
}

#[test]
fn values_are_small_where_nothing_else_is_asked() {
    let mut pool = TermPool::new();
    let x = pool.var("x", Domain::full(32));
    let limit = pool.constant(32, 9);
    let above = pool.ult(limit, x);
    let Ok(Outcome::Sat(model)) = BitSolver::new().check(&mut pool, &[above]) else {
        panic!("satisfiable")
    };
    assert!(pool.eval(x, &model) < 64, "{}", pool.eval(x, &model));
}
