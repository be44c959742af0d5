//! Computes the layout of stack frames as the code generator would choose it. Accesses that the
//! SmartNIC cannot compile are assumed to be replaced by other accesses.

use std::collections::BTreeMap;

use slowpath_bpf::insn::{AluOp, AtomicOp, Call, Insn, Register, Source};

use super::analysis::Analysis;
use super::value::{Kind, Origin, WORD_BYTES};
use crate::codegen::access::memory_operand;
use crate::codegen::analysis::frames::{Function, bytes_for_calls, names_saved_register};
use crate::codegen::facts::Facts;
use crate::firmware::MAX_STACK;

/// Lowest offset that a function accesses through each pointer argument, in bytes from the
/// argument's value; by function name and number of the argument register.
type Touched<'a> = BTreeMap<&'a str, BTreeMap<u8, i64>>;

/// Layout of a function's stack frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub function: Function,
    /// Size in bytes, without stack bytes that only replacement code uses. The code generator emits
    /// replacement code for accesses that the SmartNIC does not support.
    pub without_stand_ins: i64,
}

impl Analysis<'_> {
    pub fn frames(&self) -> Vec<Frame> {
        let touched: Touched<'_> = self
            .code
            .functions()
            .map(|(name, first, end)| (name, self.touched(first, end)))
            .collect();
        self.code.functions().map(|(_, first, end)| self.frame(first, end, &touched)).collect()
    }

    fn touched(&self, first: usize, end: usize) -> BTreeMap<u8, i64> {
        let mut found = BTreeMap::new();
        for slot in first..end {
            let (Some(state), Insn::Load { base, offset, .. } | Insn::Store { base, offset, .. }) =
                (&self.states[slot], self.code.program.insns[slot])
            else {
                continue;
            };
            let base = state.register(base);
            if let (Kind::Stack, &Origin::Passed { register, .. }, Some(from)) =
                (base.kind, &base.origin, base.offset)
            {
                let at = from.wrapping_add(offset.into());
                let lowest = found.entry(register).or_insert(at);
                *lowest = at.min(*lowest);
            }
        }
        found
    }

    fn frame(&self, first: usize, end: usize, touched: &Touched<'_>) -> Frame {
        let mut lowest = 0;
        let mut refused = false;
        // Offsets of loads from callers' frame addresses.
        let mut in_callers = Vec::new();
        for slot in first..end {
            let Some(state) = &self.states[slot] else { continue };
            let insn = self.code.program.insns[slot];
            let mut reach = |number: u8, offset: i64| {
                let value = &state.registers[usize::from(number)];
                if let (Kind::Stack, Origin::Frame, Some(from)) =
                    (value.kind, &value.origin, value.offset)
                {
                    lowest = from.wrapping_add(offset).min(lowest);
                }
            };
            if let Some((base, offset)) = memory_operand(&insn) {
                reach(base.number(), offset.into());
                if let Insn::Load { .. } = insn {
                    let base = state.register(base);
                    refused |= base.refuses_loads(offset);
                    in_callers.extend(base.in_caller(offset));
                }
            } else if let Insn::Call(Call::Helper(number)) = insn {
                (1..=self.arguments(slot, number)).for_each(|number| reach(number, 0));
            } else if let Some(touched) = self.code.own_callee(slot).map(|name| &touched[name]) {
                touched.iter().for_each(|(&number, &offset)| reach(number, offset));
            }
        }
        let insns = &self.code.program.insns[first..end];
        let saves_registers = insns.iter().any(|insn| {
            names_saved_register(insn)
                || fetched(insn).is_some_and(|register| (6..=9).contains(&register.number()))
        });
        let calls = if first == 0 { 0 } else { bytes_for_calls(saves_registers) };
        let whole = |depth: u32| depth.saturating_add(calls).next_multiple_of(4);
        let mut depth = u32::try_from(-lowest).unwrap_or(MAX_STACK);
        let without_stand_ins = i64::from(whole(depth));
        if refused || in_callers.iter().any(|at| is_refused(at + without_stand_ins)) {
            // The stand-in for a refused load reads bytes that no code writes.
            let unused = named_bytes(insns).next_multiple_of(8) + 8;
            depth = depth.max(unused.min(MAX_STACK));
        }
        let function = Function { first, stack: whole(depth), saves_registers };
        Frame { function, without_stand_ins }
    }
}

/// Returns true if the driver cannot compile an access to a caller's stack frame. `place` is the
/// offset in bytes from the first byte of the function's own frame. The driver computes the
/// remainder of a negative offset as if it were positive.
pub(super) fn is_refused(place: i64) -> bool {
    place < 0 && place % WORD_BYTES != 0
}

/// Returns the register in which an atomic operation stores the old value of the memory; `None` if
/// the operation does not return the old value.
fn fetched(insn: &Insn) -> Option<Register> {
    match *insn {
        Insn::Atomic { op: AtomicOp::Cmpxchg, .. } => Some(Register::R0),
        Insn::Atomic { op, src, .. } if op.fetches() => Some(src),
        _ => None,
    }
}

/// Returns the distance in bytes from the frame pointer down to the lowest stack offset in the
/// instructions of a function.
fn named_bytes(insns: &[Insn]) -> u32 {
    let mut lowest = 0;
    // Registers with a copy of the frame pointer.
    let mut copies = [false; 11];
    for insn in insns {
        match *insn {
            Insn::Alu { op: AluOp::Mov, dst, src: Source::Reg(Register::FRAME), .. } => {
                copies[usize::from(dst.number())] = true;
            }
            Insn::Alu { op: AluOp::Add, dst, src, .. } => {
                if std::mem::take(&mut copies[usize::from(dst.number())])
                    && let Source::Imm(offset) = src
                {
                    lowest = lowest.min(offset);
                }
            }
            _ => {
                if let Some((Register::FRAME, offset)) = memory_operand(insn) {
                    lowest = lowest.min(i32::from(offset));
                }
            }
        }
    }
    lowest.unsigned_abs()
}
