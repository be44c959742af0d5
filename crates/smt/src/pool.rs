//! The term pool creates and stores terms. Terms with equal operators and operands get equal ids. A
//! term with only one possible value becomes a constant. All other simplification is in `simplify`.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use slowpath_stop::Stop;

use crate::domain::{Domain, mask, transfer};
use crate::semantics::{self, Operands};
use crate::term::{Node, TermId, VarId};

/// The operator of a term, and the set of its possible values.
#[derive(Clone, Debug)]
struct Entry {
    node: Node,
    domain: Domain,
}

/// The name of an unknown, and the set of its possible values.
#[derive(Clone, Debug)]
struct Unknown {
    name: String,
    domain: Domain,
}

/// The name of an array, the width of its indices in bits, and its content.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) index_width: u8,
    /// Content from index zero on, followed by zeros; `None` if the content is unconstrained.
    pub(crate) content: Option<Vec<u8>>,
}

/// A pool: all terms of one analysis. Its constructors simplify terms. Ids are stable, and terms
/// are never removed.
///
/// Operands of a constructor must come from this pool and have the widths that the constructor's
/// documentation requires. The caller ensures this; only debug builds check it.
#[derive(Clone, Debug, Default)]
pub struct TermPool {
    entries: Vec<Entry>,
    ids: HashMap<(Node, u8), TermId, BuildHasherDefault<NodeHasher>>,
    unknowns: Vec<Unknown>,
    pub(crate) arrays: Vec<Array>,
    /// Cache of simplifications: for an operator with its operands and the width of the result, the
    /// simplified term.
    simplified: HashMap<(Node, u8), TermId, BuildHasherDefault<NodeHasher>>,
    /// Current nesting depth of simplifying constructors; see `simplify`.
    pub(crate) depth: u32,
    /// Number of constructor calls that are still allowed within the outermost call; see
    /// `simplify`.
    pub(crate) fuel: u32,
    /// Stop condition, which ends solver checks and searches for models early.
    stop: Stop,
}

impl TermPool {
    /// Creates an empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the stop condition. When it holds, solver checks and searches for models on the pool's
    /// terms end early. Terms can still be created.
    pub fn set_stop(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// Returns the condition that ends solver checks and searches for models early.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the number of distinct terms created so far, including intermediate results of
    /// simplification.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the pool contains no term yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the width of a term in bits, 1 to 64.
    #[inline]
    pub fn width(&self, t: TermId) -> u8 {
        self.entries[t.index()].domain.width()
    }

    /// Returns the operator of a term with its operands.
    #[inline]
    pub fn node(&self, t: TermId) -> &Node {
        &self.entries[t.index()].node
    }

    /// Returns a set that contains all values that the term can have. No solver is used.
    #[inline]
    pub fn domain(&self, t: TermId) -> Domain {
        self.entries[t.index()].domain
    }

    /// Returns the value of a constant term, or `None` if the term is not constant.
    pub fn as_const(&self, t: TermId) -> Option<u64> {
        match *self.node(t) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the operands of a term in order: none for constants and variables, the index for a
    /// `Select`.
    #[inline]
    pub fn children(&self, t: TermId) -> impl Iterator<Item = TermId> + use<> {
        self.node(t).operands().into_iter().flatten()
    }

    /// Returns the constant `value`; bits above `width` are dropped.
    pub fn constant(&mut self, width: u8, value: u64) -> TermId {
        debug_assert!((1..=64).contains(&width), "width {width}");
        let value = value & mask(width);
        self.insert(Node::Const(value), Domain::constant(width, value))
    }

    /// Returns the 1-bit constant for a truth value.
    pub fn bool(&mut self, value: bool) -> TermId {
        self.constant(1, u64::from(value))
    }

    /// Creates an unknown (free variable) with a value in `domain`. It differs from all earlier
    /// unknowns, even from unknowns with the same name. If `domain` has a single member, returns
    /// this value as a constant, but models still assign a value to the unknown.
    pub fn var(&mut self, name: &str, domain: Domain) -> TermId {
        let id = VarId(self.unknowns.len() as u32);
        self.unknowns.push(Unknown { name: name.to_owned(), domain });
        self.store(Node::Var(id), domain)
    }

    /// Returns name and domain of an unknown.
    pub fn var_info(&self, var: VarId) -> (&str, Domain) {
        let unknown = &self.unknowns[var.index()];
        (&unknown.name, unknown.domain)
    }

    /// Returns the number of unknowns; their ids are consecutive from zero.
    pub fn var_count(&self) -> usize {
        self.unknowns.len()
    }

    /// Stores a node of `width` bits, with a domain computed from its operands.
    pub(crate) fn store_node(&mut self, node: Node, width: u8) -> TermId {
        let domain = self.transfer(&node, width);
        self.store(node, domain)
    }

    /// Stores a node whose value is known to be in `domain`.
    pub(crate) fn store(&mut self, node: Node, domain: Domain) -> TermId {
        // Simplification rules match only on `Const`, so each term with one possible value is
        // stored as `Const`.
        match domain.as_constant() {
            Some(value) => self.constant(domain.width(), value),
            None => self.insert(node, domain),
        }
    }

    fn insert(&mut self, node: Node, domain: Domain) -> TermId {
        // Operands are created first, so their ids are smaller than the ids of their users.
        // Traversals rely on this order.
        let next = TermId(self.entries.len() as u32);
        let id = *self.ids.entry((node, domain.width())).or_insert(next);
        if id == next {
            self.entries.push(Entry { node, domain });
        }
        id
    }

    /// Returns the term to which this node was simplified before, or `None` if it is not cached.
    pub(crate) fn cached_simplification(&self, node: &Node, width: u8) -> Option<TermId> {
        self.simplified.get(&(*node, width)).copied()
    }

    /// Caches the term to which the constructors have simplified this node.
    pub(crate) fn cache_simplification(&mut self, node: Node, width: u8, term: TermId) {
        self.simplified.insert((node, width), term);
    }

    /// Computes the value of an operator. Returns `None` unless all operands are constant.
    pub(crate) fn fold(&self, node: &Node, width: u8) -> Option<u64> {
        let mut operands = Operands { values: [0; 3], widths: [1; 3] };
        for (slot, operand) in node.operands().into_iter().flatten().enumerate() {
            operands.values[slot] = self.as_const(operand)?;
            operands.widths[slot] = self.width(operand);
        }
        semantics::apply(node, width, &operands)
    }

    /// Computes the possible values of a node from the possible values of its operands.
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

/// A hash map with a fast hasher, for keys that are terms or small tuples of internal numbers,
/// never untrusted data.
pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<NodeHasher>>;
/// A hash set with a fast hasher, for terms or small tuples of internal numbers, never untrusted
/// data.
pub(crate) type FastSet<K> = HashSet<K, BuildHasherDefault<NodeHasher>>;

/// A fast hasher that multiplies and rotates. Its keys are small tuples of internal numbers, never
/// untrusted data, so it needs no protection against chosen collisions.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeHasher(u64);

impl Hasher for NodeHasher {
    fn finish(&self) -> u64 {
        // Multiplication moves entropy only to higher bits, but hash tables use the low bits as an
        // index.
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
