//! Adds a condition to a set of facts, and draws conclusions for the terms in the condition and
//! their operands.

use super::fact::{BitsFact, Contradiction, Fact, Implication, Limit, Reasons, union};
use super::interval::overflows;
use super::overlay::Overlay;
use slowpath_smt::{Domain, Node, TermId, TermPool};

/// Maximum nesting of operators through which a fact about a term is passed to its parts.
const DEPTH: u32 = 6;

/// Maximum number of implications to record for one condition; more implications are dropped.
const MAX_IMPLICATIONS: usize = 128;

impl Overlay<'_> {
    pub fn assume(
        &mut self,
        pool: &TermPool,
        condition: TermId,
        value: bool,
        why: &Reasons,
    ) -> Result<(), Contradiction> {
        if let Some(constant) = pool.as_const(condition) {
            let holds = (constant != 0) == value;
            return if holds { Ok(()) } else { Err(Contradiction { reasons: why.clone() }) };
        }
        match *pool.node(condition) {
            Node::Not(inner) => return self.assume(pool, inner, !value, why),
            Node::And(a, b) if value => {
                self.assume(pool, a, true, why)?;
                self.assume(pool, b, true, why)?;
            }
            Node::Or(a, b) if !value => {
                self.assume(pool, a, false, why)?;
                self.assume(pool, b, false, why)?;
            }
            Node::And(a, b) => self.one_of(pool, (a, false), (b, false), why)?,
            Node::Or(a, b) => self.one_of(pool, (a, true), (b, true), why)?,
            Node::Eq(a, b) => self.equality(pool, a, b, value, why)?,
            Node::Ult(a, b) if value => self.less(pool, a, b, 1, why)?,
            Node::Ult(a, b) => self.less(pool, b, a, 0, why)?,
            _ => {}
        }
        // Record the value of the condition itself, for other uses of the same term.
        let before = self.fact(pool, condition);
        self.constrain(pool, condition, Limit::exactly(1, u64::from(value)), why, DEPTH)?;
        if before.lo == before.hi {
            return Ok(());
        }
        let known = self.fact(pool, condition);
        for implied in known.implies.iter().filter(|implied| implied.when == value) {
            self.assume(pool, implied.then, implied.value, &union(why, &implied.why))?;
        }
        Ok(())
    }

    /// Adds the fact that at least one of two conditions holds. If the facts refute one condition,
    /// the other must hold. If they refute neither, records implications, which apply as soon as
    /// one condition is refuted.
    fn one_of(
        &mut self,
        pool: &TermPool,
        a: (TermId, bool),
        b: (TermId, bool),
        why: &Reasons,
    ) -> Result<(), Contradiction> {
        for ((first, holds), (then, value)) in [(a, b), (b, a)] {
            // Facts are stored for conditions without a leading negation.
            let (first, holds) = match *pool.node(first) {
                Node::Not(inner) => (inner, !holds),
                _ => (first, holds),
            };
            let mut fact = self.fact(pool, first);
            if fact.lo == fact.hi {
                if (fact.lo != 0) != holds {
                    let why = union(why, &union(&fact.lo_why, &fact.hi_why));
                    self.assume(pool, then, value, &why)?;
                }
                return Ok(());
            }
            if fact.implies.len() < MAX_IMPLICATIONS {
                fact.implies.push(Implication { when: !holds, then, value, why: why.clone() });
                self.changed.insert(first, fact);
            }
        }
        Ok(())
    }

    fn equality(
        &mut self,
        pool: &TermPool,
        a: TermId,
        b: TermId,
        value: bool,
        why: &Reasons,
    ) -> Result<(), Contradiction> {
        let constant = pool.as_const(b).map(|c| (a, c)).or(pool.as_const(a).map(|c| (b, c)));
        let Some((term, constant)) = constant else { return Ok(()) };
        if value {
            let limit = Limit::exactly(pool.width(term), constant);
            self.constrain(pool, term, limit, why, DEPTH)?;
            // Bounds of the term's parts also bound the term.
            let possible = self.interval(pool, term);
            if constant < possible.lo {
                return Err(Contradiction { reasons: union(why, &possible.lo_why) });
            }
            if constant > possible.hi {
                return Err(Contradiction { reasons: union(why, &possible.hi_why) });
            }
            return Ok(());
        }
        let mut fact = self.fact(pool, term);
        let possible = self.interval(pool, term);
        let width = pool.width(term);
        let allowed = |lo, hi| Domain::reduced(width, fact.zeros, fact.ones, lo, hi);
        let Some(ends) = allowed(possible.lo, possible.hi) else { return Ok(()) };
        let rising = constant == ends.lo();
        if !rising && constant != ends.hi() {
            if ends.lo() < constant && constant < ends.hi() && fact.hole(constant).is_none() {
                fact.exclude(constant, why);
                self.changed.insert(term, fact);
                return self.check_not_empty(pool, term);
            }
            return Ok(());
        }
        // Skip values that the known bits exclude: a counter in steps of eight skips seven values.
        let left = if rising {
            constant.checked_add(1).and_then(|lo| allowed(lo, possible.hi))
        } else {
            constant.checked_sub(1).and_then(|hi| allowed(possible.lo, hi))
        };
        let bits = || fact.why_bits(fact.zeros | fact.ones);
        let Some(left) = left else {
            let interval = union(&possible.lo_why, &possible.hi_why);
            return Err(Contradiction { reasons: union(why, &union(&interval, &bits())) });
        };
        let mut limit = Limit::anything(width);
        let (end_why, skips) = if rising {
            limit.lo = left.lo();
            (&possible.lo_why, left.lo() - constant > 1)
        } else {
            limit.hi = left.hi();
            (&possible.hi_why, constant - left.hi() > 1)
        };
        let mut why_here = union(why, end_why);
        if skips || constant != if rising { possible.lo } else { possible.hi } {
            why_here = union(&why_here, &bits());
        }
        self.constrain(pool, term, limit, &why_here, DEPTH)?;
        self.check_not_empty(pool, term)
    }

    /// Adds the fact that `a + gap <= b` (unsigned), where `gap` is 0 or 1. `why` contains the tags
    /// of the conditions from which the fact follows.
    fn less(
        &mut self,
        pool: &TermPool,
        a: TermId,
        b: TermId,
        gap: u64,
        why: &Reasons,
    ) -> Result<(), Contradiction> {
        let (fact_a, fact_b) = (self.interval(pool, a), self.interval(pool, b));
        let impossible =
            || Contradiction { reasons: union(why, &union(&fact_a.lo_why, &fact_b.hi_why)) };
        let hi = fact_b.hi.checked_sub(gap).ok_or_else(impossible)?;
        let lo = fact_a.lo.checked_add(gap).ok_or_else(impossible)?;
        if pool.as_const(a).is_none() {
            let limit = Limit { hi, ..Limit::anything(pool.width(a)) };
            self.constrain(pool, a, limit, &union(why, &fact_b.hi_why), DEPTH)?;
        }
        if pool.as_const(b).is_none() {
            let limit = Limit { lo, ..Limit::anything(pool.width(b)) };
            self.constrain(pool, b, limit, &union(why, &fact_a.lo_why), DEPTH)?;
        }
        Ok(())
    }

    /// Restricts the values of a term to `limit`, and draws conclusions for the operands of the
    /// term.
    fn constrain(
        &mut self,
        pool: &TermPool,
        term: TermId,
        limit: Limit,
        why: &Reasons,
        depth: u32,
    ) -> Result<(), Contradiction> {
        let mut fact = self.fact(pool, term);
        let old = fact.clone();
        if limit.lo > fact.lo {
            (fact.lo, fact.lo_why) = (limit.lo, why.clone());
        }
        if limit.hi < fact.hi {
            (fact.hi, fact.hi_why) = (limit.hi, why.clone());
        }
        let against = (limit.zeros & fact.ones) | (limit.ones & fact.zeros);
        if against != 0 {
            return Err(Contradiction { reasons: union(&fact.why_one_bit(against), why) });
        }
        let new = (limit.zeros & !fact.zeros) | (limit.ones & !fact.ones);
        if new != 0 {
            fact.zeros |= limit.zeros;
            fact.ones |= limit.ones;
            fact.bits.push(BitsFact { mask: new, why: why.clone() });
        }
        // If the term does not change, its parts do not change either.
        if fact == old {
            return Ok(());
        }
        if fact.lo > fact.hi {
            return Err(Contradiction { reasons: union(&fact.lo_why, &fact.hi_why) });
        }
        // Bits and interval are compared, but neither tightens the other, because each keeps
        // separate reasons.
        let most = !fact.zeros & Limit::mask(pool.width(term));
        if fact.ones > fact.hi {
            return Err(Contradiction { reasons: union(&fact.hi_why, &fact.why_bits(fact.ones)) });
        }
        if most < fact.lo {
            return Err(Contradiction { reasons: union(&fact.lo_why, &fact.why_bits(fact.zeros)) });
        }
        let wrong = (fact.lo & fact.zeros) | (!fact.lo & fact.ones);
        if fact.lo == fact.hi && wrong != 0 {
            let interval = union(&fact.lo_why, &fact.hi_why);
            return Err(Contradiction { reasons: union(&interval, &fact.why_one_bit(wrong)) });
        }
        let beyond = beyond_holes(&fact);
        self.changed.insert(term, fact);
        if depth > 0 {
            self.pass_down(pool, term, limit, why, depth - 1)?;
        }
        match beyond {
            None => Ok(()),
            Some((lo, hi, why)) => {
                let limit = Limit { lo, hi, ..Limit::anything(pool.width(term)) };
                self.constrain(pool, term, limit, &why, depth)
            }
        }
    }

    fn pass_down(
        &mut self,
        pool: &TermPool,
        term: TermId,
        limit: Limit,
        why: &Reasons,
        depth: u32,
    ) -> Result<(), Contradiction> {
        match *pool.node(term) {
            Node::Not(inner) => {
                let bits = Limit {
                    zeros: limit.ones,
                    ones: limit.zeros,
                    ..Limit::anything(pool.width(inner))
                };
                self.constrain(pool, inner, bits, why, depth)
            }
            Node::Concat(high, low) => {
                let shift = pool.width(low);
                let part = |width: u8, by: u8| {
                    let bits = |b: u64| (b >> by) & Limit::mask(width);
                    Limit {
                        zeros: bits(limit.zeros),
                        ones: bits(limit.ones),
                        ..Limit::anything(width)
                    }
                };
                let mut high_limit = part(pool.width(high), shift);
                high_limit.lo = limit.lo >> shift;
                high_limit.hi = limit.hi >> shift;
                let mut low_limit = part(shift, 0);
                let top = match pool.as_const(high) {
                    Some(top) => Some(top),
                    None => (high_limit.lo == high_limit.hi).then_some(high_limit.lo),
                };
                // Bounds of the whole term bound the low part only if the high part is equal at
                // both ends.
                if let Some(top) = top {
                    let from = top << shift;
                    low_limit.lo = limit.lo.saturating_sub(from).min(low_limit.hi);
                    low_limit.hi = limit.hi.saturating_sub(from).min(low_limit.hi);
                }
                if pool.as_const(high).is_none() {
                    self.constrain(pool, high, high_limit, why, depth)?;
                }
                if pool.as_const(low).is_none() {
                    self.constrain(pool, low, low_limit, why, depth)?;
                }
                Ok(())
            }
            Node::Extract { src, lo } => {
                let mut whole = Limit {
                    zeros: limit.zeros << lo,
                    ones: limit.ones << lo,
                    ..Limit::anything(pool.width(src))
                };
                let above = u32::from(lo + pool.width(term));
                if pool.domain(src).hi().checked_shr(above).unwrap_or(0) == 0 {
                    whole.lo = limit.lo << lo;
                    whole.hi = (limit.hi << lo) | Limit::mask(lo);
                }
                self.constrain(pool, src, whole, why, depth)
            }
            Node::Xor(a, b) => {
                let Some(constant) = pool.as_const(b) else { return Ok(()) };
                let bits = Limit {
                    zeros: (limit.zeros & !constant) | (limit.ones & constant),
                    ones: (limit.ones & !constant) | (limit.zeros & constant),
                    ..Limit::anything(pool.width(a))
                };
                self.constrain(pool, a, bits, why, depth)
            }
            Node::Add(a, b) => self.pass_to_summands(pool, (a, b), limit, why, depth),
            _ => Ok(()),
        }
    }

    /// Restricts the summands `a` and `b` of a sum that cannot overflow, given a restriction of the
    /// sum. For the maximum nesting, a sum of sums is a single level.
    fn pass_to_summands(
        &mut self,
        pool: &TermPool,
        (mut a, mut b): (TermId, TermId),
        mut limit: Limit,
        why: &Reasons,
        depth: u32,
    ) -> Result<(), Contradiction> {
        let mut why = why.clone();
        loop {
            if overflows(pool, a, b) {
                return Ok(());
            }
            let (fact_a, fact_b) = (self.fact(pool, a), self.fact(pool, b));
            let (part_a, why_a) = rest(limit, &fact_b, &why);
            let (part_b, why_b) = rest(limit, &fact_a, &why);
            if pool.as_const(b).is_none() {
                self.constrain(pool, b, part_b, &why_b, depth)?;
            }
            let &Node::Add(inner_a, inner_b) = pool.node(a) else {
                return self.constrain(pool, a, part_a, &why_a, depth);
            };
            // If the partial sum does not change, its summands do not change either.
            if part_a.lo <= fact_a.lo && part_a.hi >= fact_a.hi {
                return Ok(());
            }
            self.constrain(pool, a, part_a, &why_a, 0)?;
            (a, b, limit, why) = (inner_a, inner_b, part_a, why_a);
        }
    }
}

/// Moves each end of an interval inwards, past values that the fact excludes. Returns the new ends,
/// and the tags of all conditions involved. Returns `None` if neither end is excluded.
fn beyond_holes(fact: &Fact) -> Option<(u64, u64, Reasons)> {
    let (mut lo, mut hi) = (fact.lo, fact.hi);
    let mut why = union(&fact.lo_why, &fact.hi_why);
    while let Some(hole) = fact.hole(lo) {
        (lo, why) = (lo + 1, union(&why, hole));
    }
    while let Some(hole) = fact.hole(hi).filter(|_| hi > lo) {
        (hi, why) = (hi - 1, union(&why, hole));
    }
    ((lo, hi) != (fact.lo, fact.hi)).then_some((lo, hi, why))
}

/// Computes the restriction of one summand from the restriction `limit` of the sum and the fact
/// about the other summand. Also returns the tags of the conditions from which the result follows.
fn rest(limit: Limit, other: &Fact, why: &Reasons) -> (Limit, Reasons) {
    let lo = limit.lo.saturating_sub(other.hi);
    let hi = limit.hi.saturating_sub(other.lo);
    let mut why = union(why, &other.lo_why);
    if lo > 0 {
        why = union(&why, &other.hi_why);
    }
    (Limit { lo, hi, zeros: 0, ones: 0 }, why)
}
