//! Decides whether two terms are equal by comparing their structure, for values that two programs
//! compute in a different order. It uses no solver, and the equality holds for all values of
//! variables.
//!
//! Two terms are equal if they have the same operator and equal operands. If the operators differ,
//! the comparison takes the condition of a choice inside the terms. The terms are equal if they are
//! equal both for a true and for a false condition. The check is incomplete: it does not find all
//! equal terms.

use slowpath_smt::{Node, TermId, TermPool};
use std::collections::HashMap;

/// Maximum number of terms that are visited in total, for all pairs together.
const MAX_TERMS: usize = 4_000_000;
/// Maximum number of nested case distinctions.
const MAX_CASES: u32 = 6;
/// Maximum depth inside a term at which the comparison looks for a choice.
const MAX_DEPTH: u32 = 4;
/// Maximum nesting depth of terms that are compared.
const MAX_NESTED: u32 = 400;

/// Maximum number of pairs of terms that are compared in total.
const MAX_PAIRS: u32 = 200_000;

/// Two terms that may be equal while all conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TermPair {
    /// The two terms that may be equal.
    pub terms: (TermId, TermId),
    /// Conditions (1-bit terms) under which the equality of the two terms matters. They come from
    /// choices ("if ... else") in the larger terms that are being compared, and select the two
    /// terms there.
    pub conditions: Vec<TermId>,
}

/// A comparison of terms that remembers which pairs are equal.
#[derive(Debug)]
pub struct StructuralEquality {
    /// For each pair of terms, several sets of conditions. If all conditions of one of these sets
    /// hold, the terms are equal.
    equal: HashMap<(TermId, TermId), Vec<Vec<TermId>>>,
    /// Pairs of terms that were not found equal, each with the limit on nested case distinctions
    /// with which they were compared.
    open: HashMap<TermPair, u32>,
    /// Pairs of innermost terms that were not found equal, about which the solver can be asked.
    undecided: Vec<TermPair>,
    /// Number of terms that the comparisons may still visit.
    terms_left: usize,
    /// Number of pairs that the comparisons may still compare.
    pairs_left: u32,
}

impl Default for StructuralEquality {
    fn default() -> Self {
        StructuralEquality {
            equal: HashMap::new(),
            open: HashMap::new(),
            undecided: Vec::new(),
            terms_left: MAX_TERMS,
            pairs_left: MAX_PAIRS,
        }
    }
}

impl StructuralEquality {
    /// Returns true if the comparison finds that two terms of the same width are equal. They may be
    /// equal even if it returns false.
    pub fn are_equal(&mut self, pool: &mut TermPool, a: TermId, b: TermId) -> bool {
        let pair = TermPair { terms: (a, b), conditions: Vec::new() };
        self.equal(pool, pair, MAX_CASES, MAX_NESTED)
    }

    /// Removes and returns the pairs of innermost terms that were not found to be equal. If the
    /// solver shows that they are equal, the larger terms around them may be equal too.
    pub fn take_undecided(&mut self) -> Vec<TermPair> {
        std::mem::take(&mut self.undecided)
    }

    /// Returns true if the terms of a pair are known to be equal under its conditions.
    pub fn is_known_equal(&self, pair: &TermPair) -> bool {
        let holds = |known: &Vec<TermId>| known.iter().all(|one| pair.conditions.contains(one));
        self.equal.get(&pair.terms).is_some_and(|known| known.iter().any(holds))
    }

    /// Records a pair whose terms are equal under its conditions, as the solver has shown.
    pub fn note_equal(&mut self, pair: TermPair) {
        self.equal.entry(pair.terms).or_default().push(pair.conditions);
        self.open.clear();
    }

    fn equal(&mut self, pool: &mut TermPool, pair: TermPair, cases: u32, nested: u32) -> bool {
        let (a, b) = pair.terms;
        if a == b || self.is_known_equal(&pair) {
            return true;
        }
        if self.pairs_left == 0
            || nested == 0
            || pool.stop().reason().is_some()
            || self.open.get(&pair).is_some_and(|&before| cases <= before)
        {
            return false;
        }
        self.pairs_left -= 1;
        let equal = match self.made_alike(pool, (a, b)) {
            Some(parts) => {
                let choice = match *pool.node(a) {
                    Node::Ite(condition, ..) if parts[0].0 == parts[0].1 => Some(condition),
                    _ => None,
                };
                parts.into_iter().enumerate().all(|(number, terms)| {
                    let mut conditions = pair.conditions.clone();
                    match (choice, number) {
                        (Some(condition), 1) => conditions.push(condition),
                        (Some(condition), 2) => conditions.push(pool.not(condition)),
                        _ => {}
                    }
                    self.equal(pool, TermPair { terms, conditions }, cases, nested - 1)
                })
            }
            None => {
                let equal = cases > 0 && self.in_both_cases(pool, &pair, cases, nested);
                if !equal && cases == MAX_CASES {
                    self.undecided.push(pair.clone());
                }
                equal
            }
        };
        if equal {
            self.equal.entry((a, b)).or_default().push(pair.conditions);
        } else {
            self.open.insert(pair, cases);
        }
        equal
    }

    /// If both terms have the same operator, returns the pairs of operands whose equality implies
    /// that the terms are equal. Otherwise, returns `None`.
    fn made_alike(
        &self,
        pool: &mut TermPool,
        (a, b): (TermId, TermId),
    ) -> Option<Vec<(TermId, TermId)>> {
        let parts = |term: TermId| pool.children(term).collect::<Vec<TermId>>();
        let (first, second) = (parts(a), parts(b));
        if first.is_empty()
            || first.len() != second.len()
            || first.iter().zip(&second).any(|(&a, &b)| pool.width(a) != pool.width(b))
            || pool.rebuild(a, &second) != b
        {
            return None;
        }
        Some(first.into_iter().zip(second).collect())
    }

    /// Compares two terms twice: once with a condition replaced by true, and once by false. The
    /// condition decides a choice inside one of the terms.
    fn in_both_cases(
        &mut self,
        pool: &mut TermPool,
        pair: &TermPair,
        cases: u32,
        nested: u32,
    ) -> bool {
        let (a, b) = pair.terms;
        let found = (1..=MAX_DEPTH)
            .find_map(|depth| choice(pool, a, depth).or_else(|| choice(pool, b, depth)));
        let Some(condition) = found else { return false };
        for value in [true, false] {
            let value = pool.bool(value);
            let [first, second] =
                [a, b].map(|term| self.substitute(pool, term, (condition, value)));
            let (Some(first), Some(second)) = (first, second) else { return false };
            let now = TermPair { terms: (first, second), ..pair.clone() };
            if !self.equal(pool, now, cases - 1, nested - 1) {
                return false;
            }
        }
        true
    }

    /// Replaces a condition inside a term by a constant. Returns `None` if the comparisons have
    /// visited too many terms.
    fn substitute(
        &mut self,
        pool: &mut TermPool,
        term: TermId,
        (condition, value): (TermId, TermId),
    ) -> Option<TermId> {
        let mut done: HashMap<TermId, TermId> = HashMap::from([(condition, value)]);
        let mut work = vec![term];
        while let Some(&top) = work.last() {
            if done.contains_key(&top) {
                work.pop();
                continue;
            }
            let children: Vec<TermId> = pool.children(top).collect();
            let before = work.len();
            work.extend(children.iter().filter(|child| !done.contains_key(child)));
            if work.len() > before {
                continue;
            }
            self.terms_left = self.terms_left.checked_sub(1)?;
            let now: Vec<TermId> = children.iter().map(|child| done[child]).collect();
            let rebuilt = if now == children { top } else { pool.rebuild(top, &now) };
            done.insert(top, rebuilt);
        }
        done.get(&term).copied()
    }
}

/// Returns the condition of a choice inside a term, at most `depth` levels below its root. Returns
/// `None` if there is no choice.
fn choice(pool: &TermPool, term: TermId, depth: u32) -> Option<TermId> {
    if let Node::Ite(condition, ..) = *pool.node(term) {
        return Some(condition);
    }
    let depth = depth.checked_sub(1)?;
    pool.children(term).find_map(|child| choice(pool, child, depth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_smt::Domain;

    #[test]
    fn sums_of_choices_are_choices_of_sums() {
        let mut pool = TermPool::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| pool.var(name, Domain::full(32)));
        let way = pool.var("way", Domain::full(1));
        let chosen = pool.ite(way, a, b);
        let product = pool.mul(chosen, chosen);
        let one = pool.add(product, c);
        let [x, y] = [a, b].map(|value| {
            let product = pool.mul(value, value);
            pool.add(product, c)
        });
        let other = pool.ite(way, x, y);
        let swapped = pool.ite(way, y, x);
        assert_ne!(one, other);
        let mut alike = StructuralEquality::default();
        assert!(alike.are_equal(&mut pool, one, other));
        assert!(!alike.are_equal(&mut pool, one, swapped));
        // The same terms inside a concatenation are found equal as well.
        let [first, second] = [one, other].map(|sum| pool.concat(sum, c));
        assert!(alike.are_equal(&mut pool, first, second));
    }

    #[test]
    fn what_an_operator_is_given_besides_matters() {
        let mut pool = TermPool::new();
        let a = pool.var("a", Domain::full(32));
        let [low, high] = [0, 8].map(|lo| pool.extract(a, lo, 8));
        let [first, second] = ["first", "second"].map(|name| pool.array(name, 64));
        let index = pool.zext(a, 64);
        let [one, other] = [first, second].map(|array| pool.select(array, index));
        let mut alike = StructuralEquality::default();
        assert!(!alike.are_equal(&mut pool, low, high));
        assert!(!alike.are_equal(&mut pool, one, other));
    }
}
