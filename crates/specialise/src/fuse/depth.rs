//! Finds the stack depth of functions, to place the saved context of a fused program below their
//! data. A forward data-flow analysis finds the lowest stack address that each register can hold.
//!
//! Pointers that are stored on the stack and reloaded are not tracked: their addresses were counted
//! when they were computed. A program that moves a reloaded pointer further down could overwrite
//! the saved context; the kernel's verifier then rejects the fused program.

use std::collections::HashMap;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};

/// Size of the BPF stack, in bytes.
const STACK: i64 = 512;
/// Maximum number of nested calls of BPF functions (`MAX_CALL_FRAMES` of the kernel).
const FRAMES: u32 = 8;
/// Number of BPF registers.
const COUNT: usize = 11;

/// The lowest stack address that each register can hold, in bytes relative to the frame pointer.
/// `None` if the register does not point to the stack.
type Places = [Option<i64>; COUNT];

/// Returns the depth in bytes of a function's own stack frame. Returns `None` if the depth is
/// unknown or exceeds the stack.
pub(super) fn depth(code: &[Insn]) -> Option<u32> {
    let mut before: Vec<Option<Places>> = vec![None; code.len()];
    let mut start = [None; COUNT];
    start[usize::from(Register::FRAME.number())] = Some(0);
    let mut lowest = 0;
    let mut work = vec![(0, start)];
    while let Some((slot, places)) = work.pop() {
        let insn = code.get(slot)?;
        let merged = match &before[slot] {
            Some(known) => joined(known, &places),
            None => places,
        };
        if before[slot] == Some(merged) {
            continue;
        }
        before[slot] = Some(merged);
        let after = step(insn, merged);
        lowest = lowest.min(accessed(insn, &merged));
        lowest = after.iter().flatten().fold(lowest, |lowest, place| lowest.min(*place));
        // Otherwise, a loop that keeps moving a pointer down would not reach a fixed point.
        if lowest < -STACK {
            return None;
        }
        work.extend(insn.jump_target(slot).map(|target| (target, after)));
        if !matches!(insn, Insn::Exit | Insn::Jump { .. }) {
            work.push((slot + insn.slots().max(1), after));
        }
    }
    u32::try_from(-lowest).ok()
}

/// Returns the number of bytes that the kernel counts for a stack frame with a depth of `depth`
/// bytes, if the JIT compiler translates the program (`round_up_stack_depth`).
pub(super) fn frame(depth: u32) -> u32 {
    depth.next_multiple_of(16)
}

/// Returns the first slot of a function, and the slot after its last instruction.
pub(super) fn range(program: &BpfProgram, function: usize) -> (usize, usize) {
    let first = program.subprograms.get(function).map_or(0, |of| of.first);
    let end = program.subprograms.get(function + 1).map_or(program.insns.len(), |of| of.first);
    (first, end)
}

pub(super) fn code(program: &BpfProgram, function: usize) -> &[Insn] {
    let (first, end) = range(program, function);
    program.insns.get(first..end).unwrap_or_default()
}

/// Returns the maximum total size in bytes of the stack frames of nested calls, without the frame
/// of the entry function. Returns `None` if it is unknown.
pub(super) fn below(program: &BpfProgram) -> Option<u32> {
    callees(program, 0, FRAMES, &mut HashMap::new())
}

/// Returns the maximum total size in bytes of the stack frames of nested calls that a function
/// makes, without its own frame. At most `frames` calls are nested. Returns `None` if the size is
/// unknown.
fn callees(
    program: &BpfProgram,
    function: usize,
    frames: u32,
    known: &mut HashMap<(usize, u32), Option<u32>>,
) -> Option<u32> {
    if let Some(known) = known.get(&(function, frames)) {
        return *known;
    }
    let (first, end) = range(program, function);
    let mut deepest = Some(0);
    for slot in first..end {
        let Some(target) = program.insns[slot].function_target(slot) else { continue };
        let callee = program.subprograms.iter().position(|of| of.first == target)?;
        let below = frames.checked_sub(1).and_then(|left| callees(program, callee, left, known));
        let own = depth(code(program, callee)).map(frame);
        let all = below.zip(own).map(|(below, own)| below + own);
        deepest = deepest.zip(all).map(|(deepest, all)| deepest.max(all));
    }
    known.insert((function, frames), deepest);
    deepest
}

fn joined(a: &Places, b: &Places) -> Places {
    let mut places = *a;
    for (place, other) in places.iter_mut().zip(b) {
        *place = match (*place, *other) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    places
}

/// Returns the lowest stack address that a load or store accesses, in bytes relative to the frame
/// pointer; 0 if the instruction does not access the stack.
fn accessed(insn: &Insn, places: &Places) -> i64 {
    let (base, offset) = match *insn {
        Insn::Load { base, offset, .. }
        | Insn::Store { base, offset, .. }
        | Insn::Atomic { base, offset, .. }
        | Insn::LoadAcquire { base, offset, .. }
        | Insn::StoreRelease { base, offset, .. } => (base, offset),
        _ => return 0,
    };
    places[usize::from(base.number())].map_or(0, |place| place + i64::from(offset))
}

fn step(insn: &Insn, mut places: Places) -> Places {
    let of = |register: Register| usize::from(register.number());
    match *insn {
        Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Reg(src) } => {
            places[of(dst)] = places[of(src)];
        }
        Insn::Alu { width: Width::W64, op: AluOp::Add, dst, src: Source::Imm(imm) } => {
            places[of(dst)] = places[of(dst)].map(|place| place + i64::from(imm));
        }
        Insn::Alu { width: Width::W64, op: AluOp::Sub, dst, src: Source::Imm(imm) } => {
            places[of(dst)] = places[of(dst)].map(|place| place - i64::from(imm));
        }
        Insn::Alu { width: Width::W64, op: AluOp::Add, dst, src: Source::Reg(src) } => {
            // The operation adds a number to a pointer. The kernel's verifier ensures that the sum
            // stays on the stack.
            places[of(dst)] = match (places[of(dst)], places[of(src)]) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        Insn::Alu { width: Width::W64, op: AluOp::Sub, src: Source::Reg(_), .. } => {}
        Insn::Alu { dst, .. }
        | Insn::Neg { dst, .. }
        | Insn::MoveSigned { dst, .. }
        | Insn::Swap { dst, .. }
        | Insn::LoadImm64 { dst, .. }
        | Insn::Load { dst, .. }
        | Insn::LoadAcquire { dst, .. } => places[of(dst)] = None,
        Insn::Call(_) | Insn::LoadPacket { .. } => places[..=5].fill(None),
        _ => {}
    }
    places
}
