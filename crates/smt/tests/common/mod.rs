//! Generates random expressions and computes their values independently of the crate. Each
//! expression is a list of raw nodes (operators with the indices of their operands). Tests build
//! the nodes in a [`TermPool`], evaluate them here without code of the crate, and translate them to
//! Z3 (`z3_agreement`).

use proptest::prelude::*;
use slowpath_oracle::random_cases;
use slowpath_smt::{ArrayId, Domain, Model, Node, TermId, TermPool};

/// Random numbers from which one node of an expression is built: one selects the operator, three
/// select operands, and the last one yields a constant.
pub type Step = (u8, u16, u16, u16, u64);

/// An operator of a random expression. Operands are the indices of earlier nodes.
#[derive(Clone, Debug)]
pub enum Raw {
    Const(u8, u64),
    Var(usize),
    Select(usize),
    /// A byte of [`TABLE`] at the index that a node yields.
    Table(usize),
    Intern(usize, usize),
    Not(usize),
    Neg(usize),
    Binary(Binary, usize, usize),
    Concat(usize, usize),
    Extract(usize, u8, u8),
    Zext(usize, u8),
    Sext(usize, u8),
    Ite(usize, usize, usize),
}

#[derive(Clone, Copy, Debug)]
pub enum Binary {
    And,
    Or,
    Xor,
    Add,
    Sub,
    Mul,
    Udiv,
    Urem,
    Sdiv,
    Srem,
    Shl,
    Lshr,
    Ashr,
    Eq,
    Ult,
    Ule,
    Slt,
    Sle,
}

pub const BINARIES: [Binary; 18] = [
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Udiv,
    Binary::Urem,
    Binary::Sdiv,
    Binary::Srem,
    Binary::Shl,
    Binary::Lshr,
    Binary::Ashr,
    Binary::Eq,
    Binary::Ult,
    Binary::Ule,
    Binary::Slt,
    Binary::Sle,
];

/// Widths and kinds of operators that generated expressions may contain.
#[derive(Clone, Copy)]
pub struct Shape {
    pub widths: &'static [u8],
    pub max_width: u8,
    pub arrays: bool,
    pub products: bool,
    pub interns: bool,
}

/// Content of the array that [`Raw::Table`] reads.
pub const TABLE: [u8; 12] = [3, 3, 3, 9, 200, 1, 0, 0, 255, 9, 9, 128];

/// Returns a test configuration with `cases` cases, or with more in long test campaigns.
pub fn config(cases: u32) -> ProptestConfig {
    ProptestConfig::with_cases(random_cases(cases))
}

pub fn ones(width: u8) -> u64 {
    u64::MAX >> (64 - width)
}

/// Random expressions: raw nodes with their widths, and the domains of their unknowns.
pub struct Expressions {
    pub nodes: Vec<Raw>,
    pub widths: Vec<u8>,
    pub domains: Vec<Domain>,
}

impl Expressions {
    pub fn new(domains: &[Domain], steps: &[Step], shape: Shape) -> Self {
        let mut e =
            Expressions { nodes: Vec::new(), widths: Vec::new(), domains: domains.to_vec() };
        for (n, domain) in domains.iter().enumerate() {
            e.push(Raw::Var(n), domain.width());
        }
        for &step in steps {
            e.step(step, shape);
        }
        e
    }

    fn push(&mut self, node: Raw, width: u8) -> usize {
        self.nodes.push(node);
        self.widths.push(width);
        self.nodes.len() - 1
    }

    /// Picks an earlier node; recent nodes are more likely to be picked.
    fn pick(&self, selector: u16) -> usize {
        let n = self.nodes.len();
        if selector & 1 == 0 {
            usize::from(selector / 2) % n
        } else {
            n - 1 - usize::from(selector / 2) % n.min(5)
        }
    }

    /// Returns a node with the value of the node `t`, converted to the given width by a zero
    /// extension, sign extension or extract; `how` selects the conversion.
    fn fit(&mut self, t: usize, width: u8, how: u64) -> usize {
        let own = self.widths[t];
        if own == width {
            t
        } else if own > width {
            let lo = if how & 4 == 0 { 0 } else { (how >> 3) as u8 % (own - width + 1) };
            self.push(Raw::Extract(t, lo, width), width)
        } else if how & 3 == 3 {
            self.push(Raw::Sext(t, width), width)
        } else {
            self.push(Raw::Zext(t, width), width)
        }
    }

    fn constant(&mut self, width: u8, seed: u64) -> usize {
        let value = match seed % 8 {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => 1 << (seed / 8 % u64::from(width)),
            4 => (1 << (seed / 8 % u64::from(width))) - 1,
            5 => (seed / 8 % 64).wrapping_neg(),
            6 => seed / 8 % 64,
            _ => seed / 8,
        };
        self.push(Raw::Const(width, value & ones(width)), width)
    }

    fn step(&mut self, (op, a, b, c, k): Step, shape: Shape) {
        let (x, y, z) = (self.pick(a), self.pick(b), self.pick(c));
        let width = self.widths[x];
        match op % 32 {
            0..=17 => {
                let binary = BINARIES[usize::from(op % 32)];
                let costly = matches!(
                    binary,
                    Binary::Mul | Binary::Udiv | Binary::Urem | Binary::Sdiv | Binary::Srem
                );
                let binary = if costly && !shape.products { Binary::Add } else { binary };
                // Most rules concern constants, so constants are frequent.
                let y = match k % 5 {
                    0 | 1 => self.constant(width, k / 5),
                    _ => self.fit(y, width, k / 5),
                };
                let (x, y) = if k % 11 == 0 { (y, x) } else { (x, y) };
                let compares = matches!(
                    binary,
                    Binary::Eq | Binary::Ult | Binary::Ule | Binary::Slt | Binary::Sle
                );
                self.push(Raw::Binary(binary, x, y), if compares { 1 } else { width });
            }
            18 => {
                self.push(Raw::Not(x), width);
            }
            19 => {
                self.push(Raw::Neg(x), width);
            }
            20 | 21 if self.widths[x] + self.widths[y] <= shape.max_width => {
                self.push(Raw::Concat(x, y), self.widths[x] + self.widths[y]);
            }
            22 if shape.arrays => {
                let index = self.fit(x, 8, k);
                self.push(Raw::Select(index), 8);
            }
            24 if shape.arrays => {
                let index = self.fit(x, 8, k);
                self.push(Raw::Table(index), 8);
            }
            25 if shape.interns => self.intern(x, y, k),
            23 | 24 => {
                let condition = self.fit(z, 1, k);
                let y =
                    if k % 3 == 0 { self.constant(width, k / 3) } else { self.fit(y, width, k) };
                let x = if k % 7 == 0 { self.constant(width, k / 7) } else { x };
                self.push(Raw::Ite(condition, x, y), width);
            }
            _ => {
                let to = shape.widths[(k % shape.widths.len() as u64) as usize];
                self.fit(x, to, k / 8);
            }
        }
    }

    /// Adds a node that interns a pair: two nodes, or an earlier interned number and a node. For
    /// some `k`, also compares the new number with an earlier one.
    fn intern(&mut self, x: usize, y: usize, k: u64) {
        let earlier = self.nodes.iter().rposition(|node| matches!(node, Raw::Intern(..)));
        let first = match earlier {
            Some(number) if k.is_multiple_of(3) => number,
            _ => x,
        };
        let (first, y) = (self.fit(first, 64, k / 8), self.fit(y, 64, k / 8));
        let number = self.push(Raw::Intern(first, y), 32);
        if let Some(earlier) = earlier
            && k.is_multiple_of(2)
        {
            self.push(Raw::Binary(Binary::Eq, earlier, number), 1);
        }
    }

    /// Returns the pairs of values that the expressions intern, for the given values of all nodes.
    pub fn pairs(&self, values: &[u64]) -> Vec<(u64, u64)> {
        let pair = |node: &Raw| match *node {
            Raw::Intern(a, b) => Some((values[a], values[b])),
            _ => None,
        };
        self.nodes.iter().filter_map(pair).collect()
    }

    /// Builds all nodes in a pool through the public constructors.
    pub fn build(&self, pool: &mut TermPool) -> (Vec<TermId>, Option<ArrayId>) {
        let uses_array = self.nodes.iter().any(|n| matches!(n, Raw::Select(_)));
        let array = uses_array.then(|| pool.array("mem", 8));
        let table = pool.constant_array("table", 8, &TABLE);
        let mut terms: Vec<TermId> = Vec::new();
        for node in &self.nodes {
            let at = |n: usize| terms[n];
            let term = match *node {
                Raw::Const(width, value) => pool.constant(width, value),
                Raw::Var(n) => pool.var(&format!("x{n}"), self.domains[n]),
                Raw::Select(i) => pool.select(array.expect("made above"), at(i)),
                Raw::Table(i) => pool.select(table, at(i)),
                Raw::Intern(a, b) => pool.intern(at(a), at(b)),
                Raw::Not(a) => pool.not(at(a)),
                Raw::Neg(a) => pool.neg(at(a)),
                Raw::Binary(op, a, b) => build_binary(pool, op, at(a), at(b)),
                Raw::Concat(a, b) => pool.concat(at(a), at(b)),
                Raw::Extract(a, lo, width) => pool.extract(at(a), lo, width),
                Raw::Zext(a, width) => pool.zext(at(a), width),
                Raw::Sext(a, width) => pool.sext(at(a), width),
                Raw::Ite(c, a, b) => pool.ite(at(c), at(a), at(b)),
            };
            terms.push(term);
        }
        (terms, array)
    }

    /// Computes the value of every node from the definitions of the operators.
    pub fn values(
        &self,
        vars: &[u64],
        byte: impl Fn(u64) -> u8,
        mut number: impl FnMut((u64, u64)) -> u32,
    ) -> Vec<u64> {
        let mut values: Vec<u64> = Vec::new();
        for (node, &width) in self.nodes.iter().zip(&self.widths) {
            let at = |n: usize| values[n];
            let value = match *node {
                Raw::Const(_, value) => value,
                Raw::Var(n) => vars[n],
                Raw::Select(i) => u64::from(byte(at(i))),
                Raw::Table(i) => TABLE.get(at(i) as usize).copied().unwrap_or(0).into(),
                Raw::Intern(a, b) => number((at(a), at(b))).into(),
                Raw::Not(a) => !at(a),
                Raw::Neg(a) => 0u64.wrapping_sub(at(a)),
                Raw::Binary(op, a, b) => binary(op, at(a), at(b), self.widths[a]),
                Raw::Concat(a, b) => at(a) << self.widths[b] | at(b),
                Raw::Extract(a, lo, _) => at(a) >> lo,
                Raw::Zext(a, _) => at(a),
                Raw::Sext(a, _) => signed(at(a), self.widths[a]) as u64,
                Raw::Ite(c, a, b) => {
                    if at(c) == 1 {
                        at(a)
                    } else {
                        at(b)
                    }
                }
            };
            values.push(value & ones(width));
        }
        values
    }
}

fn build_binary(pool: &mut TermPool, op: Binary, a: TermId, b: TermId) -> TermId {
    match op {
        Binary::And => pool.and(a, b),
        Binary::Or => pool.or(a, b),
        Binary::Xor => pool.xor(a, b),
        Binary::Add => pool.add(a, b),
        Binary::Sub => pool.sub(a, b),
        Binary::Mul => pool.mul(a, b),
        Binary::Udiv => pool.udiv(a, b),
        Binary::Urem => pool.urem(a, b),
        Binary::Sdiv => pool.sdiv(a, b),
        Binary::Srem => pool.srem(a, b),
        Binary::Shl => pool.shl(a, b),
        Binary::Lshr => pool.lshr(a, b),
        Binary::Ashr => pool.ashr(a, b),
        Binary::Eq => pool.eq(a, b),
        Binary::Ult => pool.ult(a, b),
        Binary::Ule => pool.ule(a, b),
        Binary::Slt => pool.slt(a, b),
        Binary::Sle => pool.sle(a, b),
    }
}

fn signed(value: u64, width: u8) -> i128 {
    let value = i128::from(value);
    if value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value }
}

fn binary(op: Binary, a: u64, b: u64, width: u8) -> u64 {
    let (sa, sb) = (signed(a, width), signed(b, width));
    let (wa, wb) = (u128::from(a), u128::from(b));
    match op {
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Add => (wa + wb) as u64,
        Binary::Sub => (wa + (1 << 64) - wb) as u64,
        Binary::Mul => (wa * wb) as u64,
        Binary::Udiv => a.checked_div(b).unwrap_or(u64::MAX),
        Binary::Urem => a.checked_rem(b).unwrap_or(a),
        Binary::Sdiv if sb == 0 => {
            if sa < 0 {
                1
            } else {
                u64::MAX
            }
        }
        Binary::Sdiv => (sa / sb) as u64,
        Binary::Srem => {
            if sb == 0 {
                a
            } else {
                (sa % sb) as u64
            }
        }
        Binary::Shl => {
            if b >= u64::from(width) {
                0
            } else {
                a << b
            }
        }
        Binary::Lshr => {
            if b >= u64::from(width) {
                0
            } else {
                a >> b
            }
        }
        Binary::Ashr => (sa >> b.min(127)) as u64,
        Binary::Eq => u64::from(a == b),
        Binary::Ult => u64::from(a < b),
        Binary::Ule => u64::from(a <= b),
        Binary::Slt => u64::from(sa < sb),
        Binary::Sle => u64::from(sa <= sb),
    }
}

/// Generates a domain: full, an interval, known bits, or an interval with known bits.
pub fn domain(width: u8) -> impl Strategy<Value = Domain> {
    (0u8..5, any::<u64>(), any::<u64>(), any::<u64>()).prop_map(move |(kind, a, b, c)| {
        let m = ones(width);
        let (a, b) = (a & m, b & m);
        let interval = Domain::range(width, a.min(b), a.max(b));
        let small = Domain::range(width, (a % 64) & m, (a % 64 + b % 2048).min(m));
        let bits = Domain::from_bits(width, a & !b & c, a & b & c);
        match kind {
            0 => Domain::full(width),
            1 => interval,
            2 => small,
            3 => bits,
            _ => interval.meet(&bits).unwrap_or(interval),
        }
    })
}

/// Returns a member of a domain, selected by `seed`.
pub fn member(domain: Domain, seed: u64) -> u64 {
    let (lo, hi) = (domain.lo(), domain.hi());
    let value = match seed % 8 {
        0 => lo,
        1 => hi,
        2 => lo.saturating_add(seed / 8 % 4).min(hi),
        _ => lo + (seed / 8) % (hi - lo).saturating_add(1),
    };
    let fixed = (value & !domain.zeros()) | domain.ones();
    if domain.contains(fixed) { fixed } else { lo }
}

/// Generates the steps of a random expression.
pub fn steps(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(any::<Step>(), count)
}

/// Returns a model for a pool built by [`Expressions::build`]. `byte` returns the byte of the array
/// at an index.
pub fn model(
    pool: &TermPool,
    terms: &[TermId],
    vars: &[u64],
    array: Option<ArrayId>,
    byte: impl Fn(u64) -> u8,
) -> Model {
    let mut model = Model::new();
    for (&term, &value) in terms.iter().zip(vars) {
        if let Node::Var(var) = *pool.node(term) {
            model.set_var(var, value);
        }
    }
    if let Some(array) = array {
        for index in 0..256 {
            model.set_byte(array, index, byte(index));
        }
    }
    model
}
