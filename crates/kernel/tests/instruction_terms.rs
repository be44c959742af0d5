//! Tests the symbolic executor. The term that it builds for an instruction must be equal to a
//! formula that was written down from RFC 9669. Z3 proves the equality for all operands.
//!
//! This test translates the terms to Z3 by itself. It does not use the solver of slowpath.

use crate::support;

use std::collections::HashMap;
use std::rc::Rc;

use slowpath_bpf::insn::{AluOp, AtomicOp, Condition, Imm64, Insn, Size, Source, SwapKind, Width};
use slowpath_bpf::lift::{LiftOptions, lift};
use slowpath_exec::{Executor, NodeId};
use slowpath_oracle::Oracle;
use slowpath_smt::{ArrayId, Node, TermId, TermPool};
use support::{assemble, isa};
use z3::ast::{BV, Bool};
use z3::{Params, SatResult, Solver};

/// Z3 terms for the values of `r3`, `r4`, `r0` and of the 8-byte cell on the stack.
type Values = [BV; 4];

fn number(value: u64, bits: u32) -> BV {
    BV::from_u64(value, bits)
}

fn low(value: &BV, bits: u32) -> BV {
    value.extract(bits - 1, 0)
}

fn zero_extended(value: &BV) -> BV {
    match 64 - value.get_size() {
        0 => value.clone(),
        more => value.zero_ext(more),
    }
}

fn sign_extended(value: &BV, bits: u32) -> BV {
    value.sign_ext(bits - value.get_size())
}

/// Reverses the order of the bytes of `value`.
fn swapped(value: &BV) -> BV {
    let byte = |n: u32| value.extract(8 * n + 7, 8 * n);
    (1..value.get_size() / 8).fold(byte(0), |high, n| high.concat(byte(n)))
}

fn operand(src: Source, b: &BV, bits: u32) -> BV {
    match src {
        Source::Reg(reg) if reg == isa::reg(4) => low(b, bits),
        Source::Reg(_) => panic!("the other operand is r4"),
        // The immediate is sign-extended to 64 bits.
        Source::Imm(value) => number(i64::from(value) as u64, bits),
    }
}

fn arithmetic(op: AluOp, a: &BV, b: &BV) -> BV {
    let bits = a.get_size();
    let zero = number(0, bits);
    let by_zero = b.eq(&zero);
    let amount = b.bvand(number(u64::from(bits) - 1, bits));
    match op {
        AluOp::Add => a.bvadd(b),
        AluOp::Sub => a.bvsub(b),
        AluOp::Mul => a.bvmul(b),
        AluOp::Div => by_zero.ite(&zero, &a.bvudiv(b)),
        AluOp::Sdiv => by_zero.ite(&zero, &a.bvsdiv(b)),
        AluOp::Mod => by_zero.ite(a, &a.bvurem(b)),
        AluOp::Smod => by_zero.ite(a, &a.bvsrem(b)),
        AluOp::Or => a.bvor(b),
        AluOp::And => a.bvand(b),
        AluOp::Xor => a.bvxor(b),
        AluOp::Lsh => a.bvshl(amount),
        AluOp::Rsh => a.bvlshr(amount),
        AluOp::Arsh => a.bvashr(amount),
        AluOp::Mov => b.clone(),
    }
}

fn holds(cond: Condition, a: &BV, b: &BV) -> Bool {
    match cond {
        Condition::Eq => a.eq(b),
        Condition::Ne => a.eq(b).not(),
        Condition::Set => a.bvand(b).eq(number(0, a.get_size())).not(),
        Condition::Gt => a.bvugt(b),
        Condition::Ge => a.bvuge(b),
        Condition::Lt => a.bvult(b),
        Condition::Le => a.bvule(b),
        Condition::Sgt => a.bvsgt(b),
        Condition::Sge => a.bvsge(b),
        Condition::Slt => a.bvslt(b),
        Condition::Sle => a.bvsle(b),
    }
}

/// Returns `bits` bits of the 8-byte stack cell, starting at the byte `offset` from the frame
/// pointer.
fn read(cell: &BV, offset: i16, bits: u32) -> BV {
    let start = 8 * u32::from((offset + 8).unsigned_abs());
    cell.extract(start + bits - 1, start)
}

fn written(cell: &BV, offset: i16, value: &BV) -> BV {
    let start = 8 * u32::from((offset + 8).unsigned_abs());
    let end = start + value.get_size();
    let mut all = value.clone();
    if start > 0 {
        all = all.concat(cell.extract(start - 1, 0));
    }
    if end < 64 {
        all = cell.extract(63, end).concat(all);
    }
    all
}

fn exchanged(op: AtomicOp, old: &BV, operand: &BV, expected: &BV) -> BV {
    match op {
        AtomicOp::Add { .. } => old.bvadd(operand),
        AtomicOp::Or { .. } => old.bvor(operand),
        AtomicOp::And { .. } => old.bvand(operand),
        AtomicOp::Xor { .. } => old.bvxor(operand),
        AtomicOp::Xchg => operand.clone(),
        AtomicOp::Cmpxchg => old.eq(expected).ite(operand, old),
    }
}

/// Returns the values of `r3`, `r4`, `r0` and the stack cell after an instruction, given their
/// values before it. Returns `None` for jumps.
fn effect(insn: Insn, [a, b, c, cell]: Values) -> Option<Values> {
    let r3 = match insn {
        Insn::Alu { width, op, src: Source::Reg(reg), .. } if reg == isa::reg(3) => {
            let a = low(&a, width.bits().into());
            zero_extended(&arithmetic(op, &a, &a))
        }
        Insn::Alu { width, op, src, .. } => {
            let bits = width.bits().into();
            zero_extended(&arithmetic(op, &low(&a, bits), &operand(src, &b, bits)))
        }
        Insn::Neg { width, .. } => zero_extended(&low(&a, width.bits().into()).bvneg()),
        Insn::MoveSigned { width, from, .. } => {
            zero_extended(&sign_extended(&low(&b, from.bits().into()), width.bits().into()))
        }
        Insn::Swap { kind, size, .. } => {
            let value = low(&a, size.bits().into());
            zero_extended(&if kind == SwapKind::Le { value } else { swapped(&value) })
        }
        Insn::LoadImm64 { value: Imm64::Value(value), .. } => number(value, 64),
        Insn::Load { size, signed, offset, .. } => {
            let value = read(&cell, offset, size.bits().into());
            if signed { sign_extended(&value, 64) } else { zero_extended(&value) }
        }
        Insn::LoadAcquire { size, offset, .. } => {
            zero_extended(&read(&cell, offset, size.bits().into()))
        }
        Insn::Store { size, offset, src, .. } => {
            let value = operand(src, &b, size.bits().into());
            return Some([a, b, c, written(&cell, offset, &value)]);
        }
        Insn::StoreRelease { size, offset, .. } => {
            let value = low(&b, size.bits().into());
            return Some([a, b, c, written(&cell, offset, &value)]);
        }
        Insn::Atomic { op, width, offset, .. } => {
            let bits = width.bits().into();
            let old = read(&cell, offset, bits);
            let new = exchanged(op, &old, &low(&b, bits), &low(&c, bits));
            let cell = written(&cell, offset, &new);
            let old = zero_extended(&old);
            return Some(match op {
                AtomicOp::Cmpxchg => [a, b, old, cell],
                AtomicOp::Xchg
                | AtomicOp::Add { fetch: true }
                | AtomicOp::Or { fetch: true }
                | AtomicOp::And { fetch: true }
                | AtomicOp::Xor { fetch: true } => [a, old, c, cell],
                _ => [a, b, c, cell],
            });
        }
        _ => return None,
    };
    Some([r3, b, c, cell])
}

/// Returns the Z3 variable for a byte of the packet.
fn byte(offset: u64) -> BV {
    BV::new_const(format!("packet{offset}"), 8)
}

fn word(offset: u64) -> BV {
    (1..8).fold(byte(offset), |low, n| byte(offset + n).concat(low))
}

/// Translates a term of the symbolic executor to Z3, with one Z3 variable for each byte of the
/// packet.
fn translated(pool: &TermPool, packet: ArrayId, root: TermId) -> BV {
    let mut done: HashMap<TermId, BV> = HashMap::new();
    let mut terms = vec![root];
    while let Some(&term) = terms.last() {
        let missing: Vec<TermId> = pool.children(term).filter(|t| !done.contains_key(t)).collect();
        if !missing.is_empty() {
            terms.extend(missing);
            continue;
        }
        terms.pop();
        let size = u32::from(pool.width(term));
        let bit = |holds: Bool| holds.ite(&number(1, 1), &number(0, 1));
        let is_set = |t: &TermId| done[t].eq(number(1, 1));
        let value = match *pool.node(term) {
            Node::Const(value) => number(value, size),
            Node::Var(var) => panic!("depends on {}", pool.var_info(var).0),
            Node::Select { array, index } => {
                assert_eq!(array, packet, "memory other than the packet");
                byte(pool.as_const(index).expect("the place is known"))
            }
            Node::Intern(..) => panic!("no keys here"),
            Node::Not(a) => done[&a].bvnot(),
            Node::Neg(a) => done[&a].bvneg(),
            Node::And(a, b) => done[&a].bvand(&done[&b]),
            Node::Or(a, b) => done[&a].bvor(&done[&b]),
            Node::Xor(a, b) => done[&a].bvxor(&done[&b]),
            Node::Add(a, b) => done[&a].bvadd(&done[&b]),
            Node::Mul(a, b) => done[&a].bvmul(&done[&b]),
            Node::Udiv(a, b) => done[&a].bvudiv(&done[&b]),
            Node::Urem(a, b) => done[&a].bvurem(&done[&b]),
            Node::Sdiv(a, b) => done[&a].bvsdiv(&done[&b]),
            Node::Srem(a, b) => done[&a].bvsrem(&done[&b]),
            Node::Shl(a, b) => done[&a].bvshl(&done[&b]),
            Node::Lshr(a, b) => done[&a].bvlshr(&done[&b]),
            Node::Ashr(a, b) => done[&a].bvashr(&done[&b]),
            Node::Eq(a, b) => bit(done[&a].eq(&done[&b])),
            Node::Ult(a, b) => bit(done[&a].bvult(&done[&b])),
            Node::Slt(a, b) => bit(done[&a].bvslt(&done[&b])),
            Node::Concat(a, b) => done[&a].concat(&done[&b]),
            Node::Extract { src, lo } => {
                done[&src].extract(u32::from(lo) + size - 1, u32::from(lo))
            }
            Node::Sext(a) => done[&a].sign_ext(size - u32::from(pool.width(a))),
            Node::Ite(c, a, b) => is_set(&c).ite(&done[&a], &done[&b]),
        };
        done.insert(term, value);
    }
    done[&root].clone()
}

/// Returns the condition of the branch at the end of the first block of a program.
fn condition(insns: &[Insn]) -> Result<BV, String> {
    let object = assemble::object(&[insns]);
    let linked = object.link(0, None).map_err(|e| e.to_string())?;
    let lifted = lift(&object, &linked, &LiftOptions::default()).map_err(|e| e.to_string())?;
    let program = Rc::new(lifted.program);
    let (mut executor, mut state) =
        Executor::new(Rc::clone(&program)).map_err(|e| e.to_string())?;
    let condition = executor
        .run_block(NodeId(0), program.entry, &mut state)
        .map_err(|e| e.to_string())?
        .ok_or("there is no branch")?;
    Ok(translated(&executor.pool, executor.array(lifted.layout.packet), condition))
}

/// Proves with Z3 that `condition` is equivalent to `expected`.
fn always(condition: &BV, expected: &Bool) -> Result<(), String> {
    let solver = Solver::new();
    let mut parameters = Params::new();
    // A limit on effort rather than time gives the same result on every machine.
    parameters.set_u32("rlimit", 200_000_000);
    solver.set_params(&parameters);
    solver.assert(condition.eq(number(1, 1)).iff(expected).not());
    match solver.check() {
        SatResult::Unsat => Ok(()),
        SatResult::Sat => Err(format!("{:?}", solver.get_model().map(|m| m.to_string()))),
        SatResult::Unknown => Err("Z3 gives up".to_owned()),
    }
}

/// Returns a program that executes `body`, and then compares one of its results with 8 bytes of the
/// packet. `result` is the index of this result among `r3`, `r4`, `r0` and the stack cell.
fn comparing(body: &[Insn], result: usize) -> Vec<Insn> {
    let mut insns = vec![isa::load(Size::W, 6, 1, 0)];
    insns.extend(isa::operands());
    insns.extend_from_slice(body);
    let register = [3, 4, 0, 3][result];
    if result == 3 {
        insns.push(isa::load(Size::DW, 3, 10, -8));
    }
    insns.push(isa::load(Size::DW, 5, 6, isa::RESULTS));
    let (dst, src) = (isa::reg(register), Source::Reg(isa::reg(5)));
    insns.push(Insn::Branch { width: Width::W64, cond: Condition::Eq, dst, src, offset: 1 });
    insns.extend([isa::mov(0, 0), isa::mov(0, 1), Insn::Exit]);
    insns
}

fn check(insn: Insn) -> Result<(), String> {
    let start = [word(0), word(8), word(16), word(0)];
    if let Insn::Branch { width, cond, src, .. } = insn {
        let mut insns = vec![isa::load(Size::W, 6, 1, 0)];
        insns.extend(isa::operands());
        insns.extend(isa::body(insn));
        insns.extend([isa::mov(0, 1), Insn::Exit]);
        let bits = width.bits().into();
        let expected = holds(cond, &low(&start[0], bits), &operand(src, &start[1], bits));
        return always(&condition(&insns)?, &expected);
    }
    let Some(after) = effect(insn, start) else {
        return Err("no formula says what it does".to_owned());
    };
    let body = isa::body(insn);
    let expected = word(u64::from(isa::RESULTS.unsigned_abs()));
    for (number, value) in after.iter().enumerate() {
        let condition = condition(&comparing(&body, number))?;
        always(&condition, &value.eq(&expected))
            .map_err(|fault| format!("{}: {fault}", ["r3", "r4", "r0", "the stack"][number]))?;
    }
    Ok(())
}

#[test]
fn terms_are_what_the_standard_says() {
    let threads: usize = std::thread::available_parallelism().map_or(1, usize::from);
    // Unconditional jumps have no term; the test against the kernel covers them.
    let plain = |insn: &Insn| !matches!(insn, Insn::Jump { .. } | Insn::MayGoto { .. });
    let all: Vec<Insn> = isa::instructions().into_iter().filter(plain).collect();
    let worker = |first: usize| {
        let own = all.iter().copied().skip(first).step_by(threads);
        own.filter_map(|insn| Some(format!("{insn}: {}", check(insn).err()?))).collect::<Vec<_>>()
    };
    let faults: Vec<String> = std::thread::scope(|scope| {
        let worker = &worker;
        let workers: Vec<_> = (0..threads).map(|n| scope.spawn(move || worker(n))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Oracle::Z3.compared(all.len(), "instructions");
}
