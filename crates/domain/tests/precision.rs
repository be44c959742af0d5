//! Compares the results of transfer functions with the best possible results, for pairs of all
//! 4-bit intervals, signed intervals and known bits. For each operator, a minimum percentage of the
//! results must be the best possible ones.

use slowpath_domain::{Domain, mask, sign_extend, transfer};

const WIDTH: u8 = 4;

/// Returns every 4-bit domain that consists of an interval, a signed interval or known bits.
fn domains() -> Vec<Domain> {
    let values = || 0..=mask(WIDTH);
    let pairs = || values().flat_map(move |a| values().map(move |b| (a, b)));
    let signed = |value| sign_extend(value, WIDTH);
    let mut all: Vec<Domain> = Vec::new();
    for (a, b) in pairs() {
        if a <= b {
            all.push(Domain::range(WIDTH, a, b));
        }
        if signed(a) <= signed(b) {
            all.push(Domain::signed(WIDTH, signed(a), signed(b)));
        }
        if a & b == 0 {
            all.push(Domain::from_bits(WIDTH, a, b));
        }
    }
    all.sort_by_key(|d| (d.lo(), d.hi(), d.ones(), d.zeros(), d.signed_range()));
    all.dedup();
    all
}

fn members(d: Domain) -> Vec<u64> {
    (0..=mask(d.width())).filter(|&v| d.contains(v)).collect()
}

fn signed(value: u64) -> i64 {
    sign_extend(value, WIDTH)
}

type Binary = (&'static str, fn(Domain, Domain) -> Domain, fn(u64, u64) -> u64, usize);

/// Each operator with its name, its transfer function, the operator on numbers, and the minimum
/// percentage of results that are the best possible.
const BINARY: &[Binary] = &[
    ("and", transfer::and, |a, b| a & b, 99),
    ("or", transfer::or, |a, b| a | b, 99),
    ("xor", transfer::xor, |a, b| a ^ b, 97),
    ("add", transfer::add, |a, b| a.wrapping_add(b), 99),
    ("sub", transfer::sub, |a, b| a.wrapping_sub(b), 99),
    ("mul", transfer::mul, |a, b| a.wrapping_mul(b), 62),
    ("udiv", transfer::udiv, |a, b| a.checked_div(b).unwrap_or(15), 73),
    ("urem", transfer::urem, |a, b| a.checked_rem(b).unwrap_or(a), 51),
    (
        "sdiv",
        transfer::sdiv,
        |a, b| {
            let by_zero = if signed(a) < 0 { 1 } else { -1 };
            signed(a).checked_div(signed(b)).unwrap_or(by_zero) as u64
        },
        95,
    ),
    (
        "srem",
        transfer::srem,
        |a, b| signed(a).checked_rem(signed(b)).unwrap_or(signed(a)) as u64,
        84,
    ),
    ("shl", transfer::shl, |a, b| if b > 3 { 0 } else { a << b }, 100),
    ("lshr", transfer::lshr, |a, b| if b > 3 { 0 } else { a >> b }, 100),
    ("ashr", transfer::ashr, |a, b| (signed(a) >> b) as u64, 100),
    ("ult", transfer::ult, |a, b| u64::from(a < b), 100),
    ("slt", transfer::slt, |a, b| u64::from(signed(a) < signed(b)), 100),
    ("eq", transfer::eq, |a, b| u64::from(a == b), 100),
];

#[test]
fn shares_of_best_results_do_not_fall() {
    let all: Vec<(Domain, Vec<u64>)> = domains().into_iter().map(|d| (d, members(d))).collect();
    for (name, of_domains, of_values, least) in BINARY {
        let (mut best_ones, mut pairs) = (0, 0);
        // A prime step keeps the test short and still uses every domain as either operand.
        let picked = all.iter().flat_map(|a| all.iter().map(move |b| (a, b))).step_by(7);
        for ((a, xs), (b, ys)) in picked {
            let result = of_domains(*a, *b);
            let results = xs.iter().flat_map(|&x| ys.iter().map(move |&y| of_values(x, y)));
            let constants = results.map(|v| Domain::constant(result.width(), v));
            let best = constants.reduce(|all, one| all.join(&one));
            let best = best.unwrap_or(result);
            assert_eq!(result.join(&best), result, "{name} {a:?} {b:?} lacks values");
            pairs += 1;
            best_ones += usize::from(result == best);
        }
        let share = 100 * best_ones / pairs;
        assert!(share >= *least, "{name}: {share} % of results are the best, {least} % were");
    }
}
