//! Rewrites products and quotients so that the solver need not reason about products.
//!
//! Code for SmartNICs divides by a constant through a multiplication with its reciprocal.
//! [`Multiplications::quotients`] replaces a term of this form by the equal quotient. Two compared
//! programs may also compute the same product and use different bits of it, for example in a hash
//! function. [`Multiplications::unknowns`] replaces each product by an unknown. Unknowns allow more
//! values than products, so only the result "unsatisfiable" is valid for the original conditions.
//!
//! Source: Granlund and Montgomery, "Division by invariant integers using multiplication" (PLDI
//! 1994), theorem 4.2, for a known greatest dividend.

use slowpath_smt::{Domain, Node, TermId, TermPool};
use std::collections::HashMap;

/// Products with constant factors below this limit are not replaced: the solver turns them into
/// shifts and additions.
const SMALL: u64 = 1 << 8;

/// A rewriter that removes products from terms. It remembers each rewritten term.
#[derive(Default)]
pub(crate) struct Multiplications {
    /// Rewritten terms by their original terms. They contain quotients instead of products with
    /// reciprocals.
    exact: HashMap<TermId, TermId>,
    /// For each replaced product, the unknown that stands for it.
    names: HashMap<TermId, TermId>,
}

/// A quotient that is equal to some bits of a product.
struct Quotient {
    dividend: TermId,
    divisor: u64,
}

impl Multiplications {
    /// Returns equivalent conditions that contain quotients instead of products with reciprocals.
    pub fn quotients(&mut self, pool: &mut TermPool, conditions: &[TermId]) -> Vec<TermId> {
        conditions.iter().map(|&condition| self.quotient(pool, condition)).collect()
    }

    fn quotient(&mut self, pool: &mut TermPool, root: TermId) -> TermId {
        let mut work = vec![root];
        while let Some(&term) = work.last() {
            if self.exact.contains_key(&term) {
                work.pop();
                continue;
            }
            let found = quotient(pool, term);
            let children: Vec<TermId> = match &found {
                Some(found) => vec![found.dividend],
                None => pool.children(term).collect(),
            };
            let before = work.len();
            work.extend(children.iter().filter(|child| !self.exact.contains_key(child)));
            if work.len() > before {
                continue;
            }
            let images: Vec<TermId> = children.iter().map(|child| self.exact[child]).collect();
            let image = match found {
                Some(Quotient { divisor, .. }) => {
                    let width = pool.width(term);
                    let divisor = pool.constant(32, divisor);
                    let whole = pool.udiv(images[0], divisor);
                    pool.extract(whole, 0, width)
                }
                None if images == children => term,
                None => pool.rebuild(term, &images),
            };
            self.exact.insert(term, image);
            work.pop();
        }
        self.exact[&root]
    }

    /// Returns weaker conditions that contain an unknown instead of each product. Returns `None` if
    /// there are no products.
    pub fn unknowns(&mut self, pool: &mut TermPool, conditions: &[TermId]) -> Option<Vec<TermId>> {
        let products = |pool: &TermPool, conditions: &[TermId]| -> Vec<TermId> {
            let terms = pool.subterms(conditions).into_iter();
            terms.filter(|&term| factors(pool, term).is_some()).collect()
        };
        if products(pool, conditions).is_empty() {
            return None;
        }
        let conditions = with_constants(pool, conditions);
        let products = products(pool, &conditions);
        let mut images = HashMap::new();
        for &product in &products {
            let whole = widest(pool, product, &products);
            let width = pool.width(whole);
            let count = self.names.len();
            let name = *self
                .names
                .entry(whole)
                .or_insert_with(|| pool.var(&format!("product{count}"), Domain::full(width)));
            let slice = pool.extract(name, 0, pool.width(product));
            images.insert(product, slice);
        }
        Some(conditions.iter().map(|&term| pool.substitute(term, &mut images)).collect())
    }
}

/// Replaces an unknown by a constant if one of the conditions is an equation that determines its
/// value. This helps if only one of the two programs tests the value.
fn with_constants(pool: &mut TermPool, conditions: &[TermId]) -> Vec<TermId> {
    let mut known = HashMap::new();
    let mut fixes = vec![false; conditions.len()];
    for (&condition, fixes) in conditions.iter().zip(&mut fixes) {
        let Node::Eq(a, b) = *pool.node(condition) else { continue };
        let (value, constant) = if pool.as_const(a).is_some() { (b, a) } else { (a, b) };
        let Some(constant) = pool.as_const(constant) else { continue };
        let mut parts = vec![(value, constant)];
        while let Some((value, constant)) = parts.pop() {
            match *pool.node(value) {
                Node::Concat(high, low) => {
                    parts.push((high, constant >> pool.width(low)));
                    parts.push((low, constant));
                }
                Node::Var(_) | Node::Select { .. } => {
                    let constant = pool.constant(pool.width(value), constant);
                    known.insert(value, constant);
                    *fixes = true;
                }
                _ => {}
            }
        }
    }
    let rewritten = conditions.iter().zip(fixes).map(|(&condition, fixes)| {
        if fixes { condition } else { pool.substitute(condition, &mut known) }
    });
    rewritten.collect()
}

/// Returns the two factors of a term if it is a product that should be replaced by an unknown;
/// `None` for other terms.
fn factors(pool: &TermPool, term: TermId) -> Option<(TermId, TermId)> {
    let Node::Mul(a, b) = *pool.node(term) else { return None };
    let small = |t: TermId| {
        let negative =
            |value: u64| value.wrapping_neg() << (64 - pool.width(t)) >> (64 - pool.width(t));
        pool.as_const(t).is_some_and(|t| t < SMALL || t.is_power_of_two() || negative(t) < SMALL)
    };
    (!small(a) && !small(b)).then_some((a, b))
}

/// Returns the widest product in `all` whose low bits are equal to `product`, or `product` itself
/// if there is no wider one.
fn widest(pool: &mut TermPool, product: TermId, all: &[TermId]) -> TermId {
    let mut found = product;
    let Some((a, b)) = factors(pool, product) else { return product };
    let width = pool.width(product);
    for &other in all {
        if pool.width(other) <= pool.width(found) {
            continue;
        }
        let Some((c, d)) = factors(pool, other) else { continue };
        let (c, d) = (pool.extract(c, 0, width), pool.extract(d, 0, width));
        if (a, b) == (c, d) || (a, b) == (d, c) {
            found = other;
        }
    }
    found
}

/// Returns the quotient that a term computes with a reciprocal of 32 or 33 bits; `None` for other
/// terms. With 32 bits, the term is a slice of the product. With 33 bits, as for `x / 7`, it is a
/// slice of half the sum of `x` and the high word of the product.
fn quotient(pool: &mut TermPool, term: TermId) -> Option<Quotient> {
    let Node::Extract { src, lo } = *pool.node(term) else { return None };
    if let Some((dividend, reciprocal)) = scaled(pool, src) {
        return divisor(pool, dividend, reciprocal.into(), lo);
    }
    let Node::Add(a, b) = *pool.node(src) else { return None };
    for (high, half) in [(a, b), (b, a)] {
        let Node::Concat(zero, rest) = *pool.node(half) else { continue };
        let Node::Extract { src: difference, lo: 1 } = *pool.node(rest) else { continue };
        let Node::Extract { src: product, lo: 32 } = *pool.node(high) else { continue };
        if pool.as_const(zero) != Some(0) || pool.width(zero) != 1 || pool.width(src) != 32 {
            continue;
        }
        let Some((dividend, reciprocal)) = scaled(pool, product) else { continue };
        if pool.width(difference) != 32 || pool.add(difference, high) != dividend {
            continue;
        }
        return divisor(pool, dividend, (1 << 32) + u128::from(reciprocal), lo + 33);
    }
    None
}

/// Returns the two factors of a 64-bit product of a 32-bit value and a 32-bit constant; `None` for
/// other terms.
fn scaled(pool: &mut TermPool, product: TermId) -> Option<(TermId, u64)> {
    let Node::Mul(a, b) = *pool.node(product) else { return None };
    let (value, factor) = match (pool.as_const(a), pool.as_const(b)) {
        (None, Some(factor)) => (a, factor),
        (Some(factor), None) => (b, factor),
        _ => return None,
    };
    let fits = pool.width(product) == 64 && pool.domain(value).hi() <= u32::MAX.into();
    let fits = fits && factor <= u32::MAX.into();
    fits.then(|| (pool.extract(value, 0, 32), factor))
}

/// Returns the quotient that is equal to `dividend * reciprocal >> shift`; `None` if the expression
/// is not equal to a division by a constant for all dividends.
fn divisor(pool: &TermPool, dividend: TermId, reciprocal: u128, shift: u8) -> Option<Quotient> {
    let (power, greatest) = (1u128 << shift, u128::from(pool.domain(dividend).hi()));
    let least = power.checked_div(reciprocal)?;
    // The quotient is exact if the error stays below the last place for every dividend.
    let exact = |&divisor: &u128| {
        let error = (reciprocal * divisor).checked_sub(power);
        divisor > 1 && error.is_some_and(|error| error * greatest < power)
    };
    let divisor = [least, least + 1].into_iter().find(exact)?;
    Some(Quotient { dividend, divisor: u64::try_from(divisor).ok().filter(|&d| d >> 32 == 0)? })
}

#[cfg(test)]
mod tests;
