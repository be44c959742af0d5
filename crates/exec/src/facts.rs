//! What branch conditions say about terms: intervals and known bits, each with its reasons.
//!
//! Decides most contradictions without a solver, names the few conditions behind each, and yields
//! the least packet length that a path needs. Incomplete by design: "no contradiction found" says
//! nothing.

use slowpath_smt::{Node, TermId, TermPool};
use std::collections::HashMap;

/// The conditions behind a fact, by the tags their owner gave them; ascending, no duplicates.
pub type Reasons = Vec<u32>;

/// What is known about one term.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    lo: u64,
    lo_why: Reasons,
    hi: u64,
    hi_why: Reasons,
    zeros: u64,
    ones: u64,
    /// Why bits are known; bits in none of them are known from the term itself.
    bits: Vec<BitsFact>,
}

/// Bits that became known for the same reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BitsFact {
    mask: u64,
    why: Reasons,
}

impl Fact {
    /// The reasons behind the lowest of the known bits in `mask`.
    fn why_one_bit(&self, mask: u64) -> Reasons {
        let bit = mask & mask.wrapping_neg();
        let behind = self.bits.iter().find(|bits| bits.mask & bit != 0);
        behind.map(|bits| bits.why.clone()).unwrap_or_default()
    }

    /// The reasons behind all of the known bits in `mask`.
    fn why_bits(&self, mask: u64) -> Reasons {
        let behind = self.bits.iter().filter(|bits| bits.mask & mask != 0);
        behind.fold(Reasons::new(), |all, bits| union(&all, &bits.why))
    }
}

/// Facts about terms, all of which hold together.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    map: HashMap<TermId, Fact>,
}

/// Conditions that cannot hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The tags of the conditions.
    pub reasons: Reasons,
}

/// Structural depth to which a fact about a term is passed down to its parts.
const DEPTH: u32 = 6;

fn union(a: &[u32], b: &[u32]) -> Reasons {
    let mut all: Reasons = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Facts {
    /// No facts.
    pub fn new() -> Self {
        Facts::default()
    }

    /// The least value that `term` can have, with the reasons for it.
    pub fn at_least(&self, pool: &TermPool, term: TermId) -> (u64, Reasons) {
        let plain = pool.domain(term).lo();
        match self.map.get(&term) {
            Some(fact) if fact.lo > plain => (fact.lo, fact.lo_why.clone()),
            _ => (plain, Reasons::new()),
        }
    }

    /// The truth of a 1-bit term, if the facts decide it.
    pub fn decide(&self, pool: &TermPool, condition: TermId) -> Option<bool> {
        let holds = self.clone_for_test(pool, condition, true);
        let fails = self.clone_for_test(pool, condition, false);
        match (holds, fails) {
            (false, true) => Some(false),
            (true, false) => Some(true),
            _ => None,
        }
    }

    fn clone_for_test(&self, pool: &TermPool, condition: TermId, value: bool) -> bool {
        // Only the few terms that the condition touches change: work on an overlay.
        let mut overlay = Overlay { base: self, changed: HashMap::new() };
        overlay.assume(pool, condition, value, &Vec::new()).is_ok()
    }

    /// Adds the fact that the 1-bit `condition` has `value`, for the reason `tag`.
    ///
    /// # Errors
    /// The conditions, `tag` among them, that cannot hold together.
    pub fn assume(
        &mut self,
        pool: &TermPool,
        condition: TermId,
        value: bool,
        tag: Option<u32>,
    ) -> Result<(), Contradiction> {
        let why: Reasons = tag.into_iter().collect();
        let mut overlay = Overlay { base: self, changed: HashMap::new() };
        overlay.assume(pool, condition, value, &why)?;
        let changed = overlay.changed;
        self.map.extend(changed);
        Ok(())
    }

    /// The facts that hold on every one of several ways to a place, without reasons.
    pub fn join(all: &[&Facts]) -> Facts {
        let Some((first, rest)) = all.split_first() else { return Facts::new() };
        let mut map = HashMap::new();
        'terms: for (&term, fact) in &first.map {
            let mut joined = Fact {
                lo_why: Reasons::new(),
                hi_why: Reasons::new(),
                bits: Vec::new(),
                ..fact.clone()
            };
            for other in rest {
                let Some(fact) = other.map.get(&term) else { continue 'terms };
                joined.lo = joined.lo.min(fact.lo);
                joined.hi = joined.hi.max(fact.hi);
                joined.zeros &= fact.zeros;
                joined.ones &= fact.ones;
            }
            map.insert(term, joined);
        }
        Facts { map }
    }
}

/// Facts with some of them replaced.
struct Overlay<'a> {
    base: &'a Facts,
    changed: HashMap<TermId, Fact>,
}

impl Overlay<'_> {
    fn fact(&self, pool: &TermPool, term: TermId) -> Fact {
        if let Some(fact) = self.changed.get(&term).or_else(|| self.base.map.get(&term)) {
            return fact.clone();
        }
        let domain = pool.domain(term);
        Fact {
            lo: domain.lo(),
            lo_why: Reasons::new(),
            hi: domain.hi(),
            hi_why: Reasons::new(),
            zeros: domain.zeros(),
            ones: domain.ones(),
            bits: Vec::new(),
        }
    }

    fn assume(
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
            Node::Eq(a, b) => self.equality(pool, a, b, value, why)?,
            Node::Ult(a, b) if value => self.less(pool, a, b, 1, why)?,
            Node::Ult(a, b) => self.less(pool, b, a, 0, why)?,
            _ => {}
        }
        let bit = u64::from(value);
        self.constrain(pool, condition, Limit::exactly(1, bit), why, DEPTH)
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
            return self.constrain(pool, term, limit, why, DEPTH);
        }
        let fact = self.fact(pool, term);
        let mut limit = Limit::anything(pool.width(term));
        let why_here;
        if fact.lo == constant && constant < limit.hi {
            limit.lo = constant + 1;
            why_here = union(why, &fact.lo_why);
        } else if fact.hi == constant && constant > 0 {
            limit.hi = constant - 1;
            why_here = union(why, &fact.hi_why);
        } else {
            return Ok(());
        }
        self.constrain(pool, term, limit, &why_here, DEPTH)
    }

    /// `a + gap <= b`, where `gap` is 0 or 1.
    fn less(
        &mut self,
        pool: &TermPool,
        a: TermId,
        b: TermId,
        gap: u64,
        why: &Reasons,
    ) -> Result<(), Contradiction> {
        let (fact_a, fact_b) = (self.fact(pool, a), self.fact(pool, b));
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

    /// Adds a limit to a term, and what follows from it to the term's parts.
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
        if fact == old {
            return Ok(());
        }
        if fact.lo > fact.hi {
            return Err(Contradiction { reasons: union(&fact.lo_why, &fact.hi_why) });
        }
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
        self.changed.insert(term, fact);
        if depth == 0 {
            return Ok(());
        }
        self.pass_down(pool, term, limit, why, depth - 1)
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
                let bits = Limit {
                    zeros: limit.zeros << lo,
                    ones: limit.ones << lo,
                    ..Limit::anything(pool.width(src))
                };
                self.constrain(pool, src, bits, why, depth)
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
            _ => Ok(()),
        }
    }
}

/// A limit on one term.
#[derive(Clone, Copy)]
struct Limit {
    lo: u64,
    hi: u64,
    zeros: u64,
    ones: u64,
}

impl Limit {
    fn mask(width: u8) -> u64 {
        if width >= 64 { u64::MAX } else { (1 << width) - 1 }
    }

    fn anything(width: u8) -> Self {
        Limit { lo: 0, hi: Self::mask(width), zeros: 0, ones: 0 }
    }

    fn exactly(width: u8, value: u64) -> Self {
        Limit { lo: value, hi: value, zeros: !value & Self::mask(width), ones: value }
    }
}
