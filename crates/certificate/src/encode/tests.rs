//! Compares the clauses of random terms with evaluation, and with Z3's answers.

use super::clauses;
use proptest::prelude::*;
use slowpath_oracle::{Oracle, random_cases};
use slowpath_smt::{
    ArrayId, ClauseSolver, Domain, Model, Node, Outcome, Solver, TermId, TermPool, Z3Solver,
};

/// Random numbers for one term: operator, two operands, and a constant.
type Step = (u8, u16, u16, u64);

/// Random terms over some unknowns, an unconstrained array and a table.
struct Terms {
    pool: TermPool,
    unknowns: Vec<TermId>,
    array: ArrayId,
    all: Vec<TermId>,
}

impl Terms {
    /// Creates terms with the given widths. The unknowns have the given widths, too.
    fn new(widths: &[u8], steps: &[Step]) -> Terms {
        let mut pool = TermPool::new();
        let unknowns: Vec<TermId> = widths
            .iter()
            .enumerate()
            .map(|(number, &width)| {
                let greatest = u64::MAX >> (64 - width);
                // Some unknowns have a smaller range, and known bits.
                let domain = match number % 3 {
                    0 => Domain::full(width),
                    1 => Domain::range(width, greatest / 5, greatest / 2),
                    _ => Domain::from_bits(width, 2 & greatest, 1),
                };
                pool.var(&format!("x{number}"), domain)
            })
            .collect();
        let array = pool.array("memory", 8);
        let table = pool.constant_array("table", 8, &[3, 3, 9, 200, 1, 0, 255, 9, 128, 7, 7]);
        let mut terms = Terms { pool, all: unknowns.clone(), unknowns, array };
        for &(operator, a, b, value) in steps {
            let term = terms.step(table, (operator, a, b, value));
            terms.all.push(term);
        }
        terms
    }

    fn pick(&self, selector: u16) -> TermId {
        self.all[usize::from(selector) % self.all.len()]
    }

    /// Returns a term with the value of `term`, in another width.
    fn fit(&mut self, term: TermId, width: u8) -> TermId {
        match self.pool.width(term).cmp(&width) {
            std::cmp::Ordering::Less => self.pool.zext(term, width),
            std::cmp::Ordering::Equal => term,
            std::cmp::Ordering::Greater => self.pool.extract(term, 0, width),
        }
    }

    fn step(&mut self, table: ArrayId, (operator, a, b, value): Step) -> TermId {
        let (a, b) = (self.pick(a), self.pick(b));
        let width = self.pool.width(a);
        let b = self.fit(b, width);
        let byte = self.fit(a, 8);
        let pool = &mut self.pool;
        match operator % 26 {
            0 => pool.constant(width, value),
            1 => pool.not(a),
            2 => pool.neg(a),
            3 => pool.and(a, b),
            4 => pool.or(a, b),
            5 => pool.xor(a, b),
            6 => pool.add(a, b),
            7 => pool.sub(a, b),
            8 => pool.mul(a, b),
            9 => pool.udiv(a, b),
            10 => pool.urem(a, b),
            11 => pool.sdiv(a, b),
            12 => pool.srem(a, b),
            13 => pool.shl(a, b),
            14 => pool.lshr(a, b),
            15 => pool.ashr(a, b),
            16 => pool.eq(a, b),
            17 => pool.ult(a, b),
            18 => pool.slt(a, b),
            19 if 2 * width <= 64 => pool.concat(a, b),
            20 if width > 1 => {
                let low = value as u8 % (width - 1);
                pool.extract(a, low, width - low - 1)
            }
            21 if width < 64 => pool.sext(a, width + 1 + value as u8 % (64 - width)),
            22 => {
                let (a, b) = (pool.zext(byte, 64), pool.constant(64, value % 3));
                pool.intern(a, b)
            }
            23 => pool.select(table, byte),
            24 => {
                // Few different bytes, so that equal indices are common.
                let low = pool.extract(byte, 0, 2);
                let index = pool.zext(low, 8);
                pool.select(self.array, index)
            }
            _ => {
                let condition = pool.constant(width, value);
                let condition = pool.ult(a, condition);
                pool.ite(condition, a, b)
            }
        }
    }

    /// Returns true if the clauses of these conditions are satisfiable.
    fn satisfiable(&self, conditions: &[TermId]) -> bool {
        let mut solver = ClauseSolver::new();
        for clause in clauses(&self.pool, conditions).expect("few clauses") {
            solver.clause(&clause);
        }
        solver.decide(1 << 40, &|| false).expect("an answer")
    }
}

fn steps(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(any::<Step>(), count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(random_cases(60)))]

    /// Checks that clauses fix the value of each term to the one that evaluation yields, if the
    /// values of the unknowns are given.
    #[test]
    fn clauses_compute_the_values_of_evaluation(
        widths in prop::collection::vec(prop::sample::select(vec![1u8, 3, 8, 13, 32, 64]), 3..6),
        values in prop::collection::vec(any::<u64>(), 6),
        bytes in any::<[u8; 4]>(),
        steps in steps(4..24),
    ) {
        let mut terms = Terms::new(&widths, &steps);
        let mut model = Model::new();
        let mut given = Vec::new();
        for (&unknown, value) in terms.unknowns.clone().iter().zip(values) {
            let Node::Var(var) = *terms.pool.node(unknown) else { continue };
            let domain = terms.pool.domain(unknown);
            let value = if domain.contains(value) { value } else { domain.lo().max(domain.ones()) };
            prop_assume!(domain.contains(value));
            model.set_var(var, value);
            let value = terms.pool.constant(domain.width(), value);
            given.push(terms.pool.eq(unknown, value));
        }
        for (index, &byte) in (0u64..).zip(&bytes) {
            model.set_byte(terms.array, index, byte);
            let (at, byte) = (terms.pool.constant(8, index), terms.pool.constant(8, byte.into()));
            let read = terms.pool.select(terms.array, at);
            given.push(terms.pool.eq(read, byte));
        }
        // Numbers of interned pairs are arbitrary, so terms with them have no fixed value.
        let interned = |pool: &TermPool, term| {
            pool.subterms(&[term]).into_iter().any(|one| matches!(pool.node(one), Node::Intern(..)))
        };
        for &term in &terms.all.clone() {
            if interned(&terms.pool, term) {
                continue;
            }
            let value = terms.pool.constant(terms.pool.width(term), terms.pool.eval(term, &model));
            let equal = terms.pool.eq(term, value);
            let other = terms.pool.not(equal);
            prop_assert!(terms.satisfiable(&[&given[..], &[equal]].concat()));
            prop_assert!(!terms.satisfiable(&[&given[..], &[other]].concat()));
        }
    }

    /// Checks that the clauses of some conditions are satisfiable if and only if Z3 says so.
    #[test]
    fn clauses_are_satisfiable_as_z3_says(
        widths in prop::collection::vec(prop::sample::select(vec![1u8, 4, 8]), 2..4),
        steps in steps(6..30),
        chosen in prop::collection::vec(any::<u16>(), 1..5),
    ) {
        let mut terms = Terms::new(&widths, &steps);
        let conditions: Vec<TermId> = chosen
            .iter()
            .map(|&selector| {
                let term = terms.pick(selector);
                let zero = terms.pool.constant(terms.pool.width(term), 0);
                let equal = terms.pool.eq(term, zero);
                if selector % 2 == 0 { equal } else { terms.pool.not(equal) }
            })
            .collect();
        let mut solver = Z3Solver::new().expect("Z3");
        let expected = match solver.check(&mut terms.pool, &conditions).expect("an answer") {
            Outcome::Sat(_) => true,
            Outcome::Unsat(_) => false,
            Outcome::Unknown(why) => return Err(TestCaseError::reject(why)),
        };
        prop_assert_eq!(terms.satisfiable(&conditions), expected);
        Oracle::Z3.compared(1, "conditions as clauses");
    }
}

#[test]
fn conditions_without_unknowns_are_decided() {
    let mut pool = TermPool::new();
    let (yes, no) = (pool.bool(true), pool.bool(false));
    assert_eq!(clauses(&pool, &[yes]), Ok(vec![vec![1], vec![1]]));
    assert_eq!(clauses(&pool, &[no]), Ok(vec![vec![1], vec![-1]]));
    assert_eq!(clauses(&pool, &[]), Ok(vec![vec![1]]));
}
