//! Compares terms and answers of the solver with Z3. A simplified term equals the direct
//! translation of its original expression for *all* values. The solver's answers agree with brute
//! force, with Z3 on the direct translation, or with the crate's Z3 solver. The direct translation
//! uses Z3 arrays for bytes; the crate does not.

use crate::common;

use common::{Binary, Expressions, Raw, Shape, TABLE, domain, member, steps};
use proptest::prelude::*;
use slowpath_oracle::Oracle;
use slowpath_smt::{
    BitSolver, CrossCheck, Domain, Evaluator, Node, Outcome, Proof, Solver, TermId, TermPool,
    Z3Solver, minimise_core,
};
use std::collections::HashMap;
use std::time::Duration;
use z3::ast::{Array, BV, Bool};
use z3::{FuncDecl, SatResult, Sort};

const SMALL: Shape =
    Shape { widths: &[1, 2, 4, 6, 8], max_width: 16, arrays: true, products: true, interns: true };
const TINY: Shape =
    Shape { widths: &[1, 2, 3], max_width: 6, arrays: false, products: true, interns: false };
const PACKET: Shape = Shape {
    widths: &[1, 8, 14, 16, 32],
    max_width: 64,
    arrays: true,
    products: false,
    interns: true,
};

const WIDE: Shape = Shape {
    widths: &[1, 3, 8, 13, 16, 24, 31, 32, 33, 48, 63, 64],
    max_width: 64,
    arrays: true,
    products: true,
    interns: true,
};

fn bit(b: Bool) -> BV {
    b.ite(&BV::from_u64(1, 1), &BV::from_u64(0, 1))
}

/// Returns the byte of [`TABLE`] at an index, as a Z3 expression.
fn table(index: &BV) -> BV {
    let zero = BV::from_u64(0, 8);
    let empty = Array::const_array(&Sort::bitvector(8), &zero);
    let full = (0u64..).zip(TABLE).fold(empty, |table, (place, byte)| {
        table.store(&BV::from_u64(place, 8), &BV::from_u64(byte.into(), 8))
    });
    full.select(index).as_bv().expect("a byte")
}

/// Returns the number of a pair of values, as an application of an uninterpreted function.
fn intern(a: &BV, b: &BV) -> BV {
    let pair = [Sort::bitvector(64), Sort::bitvector(64)];
    let numbers = FuncDecl::new("intern", &[&pair[0], &pair[1]], &Sort::bitvector(32));
    numbers.apply(&[a, b]).as_bv().expect("a number")
}

/// Translates raw nodes into Z3 bit-vectors.
fn raw(e: &Expressions) -> Vec<BV> {
    let memory = Array::new_const("memory", &Sort::bitvector(8), &Sort::bitvector(8));
    let mut all: Vec<BV> = Vec::new();
    for (node, &width) in e.nodes.iter().zip(&e.widths) {
        let at = |n: usize| all[n].clone();
        let size = u32::from(width);
        all.push(match *node {
            Raw::Const(_, value) => BV::from_u64(value, size),
            Raw::Var(n) => BV::new_const(format!("x{n}"), size),
            Raw::Select(i) => memory.select(&at(i)).as_bv().expect("a byte"),
            Raw::Table(i) => table(&at(i)),
            Raw::Intern(a, b) => intern(&at(a), &at(b)),
            Raw::Not(a) => at(a).bvnot(),
            Raw::Neg(a) => at(a).bvneg(),
            Raw::Binary(op, a, b) => raw_binary(op, &at(a), &at(b)),
            Raw::Concat(a, b) => at(a).concat(at(b)),
            Raw::Extract(a, lo, _) => at(a).extract(u32::from(lo) + size - 1, u32::from(lo)),
            Raw::Zext(a, _) => at(a).zero_ext(size - u32::from(e.widths[a])),
            Raw::Sext(a, _) => at(a).sign_ext(size - u32::from(e.widths[a])),
            Raw::Ite(c, a, b) => at(c).eq(BV::from_u64(1, 1)).ite(&at(a), &at(b)),
        });
    }
    all
}

fn raw_binary(op: Binary, a: &BV, b: &BV) -> BV {
    match op {
        Binary::And => a.bvand(b),
        Binary::Or => a.bvor(b),
        Binary::Xor => a.bvxor(b),
        Binary::Add => a.bvadd(b),
        Binary::Sub => a.bvsub(b),
        Binary::Mul => a.bvmul(b),
        Binary::Udiv => a.bvudiv(b),
        Binary::Urem => a.bvurem(b),
        Binary::Sdiv => a.bvsdiv(b),
        Binary::Srem => a.bvsrem(b),
        Binary::Shl => a.bvshl(b),
        Binary::Lshr => a.bvlshr(b),
        Binary::Ashr => a.bvashr(b),
        Binary::Eq => bit(a.eq(b)),
        Binary::Ult => bit(a.bvult(b)),
        Binary::Ule => bit(a.bvule(b)),
        Binary::Slt => bit(a.bvslt(b)),
        Binary::Sle => bit(a.bvsle(b)),
    }
}

/// Translates a simplified term into a Z3 bit-vector. Its unknowns are those of the raw nodes from
/// which the term was built.
fn simplified(pool: &TermPool, root: TermId) -> BV {
    let memory = Array::new_const("memory", &Sort::bitvector(8), &Sort::bitvector(8));
    let mut done: HashMap<TermId, BV> = HashMap::new();
    for t in pool.subterms(&[root]) {
        let at = |t: TermId| done[&t].clone();
        let size = u32::from(pool.width(t));
        let expression = match *pool.node(t) {
            Node::Const(value) => BV::from_u64(value, size),
            Node::Var(var) => BV::new_const(pool.var_info(var).0, size),
            Node::Select { array, index } if pool.array_content(array).is_some() => {
                table(&at(index))
            }
            Node::Select { index, .. } => memory.select(&at(index)).as_bv().expect("a byte"),
            Node::Intern(a, b) => intern(&at(a), &at(b)),
            Node::Not(a) => at(a).bvnot(),
            Node::Neg(a) => at(a).bvneg(),
            Node::And(a, b) => raw_binary(Binary::And, &at(a), &at(b)),
            Node::Or(a, b) => raw_binary(Binary::Or, &at(a), &at(b)),
            Node::Xor(a, b) => raw_binary(Binary::Xor, &at(a), &at(b)),
            Node::Add(a, b) => raw_binary(Binary::Add, &at(a), &at(b)),
            Node::Mul(a, b) => raw_binary(Binary::Mul, &at(a), &at(b)),
            Node::Udiv(a, b) => raw_binary(Binary::Udiv, &at(a), &at(b)),
            Node::Urem(a, b) => raw_binary(Binary::Urem, &at(a), &at(b)),
            Node::Sdiv(a, b) => raw_binary(Binary::Sdiv, &at(a), &at(b)),
            Node::Srem(a, b) => raw_binary(Binary::Srem, &at(a), &at(b)),
            Node::Shl(a, b) => raw_binary(Binary::Shl, &at(a), &at(b)),
            Node::Lshr(a, b) => raw_binary(Binary::Lshr, &at(a), &at(b)),
            Node::Ashr(a, b) => raw_binary(Binary::Ashr, &at(a), &at(b)),
            Node::Eq(a, b) => raw_binary(Binary::Eq, &at(a), &at(b)),
            Node::Ult(a, b) => raw_binary(Binary::Ult, &at(a), &at(b)),
            Node::Slt(a, b) => raw_binary(Binary::Slt, &at(a), &at(b)),
            Node::Concat(a, b) => at(a).concat(at(b)),
            Node::Extract { src, lo } => at(src).extract(u32::from(lo) + size - 1, u32::from(lo)),
            Node::Sext(a) => at(a).sign_ext(size - u32::from(pool.width(a))),
            Node::Ite(c, a, b) => at(c).eq(BV::from_u64(1, 1)).ite(&at(a), &at(b)),
        };
        done.insert(t, expression);
    }
    done[&root].clone()
}

/// Returns the Z3 condition that a value is in a domain.
fn within(x: &BV, d: Domain) -> Bool {
    let size = u32::from(d.width());
    let k = |value| BV::from_u64(value, size);
    let bits = x.bvand(k(d.zeros() | d.ones())).eq(k(d.ones()));
    Bool::and(&[bits, x.bvuge(k(d.lo())), x.bvule(k(d.hi()))])
}

/// Creates a Z3 solver that asserts the domains, and that different pairs have different numbers.
fn oracle(e: &Expressions, raw: &[BV]) -> z3::Solver {
    let solver = z3::Solver::new();
    for (x, &d) in raw.iter().zip(&e.domains) {
        solver.assert(within(x, d));
    }
    let pairs: Vec<(usize, usize, usize)> = (0..e.nodes.len())
        .filter_map(|n| match e.nodes[n] {
            Raw::Intern(a, b) => Some((n, a, b)),
            _ => None,
        })
        .collect();
    for (i, &(one, a, b)) in pairs.iter().enumerate() {
        for &(other, c, d) in &pairs[..i] {
            let same = Bool::and(&[raw[a].eq(&raw[c]), raw[b].eq(&raw[d])]);
            solver.assert(raw[one].eq(&raw[other]).implies(&same));
        }
    }
    let mut limit = z3::Params::new();
    limit.set_u32("timeout", 2_000);
    solver.set_params(&limit);
    solver
}

fn equivalent(d: &[Domain], s: &[common::Step], shape: Shape) -> Result<(), TestCaseError> {
    let e = Expressions::new(d, s, shape);
    let mut pool = TermPool::new();
    let (terms, _) = e.build(&mut pool);
    let raw = raw(&e);
    let solver = oracle(&e, &raw);
    let differ: Vec<Bool> = terms
        .iter()
        .zip(&raw)
        .flat_map(|(&t, raw)| [simplified(&pool, t).ne(raw), within(raw, pool.domain(t)).not()])
        .collect();
    // A timeout decides nothing; only a counterexample makes the test fail.
    if solver.check_assumptions(&[]) == SatResult::Sat {
        Oracle::Z3.compared(terms.len(), "random terms");
        solver.assert(Bool::or(&differ));
        if solver.check() == SatResult::Sat {
            let model = solver.get_model().expect("a model");
            let wrong = differ
                .iter()
                .position(|b| model.eval(b, true).and_then(|b| b.as_bool()) == Some(true));
            let n = wrong.unwrap_or(0) / 2;
            let text = pool.display(terms[n]);
            prop_assert!(false, "node {n} {:?} became {text}\n{model}", e.nodes[n]);
        }
    }
    Ok(())
}

/// Returns at most `count` of the last 1-bit nodes: the index and the term of each.
fn conditions(e: &Expressions, terms: &[TermId], count: usize) -> Vec<(usize, TermId)> {
    let bits = (0..terms.len()).rev().filter(|&n| e.widths[n] == 1 && n >= e.domains.len());
    bits.take(count).map(|n| (n, terms[n])).collect()
}

/// Returns all combinations of values that the unknowns can have.
fn assignments(domains: &[Domain]) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for &d in domains {
        let members: Vec<u64> = (d.lo()..=d.hi()).filter(|&v| d.contains(v)).collect();
        all = all
            .into_iter()
            .flat_map(|head| members.iter().map(move |&v| [head.as_slice(), &[v]].concat()))
            .collect();
    }
    all
}

proptest! {
    #![proptest_config(common::config(80))]

    #[test]
    fn simplified_small(d in (domain(1), domain(2), domain(4), domain(6)), s in steps(1..20)) {
        equivalent(&[d.0, d.1, d.2, d.3], &s, SMALL)?;
    }

    #[test]
    fn simplified_packet(d in (domain(32), domain(8), domain(16)), s in steps(1..20)) {
        let base = Domain::range(32, 0x10000, 0x3fff_0000);
        let length = Domain::range(14, 60, 1500);
        equivalent(&[base, length, d.0, d.1, d.2], &s, PACKET)?;
    }

    #[test]
    fn outcomes_are_those_of_brute_force(
        d in (domain(1), domain(2), domain(3), domain(2)),
        s in steps(4..40),
    ) {
        let d = [d.0, d.1, d.2, d.3];
        let e = Expressions::new(&d, &s, TINY);
        let mut pool = TermPool::new();
        let (terms, _) = e.build(&mut pool);
        let chosen = conditions(&e, &terms, 5);
        let table: Vec<Vec<u64>> =
            assignments(&d).iter().map(|vars| e.values(vars, |_| 0, |_| 0)).collect();
        let possible = |subset: &[usize]| {
            table.iter().any(|values| subset.iter().all(|&i| values[chosen[i].0] == 1))
        };
        let mut solver = BitSolver::new();
        // The sets of conditions grow, so later checks use facts learnt in earlier checks.
        for count in 1..=chosen.len() {
            let assumptions: Vec<TermId> = chosen[..count].iter().map(|&(_, t)| t).collect();
            let everything: Vec<usize> = (0..count).collect();
            match solver.check(&mut pool, &assumptions).expect("no error") {
                Outcome::Sat(_) => prop_assert!(possible(&everything)),
                Outcome::Unsat(core) => {
                    prop_assert!(!possible(&core), "{core:?}");
                    let small =
                        minimise_core(&mut solver, &mut pool, &assumptions, &core, 20).expect("no error");
                    prop_assert!(!possible(&small), "{small:?}");
                    for left_out in &small {
                        let rest: Vec<usize> =
                            small.iter().copied().filter(|i| i != left_out).collect();
                        prop_assert!(small.len() == 1 || possible(&rest), "{small:?}");
                    }
                }
                Outcome::Unknown(why) => prop_assert!(false, "{why}"),
            }
        }
    }

    #[test]
    fn solvers_agree(
        d in (domain(1), domain(8), domain(16), domain(32), domain(64)),
        s in steps(4..40),
    ) {
        let d = [d.0, d.1, d.2, d.3, d.4];
        let e = Expressions::new(&d, &s, WIDE);
        let mut pool = TermPool::new();
        let (terms, _) = e.build(&mut pool);
        let conditions: Vec<TermId> =
            conditions(&e, &terms, 6).into_iter().map(|(_, term)| term).collect();
        let second = Z3Solver::new().expect("Z3");
        let proof = Proof::new();
        let mut both = CrossCheck { first: BitSolver::traced(proof.trace()), second };
        // Some products are hard for both solvers. Without an answer, there is nothing to compare.
        both.set_time_limit(Some(Duration::from_millis(500)));
        for count in 1..=conditions.len() {
            let answer = both.check(&mut pool, &conditions[..count]);
            prop_assert!(answer.is_ok(), "{}", answer.unwrap_err());
            if both.second.statistics().unknown == 0 {
                Oracle::Z3.compared(1, "random queries");
            }
        }
        if proof.contradictions() > 0 {
            Oracle::Proof.compared(proof.contradictions(), "answers \"unsatisfiable\" to random queries");
        }
    }

    #[test]
    fn outcomes_with_bytes_are_those_of_the_array_theory(
        d in (domain(1), domain(4), domain(8), domain(8)),
        s in steps(4..30),
        seed in any::<u64>(),
    ) {
        let d = [d.0, d.1, d.2, d.3];
        let e = Expressions::new(&d, &s, SMALL);
        let mut pool = TermPool::new();
        let (terms, _) = e.build(&mut pool);
        let chosen = conditions(&e, &terms, 4);
        let assumptions: Vec<TermId> = chosen.iter().map(|&(_, t)| t).collect();
        let raw = raw(&e);
        let oracle = oracle(&e, &raw);
        let wanted: Vec<Bool> =
            chosen.iter().map(|&(n, _)| raw[n].eq(BV::from_u64(1, 1))).collect();
        let mut solver = BitSolver::new();
        match solver.check(&mut pool, &assumptions).expect("no error") {
            Outcome::Sat(model) => {
                wanted.iter().for_each(|b| oracle.assert(b));
                prop_assert_ne!(oracle.check(), SatResult::Unsat);
                // The model must also satisfy the raw expressions.
                let vars: Vec<u64> = terms.iter().zip(&d).map(|(&t, &d)| match *pool.node(t) {
                    Node::Var(var) => model.var(var).unwrap_or(member(d, seed)),
                    _ => d.lo(),
                }).collect();
                let byte = |i| model.bytes().find(|&(_, at, _)| at == i).map_or(0, |(_, _, b)| b);
                // Simplification can remove numbers. Pairs without an assigned number get an unused
                // number.
                let mut numbers: HashMap<(u64, u64), u32> = model.interned_pairs().collect();
                let number = |pair| match numbers.get(&pair) {
                    Some(&number) => number,
                    None => {
                        let free = (0..).find(|n| numbers.values().all(|other| other != n));
                        *numbers.entry(pair).or_insert(free.expect("few are taken"))
                    }
                };
                let values = e.values(&vars, byte, number);
                prop_assert!(chosen.iter().all(|&(n, _)| values[n] == 1));
                let mut evaluator = Evaluator::new(&pool, &model);
                prop_assert!(assumptions.iter().all(|&t| evaluator.value(t) == 1));
            }
            Outcome::Unsat(core) => {
                core.iter().for_each(|&i| oracle.assert(&wanted[i]));
                prop_assert_ne!(oracle.check(), SatResult::Sat);
            }
            Outcome::Unknown(why) => prop_assert!(false, "{why}"),
        }
        Oracle::Z3.compared(1, "random queries");
    }
}
