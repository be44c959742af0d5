//! Translates terms into Boolean literals, one for each bit, lowest bit first. Each term is
//! translated once. Terms that the SAT solver treats as unknowns get new variables. If a bit is the
//! same for all possible values of a term (its domain), the bit becomes a constant.

use slowpath_stop::{Reason, Stop, Ticker};

use super::circuits::not;
use super::gates::Gates;
use crate::domain::{Domain, mask};
use crate::layered::view::View;
use crate::pool::TermPool;
use crate::sat::{Hook, Lit};
use crate::term::{Node, TermId};

/// Number of terms translated between two polls of the stop condition. One circuit can take a
/// millisecond.
const NODES: u32 = 8;
/// Entry of `places` for a term that has not been translated yet.
const ABSENT: u32 = u32::MAX;

/// A translator that represents the terms of one pool by literals, one for each bit.
#[derive(Debug)]
pub(super) struct Blaster {
    pub(super) gates: Gates,
    /// Index in `bits` of each term's first bit.
    places: Vec<u32>,
    widths: Vec<u8>,
    bits: Vec<Lit>,
    ticker: Ticker,
}

impl Blaster {
    pub(super) fn new(hook: Hook) -> Self {
        Blaster {
            gates: Gates::new(hook),
            places: Vec::new(),
            widths: Vec::new(),
            bits: Vec::new(),
            ticker: Ticker::new(NODES),
        }
    }

    /// Returns the literals for the bits of a term, or `None` if the term has not been translated.
    pub(super) fn known(&self, term: TermId) -> Option<&[Lit]> {
        let place = self.places.get(term.index()).copied().filter(|&place| place != ABSENT)?;
        let width = usize::from(self.widths[term.index()]);
        self.bits.get(place as usize..place as usize + width)
    }

    /// Translates a term and returns the literals for its bits.
    pub(super) fn bits(&mut self, pool: &TermPool, view: &mut View, term: TermId) -> Vec<Lit> {
        self.bits_unless(pool, view, term, &Stop::never()).unwrap_or_default()
    }

    /// Translates a term and returns the literals for its bits. Fails when the stop condition
    /// `stop` holds; translations of subterms that are finished by then are kept.
    pub(super) fn bits_unless(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        term: TermId,
        stop: &Stop,
    ) -> Result<Vec<Lit>, Reason> {
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if self.known(top).is_some() {
                stack.pop();
                continue;
            }
            let opaque = view.is_opaque(pool, top);
            let pending = stack.len();
            if !opaque {
                let children = operands(pool, top).into_iter().flatten();
                stack.extend(children.filter(|&child| self.known(child).is_none()));
            }
            if stack.len() == pending {
                self.ticker.tick(stop)?;
                let bits =
                    if opaque { self.unknown(pool.domain(top)) } else { self.node(pool, top) };
                self.remember(top, &bits);
                stack.pop();
            }
        }
        Ok(self.operand(term))
    }

    fn remember(&mut self, term: TermId, bits: &[Lit]) {
        if self.places.len() <= term.index() {
            self.places.resize(term.index() + 1, ABSENT);
            self.widths.resize(term.index() + 1, 0);
        }
        self.places[term.index()] = self.bits.len() as u32;
        self.widths[term.index()] = bits.len() as u8;
        self.bits.extend(bits);
    }

    fn operand(&self, term: TermId) -> Vec<Lit> {
        self.known(term).map(<[Lit]>::to_vec).unwrap_or_default()
    }

    /// Translates a term whose operands have been translated.
    fn node(&mut self, pool: &TermPool, term: TermId) -> Vec<Lit> {
        let domain = pool.domain(term);
        let width = usize::from(domain.width());
        let node = *pool.node(term);
        let [a, b, c] =
            operands(pool, term).map(|t| t.map(|t| self.operand(t)).unwrap_or_default());
        let gates = &mut self.gates;
        let no = gates.constant(false);
        let mut bits = match node {
            Node::Const(value) => gates.number(width, value),
            Node::Var(_) | Node::Select { .. } | Node::Intern(..) => return self.unknown(domain),
            Node::Not(_) => not(&a),
            Node::Neg(_) => gates.negate(&a),
            Node::And(..) => gates.each(&a, &b, Gates::and),
            Node::Or(..) => gates.each(&a, &b, Gates::or),
            Node::Xor(..) => gates.each(&a, &b, Gates::xor),
            Node::Add(x, y) => match (pool.node(x), pool.node(y)) {
                (_, Node::Neg(_)) => gates.subtract(&a, &b).0,
                (Node::Neg(_), _) => gates.subtract(&b, &a).0,
                _ => gates.add(&a, &b, no).0,
            },
            Node::Mul(..) => gates.multiply(&a, &b),
            Node::Udiv(..) => gates.divide(&a, &b).0,
            Node::Urem(..) => gates.divide(&a, &b).1,
            Node::Sdiv(..) => gates.divide_signed(&a, &b).0,
            Node::Srem(..) => gates.divide_signed(&a, &b).1,
            Node::Shl(..) => gates.shift_left(&a, &b),
            Node::Lshr(..) => gates.shift_right(&a, &b, no),
            Node::Ashr(..) => {
                let sign = a.last().copied().unwrap_or(no);
                gates.shift_right(&a, &b, sign)
            }
            Node::Eq(..) => vec![gates.equal(&a, &b)],
            Node::Ult(..) => vec![gates.below(&a, &b)],
            Node::Slt(..) => vec![gates.below_signed(&a, &b)],
            Node::Concat(..) => [b, a].concat(),
            Node::Extract { lo, .. } => a.into_iter().skip(usize::from(lo)).take(width).collect(),
            Node::Sext(_) => {
                let sign = a.last().copied().unwrap_or(no);
                let mut bits = a;
                bits.resize(width, sign);
                bits
            }
            Node::Ite(..) => {
                let condition = a.first().copied().unwrap_or(no);
                gates.choose(condition, &b, &c)
            }
        };
        self.fix(&mut bits, domain);
        bits
    }

    /// Replaces each bit by a constant if it is the same for all values in the domain.
    fn fix(&self, bits: &mut [Lit], domain: Domain) {
        for (place, bit) in bits.iter_mut().enumerate() {
            if domain.zeros() >> place & 1 == 1 {
                *bit = self.gates.constant(false);
            } else if domain.ones() >> place & 1 == 1 {
                *bit = self.gates.constant(true);
            }
        }
    }

    /// Creates new literals for an unknown that can have any value in a domain.
    fn unknown(&mut self, domain: Domain) -> Vec<Lit> {
        let width = domain.width();
        let mut bits = self.gates.number(usize::from(width), domain.ones());
        // Older inputs are decided first, and with the value false. So creating high bits first
        // favours small values.
        for (place, bit) in bits.iter_mut().enumerate().rev() {
            if domain.unknown_bits() >> place & 1 == 1 {
                *bit = self.gates.input();
            }
        }
        // The bounds of the interval are added only where the known bits do not imply them.
        let plain = Domain::from_bits(width, domain.zeros(), domain.ones());
        if domain.lo() > plain.lo() {
            let below = self.below_number(&bits, domain.lo(), false);
            self.gates.sat.clause(&[!below]);
        }
        if domain.hi() < plain.hi().min(mask(width)) {
            let above = self.above_number(&bits, domain.hi(), false);
            self.gates.sat.clause(&[!above]);
        }
        if domain.sign().is_none() {
            let ((lo, hi), (least, most)) = (domain.signed_range(), plain.signed_range());
            if lo > least {
                let below = self.below_number(&bits, lo as u64 & mask(width), true);
                self.gates.sat.clause(&[!below]);
            }
            if hi < most {
                let above = self.above_number(&bits, hi as u64 & mask(width), true);
                self.gates.sat.clause(&[!above]);
            }
        }
        bits
    }

    /// Returns a literal that is true if the number `bits` lies outside `first..=last`.
    pub(super) fn outside(&mut self, bits: &[Lit], first: u64, last: u64) -> Lit {
        let width = bits.len() as u8;
        if first == last {
            let number = self.gates.number(bits.len(), first);
            return !self.gates.equal(bits, &number);
        }
        let below = self.below_number(bits, first & mask(width), false);
        let above = self.above_number(bits, last & mask(width), false);
        self.gates.or(below, above)
    }

    fn below_number(&mut self, bits: &[Lit], limit: u64, signed: bool) -> Lit {
        let limit = self.gates.number(bits.len(), limit);
        if signed { self.gates.below_signed(bits, &limit) } else { self.gates.below(bits, &limit) }
    }

    fn above_number(&mut self, bits: &[Lit], limit: u64, signed: bool) -> Lit {
        let limit = self.gates.number(bits.len(), limit);
        if signed { self.gates.below_signed(&limit, bits) } else { self.gates.below(&limit, bits) }
    }
}

/// Returns the terms from which a term's circuit is built, usually its operands. A difference is
/// stored as the sum of `x` and a negation of `y`. Its circuit is built from `x` and `y`, because a
/// single subtractor suffices.
fn operands(pool: &TermPool, term: TermId) -> [Option<TermId>; 3] {
    let node = pool.node(term);
    let Node::Add(x, y) = *node else { return node.operands() };
    match (*pool.node(x), *pool.node(y)) {
        (_, Node::Neg(y)) => [Some(x), Some(y), None],
        (Node::Neg(x), _) => [Some(x), Some(y), None],
        _ => [Some(x), Some(y), None],
    }
}
