//! Conditions that the tests of all engines use as examples.

use crate::{Domain, TermId, TermPool};

/// Returns `x < 5`, `y < 9`, `9 < x` and a condition on `x * y`. The first and the third contradict
/// each other.
pub(crate) fn contradiction(pool: &mut TermPool) -> Vec<TermId> {
    let (x, y) = (pool.var("x", Domain::full(32)), pool.var("y", Domain::full(32)));
    let product = pool.mul(x, y);
    let (three, five, nine) = (pool.constant(32, 3), pool.constant(32, 5), pool.constant(32, 9));
    let first = pool.ult(x, five);
    let second = pool.ult(y, nine);
    let third = pool.ult(nine, x);
    let fourth = pool.eq(product, three);
    vec![first, second, third, fourth]
}

/// Returns conditions that hold only for the factors of a product of two primes. Solving them takes
/// far longer than any test may run.
pub(crate) fn hard(pool: &mut TermPool) -> Vec<TermId> {
    let (p, q) = (pool.var("p", Domain::full(32)), pool.var("q", Domain::full(32)));
    let (wide_p, wide_q) = (pool.zext(p, 64), pool.zext(q, 64));
    let product = pool.mul(wide_p, wide_q);
    let semiprime = pool.constant(64, 2_654_435_761 * 3_266_489_917);
    let one = pool.constant(32, 1);
    let factored = pool.eq(product, semiprime);
    let (p_real, q_real) = (pool.ult(one, p), pool.ult(one, q));
    let ordered = pool.ult(q, p);
    vec![factored, p_real, q_real, ordered]
}
