use super::*;
use slowpath_smt::Model;

/// Returns a 32-bit unknown, and its 64-bit product with a constant.
fn product(pool: &mut TermPool, factor: u64) -> (TermId, TermId) {
    let value = pool.var("x", Domain::full(32));
    let wide = pool.zext(value, 64);
    let factor = pool.constant(64, factor);
    (value, pool.mul(wide, factor))
}

/// Returns dividends for which an inexact reciprocal of `divisor` is most likely to give a wrong
/// quotient: multiples of `divisor` and the numbers before them.
fn dividends(divisor: u64) -> impl Iterator<Item = u64> {
    const GREATEST: u64 = u32::MAX as u64;
    let multiples = [0, 1, 2, 1000, GREATEST / divisor / 2, GREATEST / divisor];
    let around = multiples.into_iter().flat_map(move |n| [n * divisor, n * divisor + divisor - 1]);
    around.chain([GREATEST]).filter(|&x| x <= GREATEST)
}

fn same_values(pool: &TermPool, a: TermId, b: TermId, x: TermId, divisor: u64) {
    let Node::Var(var) = *pool.node(x) else { panic!("an unknown") };
    for value in dividends(divisor) {
        let mut model = Model::new();
        model.set_var(var, value);
        assert_eq!(pool.eval(a, &model), pool.eval(b, &model), "{value} / {divisor}");
    }
}

#[test]
fn slices_of_products_with_reciprocals_are_quotients() {
    for divisor in [3u64, 5, 6, 10, 11, 255, 641, 1000, 65_537] {
        let found = (33..63u8).any(|shift| {
            let reciprocal = (1u128 << shift).div_ceil(divisor.into());
            let Ok(reciprocal) = u32::try_from(reciprocal) else { return false };
            let mut pool = TermPool::new();
            let (x, product) = product(&mut pool, reciprocal.into());
            let slice = pool.extract(product, shift, 64 - shift);
            let rewritten = Multiplications::default().quotients(&mut pool, &[slice])[0];
            same_values(&pool, slice, rewritten, x, divisor);
            rewritten != slice
        });
        assert!(found, "no reciprocal of {divisor} is recognised");
    }
}

#[test]
fn a_reciprocal_of_33_bits_is_recognised() {
    let mut pool = TermPool::new();
    let (x, product) = product(&mut pool, 0x2492_4925);
    let high = pool.extract(product, 32, 32);
    let difference = pool.sub(x, high);
    let half = pool.extract(difference, 1, 31);
    let half = pool.zext(half, 32);
    let sum = pool.add(high, half);
    let slice = pool.extract(sum, 2, 30);
    let rewritten = Multiplications::default().quotients(&mut pool, &[slice])[0];
    let seven = pool.constant(32, 7);
    let quotient = pool.udiv(x, seven);
    assert_eq!(rewritten, pool.extract(quotient, 0, 30));
    same_values(&pool, slice, rewritten, x, 7);
}

#[test]
fn a_factor_that_is_no_reciprocal_stays() {
    let mut pool = TermPool::new();
    // This reciprocal for 7 is one too large, so the result is wrong for large dividends.
    let (_, product) = product(&mut pool, 0x2492_4926);
    let slice = pool.extract(product, 32, 32);
    assert_eq!(Multiplications::default().quotients(&mut pool, &[slice]), [slice]);
}

#[test]
fn slices_of_one_product_have_one_name() {
    let mut pool = TermPool::new();
    let (a, b) = (pool.var("a", Domain::full(32)), pool.var("b", Domain::full(32)));
    let whole = pool.mul(a, b);
    let low = pool.extract(whole, 0, 13);
    let high = pool.extract(whole, 16, 13);
    assert!(matches!(pool.node(low), Node::Mul(..)), "the low bits are a product of their own");
    let condition = pool.eq(low, high);
    let named =
        Multiplications::default().unknowns(&mut pool, &[condition]).expect("has products")[0];
    let terms = pool.subterms(&[named]);
    let names = terms.iter().filter(|&&term| matches!(pool.node(term), Node::Var(_)));
    assert_eq!(names.count(), 1, "{}", pool.display(named));
    assert!(!terms.iter().any(|&term| matches!(pool.node(term), Node::Mul(..))));
}

#[test]
fn constants_that_conditions_fix_are_used_elsewhere() {
    let mut pool = TermPool::new();
    let (a, b) = (pool.var("a", Domain::full(32)), pool.var("b", Domain::full(32)));
    let six = pool.constant(32, 6);
    let fixed = pool.eq(a, six);
    let (general, special) = (pool.mul(a, b), pool.mul(six, b));
    let same = pool.eq(general, special);
    let differs = pool.not(same);
    let named =
        Multiplications::default().unknowns(&mut pool, &[fixed, differs]).expect("has a product");
    assert_eq!(named[0], fixed);
    assert_eq!(pool.as_const(named[1]), Some(0));
}
