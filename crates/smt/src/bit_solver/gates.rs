//! Creates logic gates over Boolean variables. Equal gates are created only once, and constants are
//! folded. The clauses of a gate make its output equal to the gate's function of its operands
//! (Tseitin 1968). So an output can be assumed to be true or to be false.

use crate::pool::FastMap;
use crate::sat::{Hook, Lit, Sat};

/// The definition of a Boolean variable: an input, or a gate with its operands. Operands are in a
/// normal form, so that equal gates have equal definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Gate {
    /// An input: a variable that no gate computes.
    Input,
    And(Lit, Lit),
    Xor(Lit, Lit),
    /// The second operand if the first is true, otherwise the third.
    Mux(Lit, Lit, Lit),
    /// The value that at least two of the three operands have.
    Majority(Lit, Lit, Lit),
    /// True if an odd number of the three operands is true.
    Parity(Lit, Lit, Lit),
}

/// All gates of one solver. Each gate is created only once.
#[derive(Debug)]
pub(super) struct Gates {
    pub(super) sat: Sat,
    /// For each variable, the gate that computes it.
    gates: Vec<Gate>,
    known: FastMap<Gate, Lit>,
    true_literal: Lit,
    /// For each variable, the serial number of the last call of [`cone`](Self::cone) that visited
    /// it.
    visited: Vec<u32>,
    calls: u32,
}

impl Gates {
    pub(super) fn new(hook: Hook) -> Self {
        let mut sat = Sat::new();
        sat.hook = hook;
        let yes = sat.variable();
        sat.clause(&[yes]);
        let gates = vec![Gate::Input];
        Gates {
            sat,
            gates,
            known: FastMap::default(),
            true_literal: yes,
            visited: Vec::new(),
            calls: 0,
        }
    }

    pub(super) fn constant(&self, value: bool) -> Lit {
        if value { self.true_literal } else { !self.true_literal }
    }

    /// Returns the truth value of a literal, or `None` if it is not constant.
    pub(super) fn as_constant(&self, lit: Lit) -> Option<bool> {
        (lit.variable() == self.true_literal.variable()).then(|| lit == self.true_literal)
    }

    pub(super) fn input(&mut self) -> Lit {
        self.gates.push(Gate::Input);
        self.sat.variable()
    }

    /// Returns the output of a gate. If the gate is new, creates it with its defining clauses.
    fn gate(&mut self, gate: Gate, clauses: impl FnOnce(Lit, &mut Sat)) -> Lit {
        if let Some(&lit) = self.known.get(&gate) {
            return lit;
        }
        let lit = self.sat.variable();
        self.gates.push(gate);
        self.known.insert(gate, lit);
        clauses(lit, &mut self.sat);
        lit
    }

    pub(super) fn and(&mut self, a: Lit, b: Lit) -> Lit {
        let no = !self.true_literal;
        if a == no || b == no || a == !b {
            return no;
        }
        if a == self.true_literal || a == b {
            return b;
        }
        if b == self.true_literal {
            return a;
        }
        let (a, b) = (a.min(b), a.max(b));
        self.gate(Gate::And(a, b), |out, sat| {
            sat.clause(&[!out, a]);
            sat.clause(&[!out, b]);
            sat.clause(&[out, !a, !b]);
        })
    }

    pub(super) fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    pub(super) fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        if let Some(a) = self.as_constant(a) {
            return if a { !b } else { b };
        }
        if let Some(b) = self.as_constant(b) {
            return if b { !a } else { a };
        }
        if a.variable() == b.variable() {
            return self.constant(a != b);
        }
        // Normal form: neither operand is negated.
        let flip = a.is_negative() != b.is_negative();
        let (a, b) = (positive(a), positive(b));
        let (a, b) = (a.min(b), a.max(b));
        let out = self.gate(Gate::Xor(a, b), |out, sat| {
            sat.clause(&[!out, a, b]);
            sat.clause(&[!out, !a, !b]);
            sat.clause(&[out, !a, b]);
            sat.clause(&[out, a, !b]);
        });
        if flip { !out } else { out }
    }

    /// Returns `a` if `c` is true, else `b`.
    pub(super) fn mux(&mut self, c: Lit, a: Lit, b: Lit) -> Lit {
        if let Some(c) = self.as_constant(c) {
            return if c { a } else { b };
        }
        if a == b {
            return a;
        }
        if a == !b {
            return !self.xor(c, a);
        }
        if a == self.true_literal || a == c {
            return self.or(c, b);
        }
        if a == !self.true_literal || a == !c {
            return self.and(!c, b);
        }
        if b == self.true_literal || b == !c {
            return self.or(!c, a);
        }
        if b == !self.true_literal || b == c {
            return self.and(c, a);
        }
        // Normal form: neither the condition nor the first choice is negated.
        let (c, a, b) = if c.is_negative() { (!c, b, a) } else { (c, a, b) };
        let flip = a.is_negative();
        let (a, b) = if flip { (!a, !b) } else { (a, b) };
        let out = self.gate(Gate::Mux(c, a, b), |out, sat| {
            sat.clause(&[!c, !a, out]);
            sat.clause(&[!c, a, !out]);
            sat.clause(&[c, !b, out]);
            sat.clause(&[c, b, !out]);
            // Implied by the clauses above, but unit propagation cannot derive these two.
            sat.clause(&[!a, !b, out]);
            sat.clause(&[a, b, !out]);
        });
        if flip { !out } else { out }
    }

    /// Returns a literal that is true if at least two of the three operands are true: the carry of
    /// an adder.
    pub(super) fn majority(&mut self, a: Lit, b: Lit, c: Lit) -> Lit {
        let mut operands = [a, b, c];
        operands.sort_unstable();
        let [a, b, c] = operands;
        // After sorting, constants come first and literals of one variable are adjacent.
        if let Some(a) = self.as_constant(a) {
            return if a { self.or(b, c) } else { self.and(b, c) };
        }
        if a == b || b == c {
            return b;
        }
        if a == !b {
            return c;
        }
        if b == !c {
            return a;
        }
        let flip = a.is_negative();
        let [a, b, c] = if flip { [!a, !b, !c] } else { [a, b, c] };
        let out = self.gate(Gate::Majority(a, b, c), |out, sat| {
            for (x, y) in [(a, b), (a, c), (b, c)] {
                sat.clause(&[!x, !y, out]);
                sat.clause(&[x, y, !out]);
            }
        });
        if flip { !out } else { out }
    }

    /// Returns a literal that is true if an odd number of the three operands is true: the sum bit
    /// of an adder.
    pub(super) fn parity(&mut self, a: Lit, b: Lit, c: Lit) -> Lit {
        let mut operands = [a, b, c];
        operands.sort_unstable();
        let [a, b, c] = operands;
        if self.as_constant(a).is_some() || a.variable() == b.variable() {
            let ab = self.xor(a, b);
            return self.xor(ab, c);
        }
        if b.variable() == c.variable() {
            let bc = self.xor(b, c);
            return self.xor(a, bc);
        }
        let flip = operands.iter().filter(|lit| lit.is_negative()).count() % 2 == 1;
        let [a, b, c] = operands.map(positive);
        let out = self.gate(Gate::Parity(a, b, c), |out, sat| {
            for pattern in 0..8u8 {
                let sign = |lit: Lit, bit: u8| if pattern >> bit & 1 == 1 { !lit } else { lit };
                let odd = pattern.count_ones() % 2 == 1;
                let result = if odd { out } else { !out };
                sat.clause(&[sign(a, 0), sign(b, 1), sign(c, 2), result]);
            }
        });
        if flip { !out } else { out }
    }

    /// Returns a literal that is true if all `literals` are true.
    pub(super) fn all(&mut self, literals: &[Lit]) -> Lit {
        // A balanced tree keeps the depth logarithmic.
        let mut level: Vec<Lit> = literals.to_vec();
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| if let &[a, b] = pair { self.and(a, b) } else { pair[0] })
                .collect();
        }
        level.first().copied().unwrap_or(self.true_literal)
    }

    /// Returns a literal that is true if any of the `literals` is true.
    pub(super) fn any(&mut self, literals: &[Lit]) -> Lit {
        let negated: Vec<Lit> = literals.iter().map(|&lit| !lit).collect();
        !self.all(&negated)
    }

    /// Returns the variables of the `roots` (literals), and all variables from which these are
    /// computed, directly or indirectly.
    pub(super) fn cone(&mut self, roots: impl Iterator<Item = Lit>) -> Vec<usize> {
        self.calls += 1;
        self.visited.resize(self.gates.len(), 0);
        let mut cone: Vec<usize> = Vec::new();
        let mut stack: Vec<Lit> = roots.collect();
        while let Some(lit) = stack.pop() {
            let variable = lit.variable();
            if std::mem::replace(&mut self.visited[variable], self.calls) == self.calls {
                continue;
            }
            cone.push(variable);
            match self.gates[variable] {
                Gate::Input => {}
                Gate::And(a, b) | Gate::Xor(a, b) => stack.extend([a, b]),
                Gate::Mux(a, b, c) | Gate::Majority(a, b, c) | Gate::Parity(a, b, c) => {
                    stack.extend([a, b, c]);
                }
            }
        }
        cone.sort_unstable();
        cone
    }
}

fn positive(lit: Lit) -> Lit {
    if lit.is_negative() { !lit } else { lit }
}
