//! The pool: storage, hash-consing and look-ups. What simplifies is in `simplify`; this module only
//! promises that equal nodes get equal ids and that a term with one possible value is a constant.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use slowpath_stop::Stop;

use crate::domain::{Domain, mask, transfer};
use crate::semantics::{self, Operands};
use crate::term::{Node, TermId, VarId};

/// A term as stored.
#[derive(Clone, Debug)]
struct Entry {
    node: Node,
    domain: Domain,
}

/// An unknown as stored.
#[derive(Clone, Debug)]
struct Unknown {
    name: String,
    domain: Domain,
}

/// An array as stored.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) index_width: u8,
    /// The first bytes of a table; those behind them are zero.
    pub(crate) content: Option<Vec<u8>>,
}

/// All terms of one analysis. Constructors simplify; ids are stable; nothing is ever removed.
///
/// Operands of a constructor must come from the same pool and have the widths that its
/// documentation asks for; that is a contract of the caller (checked in debug builds), not input
/// validation.
#[derive(Clone, Debug, Default)]
pub struct TermPool {
    entries: Vec<Entry>,
    ids: HashMap<(Node, u8), TermId, BuildHasherDefault<NodeHasher>>,
    unknowns: Vec<Unknown>,
    pub(crate) arrays: Vec<Array>,
    /// What constructors made of a node that is not in normal form.
    simplified: HashMap<(Node, u8), TermId, BuildHasherDefault<NodeHasher>>,
    /// Nesting of simplifying constructors; see `simplify`.
    pub(crate) depth: u32,
    /// Constructor calls left to the outermost one; see `simplify`.
    pub(crate) fuel: u32,
    /// When work on the terms has to end.
    stop: Stop,
}

impl TermPool {
    /// A pool without terms.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has all work on these terms end when `stop` says so: checks of solvers, searches for models.
    /// Terms can be made all the same.
    pub fn set_stop(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// When work on these terms has to end.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Number of distinct terms made so far, intermediate ones of simplification included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no term was made yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Width in bits, 1 to 64.
    pub fn width(&self, t: TermId) -> u8 {
        self.entries[t.index()].domain.width()
    }

    /// The operator and operands.
    pub fn node(&self, t: TermId) -> &Node {
        &self.entries[t.index()].node
    }

    /// What is known about the value without a solver.
    pub fn domain(&self, t: TermId) -> Domain {
        self.entries[t.index()].domain
    }

    /// The value of a constant.
    pub fn as_const(&self, t: TermId) -> Option<u64> {
        match *self.node(t) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The operands, in order; none for constants and variables, the index for a `Select`.
    pub fn children(&self, t: TermId) -> impl Iterator<Item = TermId> + use<> {
        self.node(t).operands().into_iter().flatten()
    }

    /// The constant `value`; bits above `width` are dropped.
    pub fn constant(&mut self, width: u8, value: u64) -> TermId {
        debug_assert!((1..=64).contains(&width), "width {width}");
        let value = value & mask(width);
        self.insert(Node::Const(value), Domain::constant(width, value))
    }

    /// The 1-bit constant of a truth value.
    pub fn bool(&mut self, value: bool) -> TermId {
        self.constant(1, u64::from(value))
    }

    /// A new unknown, different from all before whatever its name. A domain with one member still
    /// counts as an unknown in models, but the term is that constant.
    pub fn var(&mut self, name: &str, domain: Domain) -> TermId {
        let id = VarId(self.unknowns.len() as u32);
        self.unknowns.push(Unknown { name: name.to_owned(), domain });
        self.store(Node::Var(id), domain)
    }

    /// Name and domain of an unknown.
    pub fn var_info(&self, var: VarId) -> (&str, Domain) {
        let unknown = &self.unknowns[var.index()];
        (&unknown.name, unknown.domain)
    }

    /// Number of unknowns made so far; their ids are the numbers below.
    pub fn var_count(&self) -> usize {
        self.unknowns.len()
    }

    /// The stored term for a node of `width` bits, its domain computed from its operands.
    pub(crate) fn store_node(&mut self, node: Node, width: u8) -> TermId {
        let domain = self.transfer(&node, width);
        self.store(node, domain)
    }

    /// The stored term for a node that is known to lie in `domain`.
    pub(crate) fn store(&mut self, node: Node, domain: Domain) -> TermId {
        // So that nobody has to look at domains to find constants, and rules match on one form.
        match domain.as_constant() {
            Some(value) => self.constant(domain.width(), value),
            None => self.insert(node, domain),
        }
    }

    fn insert(&mut self, node: Node, domain: Domain) -> TermId {
        // Operands exist before, so ids ascend from operands to users. Who walks terms relies on
        // it.
        let next = TermId(self.entries.len() as u32);
        let id = *self.ids.entry((node, domain.width())).or_insert(next);
        if id == next {
            self.entries.push(Entry { node, domain });
        }
        id
    }

    /// What the constructors made of this node before.
    pub(crate) fn remembered(&self, node: &Node, width: u8) -> Option<TermId> {
        self.simplified.get(&(*node, width)).copied()
    }

    /// Remembers what the constructors made of a node.
    pub(crate) fn remember(&mut self, node: Node, width: u8, term: TermId) {
        self.simplified.insert((node, width), term);
    }

    /// The value of an operator whose operands are all constant.
    pub(crate) fn fold(&self, node: &Node, width: u8) -> Option<u64> {
        let mut operands = Operands { values: [0; 3], widths: [1; 3] };
        for (slot, operand) in node.operands().into_iter().flatten().enumerate() {
            operands.values[slot] = self.as_const(operand)?;
            operands.widths[slot] = self.width(operand);
        }
        semantics::apply(node, width, &operands)
    }

    /// The domain of a node by the transfer function of its operator.
    pub(crate) fn transfer(&self, node: &Node, width: u8) -> Domain {
        let d = |t: TermId| self.domain(t);
        match *node {
            Node::Const(value) => Domain::constant(width, value),
            Node::Var(var) => self.var_info(var).1,
            Node::Select { array, index } => self.select_domain(array, d(index)),
            Node::Intern(..) => Domain::full(width),
            Node::Not(a) => transfer::not(d(a)),
            Node::Neg(a) => transfer::neg(d(a)),
            Node::And(a, b) => transfer::and(d(a), d(b)),
            Node::Or(a, b) => transfer::or(d(a), d(b)),
            Node::Xor(a, b) => transfer::xor(d(a), d(b)),
            Node::Add(a, b) => transfer::add(d(a), d(b)),
            Node::Mul(a, b) => transfer::mul(d(a), d(b)),
            Node::Udiv(a, b) => transfer::udiv(d(a), d(b)),
            Node::Urem(a, b) => transfer::urem(d(a), d(b)),
            Node::Sdiv(a, b) => transfer::sdiv(d(a), d(b)),
            Node::Srem(a, b) => transfer::srem(d(a), d(b)),
            Node::Shl(a, b) => transfer::shl(d(a), d(b)),
            Node::Lshr(a, b) => transfer::lshr(d(a), d(b)),
            Node::Ashr(a, b) => transfer::ashr(d(a), d(b)),
            Node::Eq(a, b) => transfer::eq(d(a), d(b)),
            Node::Ult(a, b) => transfer::ult(d(a), d(b)),
            Node::Slt(a, b) => transfer::slt(d(a), d(b)),
            Node::Concat(a, b) => transfer::concat(d(a), d(b)),
            Node::Extract { src, lo } => transfer::extract(d(src), lo, width),
            Node::Sext(a) => transfer::sext(d(a), width),
            Node::Ite(c, t, e) => match d(c).as_constant() {
                Some(0) => d(e),
                Some(_) => d(t),
                None => d(t).join(&d(e)),
            },
        }
    }
}

/// A map for keys that are small tuples of integers made by ourselves, such as terms.
pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<NodeHasher>>;
/// A set of such keys.
pub(crate) type FastSet<K> = HashSet<K, BuildHasherDefault<NodeHasher>>;

/// Multiply-and-rotate hashing: the keys are small tuples of integers made by ourselves, so the
/// protection against chosen collisions that the standard hasher pays for buys nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeHasher(u64);

impl Hasher for NodeHasher {
    fn finish(&self) -> u64 {
        // A product mixes upwards only, and tables look at the low bits for the place.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}
