//! Translates terms into Z3 expressions. Single bits become Booleans, wider terms become
//! bit-vectors. Bytes of arrays, interned pairs and opaque terms become independent unknowns; the
//! layered solver ensures their consistency. Each new unknown is constrained to its domain.

use std::collections::HashMap;

use ::z3::ast::{BV, Bool};
use ::z3::{Model, Solver};

use crate::domain::{Domain, mask};
use crate::layered::view::View;
use crate::pool::TermPool;
use crate::term::{Node, TermId};

/// A translated term.
#[derive(Clone)]
enum Expression {
    Bit(Bool),
    Bits(BV),
}

impl Expression {
    fn bits(&self) -> BV {
        match self {
            Expression::Bits(bits) => bits.clone(),
            Expression::Bit(bit) => bit.ite(&BV::from_u64(1, 1), &BV::from_u64(0, 1)),
        }
    }

    fn bit(&self) -> Bool {
        match self {
            Expression::Bit(bit) => bit.clone(),
            Expression::Bits(bits) => bits.eq(BV::from_u64(1, 1)),
        }
    }

    /// Converts a bit-vector to a Boolean if its width is 1; otherwise keeps it.
    fn of_width(bits: BV, width: u8) -> Self {
        if width == 1 {
            Expression::Bit(bits.eq(BV::from_u64(1, 1)))
        } else {
            Expression::Bits(bits)
        }
    }
}

/// A translator for the terms of one pool. Each term is translated once.
#[derive(Default)]
pub(super) struct Translator {
    done: HashMap<TermId, Expression>,
}

impl Translator {
    /// Translates a 1-bit term into a Boolean.
    pub(super) fn condition(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        term: TermId,
        solver: &Solver,
    ) -> Bool {
        self.expression(pool, view, term, solver).bit()
    }

    /// Returns the value that a Z3 model gives to a term that was translated as an unknown.
    pub(super) fn value(&self, model: &Model, leaf: TermId) -> Option<u64> {
        match self.done.get(&leaf)? {
            Expression::Bit(bit) => model.eval(bit, true)?.as_bool().map(u64::from),
            Expression::Bits(bits) => model.eval(bits, true)?.as_u64(),
        }
    }

    /// Translates a term into a bit-vector.
    pub(super) fn bits(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        term: TermId,
        solver: &Solver,
    ) -> BV {
        self.expression(pool, view, term, solver).bits()
    }

    fn expression(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        term: TermId,
        solver: &Solver,
    ) -> Expression {
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if self.done.contains_key(&top) {
                stack.pop();
                continue;
            }
            if view.is_opaque(pool, top) {
                let name = format!("o{}", top.index());
                let unknown = unknown(name, pool.domain(top), solver);
                self.done.insert(top, Expression::Bits(unknown));
                continue;
            }
            let pending = stack.len();
            stack.extend(pool.children(top).filter(|c| !self.done.contains_key(c)));
            if stack.len() == pending {
                let expression = self.node(pool, top, solver);
                self.done.insert(top, expression);
                stack.pop();
            }
        }
        self.done[&term].clone()
    }

    /// Translates a term whose operands have been translated.
    fn node(&self, pool: &TermPool, term: TermId, solver: &Solver) -> Expression {
        let width = pool.width(term);
        let size = u32::from(width);
        let bits = |t: TermId| self.done[&t].bits();
        let bit = |t: TermId| self.done[&t].bit();
        let wide = match *pool.node(term) {
            Node::Const(value) if width == 1 => {
                return Expression::Bit(Bool::from_bool(value == 1));
            }
            Node::Const(value) => BV::from_u64(value, size),
            Node::Var(var) => {
                let name = format!("v{}", var.index());
                if width == 1 {
                    return Expression::Bit(Bool::new_const(name));
                }
                unknown(name, pool.domain(term), solver)
            }
            Node::Select { .. } => unknown(format!("s{}", term.index()), pool.domain(term), solver),
            Node::Intern(..) => unknown(format!("i{}", term.index()), pool.domain(term), solver),
            Node::Not(a) if width == 1 => return Expression::Bit(bit(a).not()),
            Node::And(a, b) if width == 1 => {
                return Expression::Bit(Bool::and(&[bit(a), bit(b)]));
            }
            Node::Or(a, b) if width == 1 => return Expression::Bit(Bool::or(&[bit(a), bit(b)])),
            Node::Xor(a, b) if width == 1 => return Expression::Bit(bit(a).xor(bit(b))),
            Node::Ite(c, a, b) if width == 1 => {
                return Expression::Bit(bit(c).ite(&bit(a), &bit(b)));
            }
            Node::Eq(a, b) if pool.width(a) == 1 => return Expression::Bit(bit(a).iff(bit(b))),
            Node::Eq(a, b) => return Expression::Bit(bits(a).eq(bits(b))),
            Node::Ult(a, b) => return Expression::Bit(bits(a).bvult(bits(b))),
            Node::Slt(a, b) => return Expression::Bit(bits(a).bvslt(bits(b))),
            Node::Not(a) => bits(a).bvnot(),
            Node::Neg(a) => bits(a).bvneg(),
            Node::And(a, b) => bits(a).bvand(bits(b)),
            Node::Or(a, b) => bits(a).bvor(bits(b)),
            Node::Xor(a, b) => bits(a).bvxor(bits(b)),
            // Z3's circuit for a difference is smaller than its circuit for a sum with a negation.
            Node::Add(a, b) => match (*pool.node(a), *pool.node(b)) {
                (_, Node::Neg(y)) => bits(a).bvsub(bits(y)),
                (Node::Neg(x), _) => bits(b).bvsub(bits(x)),
                _ => bits(a).bvadd(bits(b)),
            },
            Node::Mul(a, b) => bits(a).bvmul(bits(b)),
            Node::Udiv(a, b) => bits(a).bvudiv(bits(b)),
            Node::Urem(a, b) => bits(a).bvurem(bits(b)),
            Node::Sdiv(a, b) => bits(a).bvsdiv(bits(b)),
            Node::Srem(a, b) => bits(a).bvsrem(bits(b)),
            Node::Shl(a, b) => bits(a).bvshl(bits(b)),
            Node::Lshr(a, b) => bits(a).bvlshr(bits(b)),
            Node::Ashr(a, b) => bits(a).bvashr(bits(b)),
            Node::Concat(a, b) => bits(a).concat(bits(b)),
            Node::Extract { src, lo } => bits(src).extract(u32::from(lo) + size - 1, u32::from(lo)),
            Node::Sext(a) => bits(a).sign_ext(size - u32::from(pool.width(a))),
            Node::Ite(c, a, b) => bit(c).ite(&bits(a), &bits(b)),
        };
        Expression::of_width(wide, width)
    }
}

/// Creates an unknown that is constrained to a domain.
fn unknown(name: String, domain: Domain, solver: &Solver) -> BV {
    let unknown = BV::new_const(name, u32::from(domain.width()));
    for fact in domain_facts(&unknown, domain) {
        solver.assert(fact);
    }
    unknown
}

/// Returns the constraints of an unknown's domain, except those that the width implies.
fn domain_facts(unknown: &BV, domain: Domain) -> Vec<Bool> {
    let size = u32::from(domain.width());
    let literal = |value| BV::from_u64(value, size);
    let mut facts = Vec::new();
    let known = domain.zeros() | domain.ones();
    if known != 0 {
        facts.push(unknown.bvand(literal(known)).eq(literal(domain.ones())));
    }
    let from_bits = Domain::from_bits(domain.width(), domain.zeros(), domain.ones());
    if domain.lo() > from_bits.lo() {
        facts.push(unknown.bvuge(literal(domain.lo())));
    }
    if domain.hi() < from_bits.hi().min(mask(domain.width())) {
        facts.push(unknown.bvule(literal(domain.hi())));
    }
    if domain.sign().is_none() {
        let ((lo, hi), (least, greatest)) = (domain.signed_range(), from_bits.signed_range());
        if lo > least {
            facts.push(unknown.bvsge(literal(lo as u64 & mask(domain.width()))));
        }
        if hi < greatest {
            facts.push(unknown.bvsle(literal(hi as u64)));
        }
    }
    facts
}
