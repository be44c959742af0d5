//! Tests sums of large multiples of large values. As mathematical integers, the sums exceed 128
//! bits; interval arithmetic must detect this.

use proptest::prelude::*;
use slowpath_smt::{Domain, Evaluator, Model, Node, TermId, TermPool};

/// Returns the mask of the low `width` bits.
fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - width)
}

#[derive(Clone, Debug)]
enum Step {
    Add(usize, usize),
    Sub(usize, usize),
    Times(usize, u64),
    Plus(usize, u64),
    Neg(usize),
    Not(usize),
    Shl(usize, u64),
    /// The low bits of a term, zero-extended to the original width.
    Low(usize, u8),
}

/// Generates numbers that are large as unsigned or as signed numbers, and small numbers.
fn extreme() -> impl Strategy<Value = u64> {
    let near = |base: u64| (0..4_u64).prop_map(move |by| base.wrapping_add(by).wrapping_sub(2));
    prop_oneof![near(0), near(1 << 63), near(1 << 62), near(31), near(3 << 62), any::<u64>()]
}

fn domain(width: u8) -> impl Strategy<Value = Domain> {
    prop_oneof![
        Just(Domain::full(width)),
        (extreme(), 0..5_u64).prop_map(move |(lo, by)| {
            let lo = lo & mask(width);
            Domain::range(width, lo, lo.saturating_add(by).min(mask(width)))
        }),
        (extreme(), extreme()).prop_map(move |(a, b)| {
            let (a, b) = (a & mask(width), b & mask(width));
            Domain::range(width, a.min(b), a.max(b))
        }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = || 0..100_usize;
    let step = prop_oneof![
        (n(), n()).prop_map(|(a, b)| Step::Add(a, b)),
        (n(), n()).prop_map(|(a, b)| Step::Sub(a, b)),
        (n(), extreme()).prop_map(|(a, by)| Step::Times(a, by)),
        (n(), extreme()).prop_map(|(a, by)| Step::Plus(a, by)),
        n().prop_map(Step::Neg),
        n().prop_map(Step::Not),
        (n(), 0..64_u64).prop_map(|(a, by)| Step::Shl(a, by)),
        (n(), 1..64_u8).prop_map(|(a, by)| Step::Low(a, by)),
    ];
    prop::collection::vec(step, 1..30)
}

/// A term, with the value that it has in this test.
type Known = (TermId, u64);

fn built(pool: &mut TermPool, width: u8, mut all: Vec<Known>, steps: &[Step]) -> Vec<Known> {
    for step in steps {
        let at = |n: usize| all[n % all.len()];
        let (term, value) = match *step {
            Step::Add(a, b) => {
                let ((a, x), (b, y)) = (at(a), at(b));
                (pool.add(a, b), x.wrapping_add(y))
            }
            Step::Sub(a, b) => {
                let ((a, x), (b, y)) = (at(a), at(b));
                (pool.sub(a, b), x.wrapping_sub(y))
            }
            Step::Times(a, by) => {
                let ((a, x), factor) = (at(a), pool.constant(width, by));
                (pool.mul(a, factor), x.wrapping_mul(by))
            }
            Step::Plus(a, by) => {
                let ((a, x), addend) = (at(a), pool.constant(width, by));
                (pool.add(a, addend), x.wrapping_add(by))
            }
            Step::Neg(a) => (pool.neg(at(a).0), at(a).1.wrapping_neg()),
            Step::Not(a) => (pool.not(at(a).0), !at(a).1),
            Step::Shl(a, by) => {
                let ((a, x), by) = (at(a), by % u64::from(width));
                let amount = pool.constant(width, by);
                (pool.shl(a, amount), x << by)
            }
            Step::Low(a, to) => {
                let ((a, x), to) = (at(a), to.min(width));
                let low = pool.extract(a, 0, to);
                (pool.zext(low, width), x & mask(to))
            }
        };
        all.push((term, value & mask(width)));
    }
    all
}

type Vars = (u8, Vec<(Domain, u64)>);

/// Generates variables of one width, each with a domain and a value in this domain.
fn vars() -> impl Strategy<Value = Vars> {
    let width = prop_oneof![3 => Just(64_u8), 1 => Just(63), 1 => Just(32), 1 => 2..64_u8];
    width.prop_flat_map(|width| {
        let member = |d: Domain, at: u64| match d.hi().wrapping_sub(d.lo()) {
            u64::MAX => at,
            span => d.lo() + at % (span + 1),
        };
        let var = (domain(width), extreme()).prop_map(move |(d, at)| (d, member(d, at)));
        (Just(width), prop::collection::vec(var, 1..4))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn large_multiples_keep_their_values((width, vars) in vars(), steps in steps()) {
        let mut pool = TermPool::new();
        let mut model = Model::new();
        let mut all = Vec::new();
        for (n, &(domain, value)) in vars.iter().enumerate() {
            let var = pool.var(&format!("v{n}"), domain);
            if let Node::Var(id) = *pool.node(var) {
                model.set_var(id, value);
            }
            all.push((var, value));
        }
        let all = built(&mut pool, width, all, &steps);
        let mut checked = all.clone();
        for (&(a, x), &(b, y)) in all.iter().zip(all.iter().rev()) {
            checked.push((pool.ult(a, b), u64::from(x < y)));
            checked.push((pool.eq(a, b), u64::from(x == y)));
        }
        let mut evaluator = Evaluator::new(&pool, &model);
        for (term, expected) in checked {
            prop_assert_eq!(evaluator.value(term), expected, "{}", pool.display(term));
            prop_assert!(pool.domain(term).contains(expected), "{}", pool.display(term));
        }
    }
}

/// Checks that the simplified term of a hash has the right value. As in real programs, each round
/// of the hash adds a multiple and a shifted copy of the sum so far.
#[test]
fn rounds_of_a_hash_are_followed() {
    let mut pool = TermPool::new();
    let first = pool.var("s", Domain::full(64));
    let (factor, by) = (pool.constant(64, 31), pool.constant(64, 7));
    let (mut sum, mut value) = (first, 0xfeed_f00d_dead_beef_u64);
    let mut model = Model::new();
    if let Node::Var(id) = *pool.node(first) {
        model.set_var(id, value);
    }
    for _ in 0..30 {
        let (product, shifted) = (pool.mul(sum, factor), pool.lshr(sum, by));
        sum = pool.add(product, shifted);
        value = value.wrapping_mul(31).wrapping_add(value >> 7);
    }
    assert_eq!(pool.eval(sum, &model), value);
}
