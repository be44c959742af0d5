//! Simplifies operands of instructions. A constant replaces a register that holds it; the source of
//! a copy replaces the copy. Memory accesses use the register that points closest to the start of
//! the packet or stack frame. Instructions that computed the replaced registers may then be dead.

use super::log::{Change, Log};
use super::values::replaces;
use crate::analysis::{Analysis, Kind, State, Value};
use crate::fault::{self, Fault};
use crate::graph::{End, Graph, Instr, Op};
use slowpath_bpf::insn::{AluOp, Insn, Register, Size, Source, Width};

/// Simplifies the operands of all instructions. Returns true if the graph changed.
pub(crate) fn simplify_operands(
    graph: &mut Graph,
    analysis: &mut Analysis<'_>,
    log: &mut Log,
) -> bool {
    let mut changed = false;
    let stores_numbers = stores_numbers(graph);
    for block in graph.order(0) {
        let mut new = Vec::with_capacity(graph.blocks[block].insns.len());
        let mut moves = Vec::new();
        let walked = analysis.walk(graph, block, |place, instr, state| {
            let mut instr = *instr;
            moves.extend(closer(state, &instr.op).map(|closer| (place, closer)));
            if let Op::Insn(insn) = &mut instr.op {
                changed |= of_insn(state, insn, (instr.origin, stores_numbers), log);
            }
            new.push(instr);
        });
        let Some(state) = walked else { continue };
        changed |= shorten(&mut new, &moves);
        graph.blocks[block].insns = new;
        let origin = graph.blocks[block].origin;
        if let End::Branch { test, .. } = &mut graph.blocks[block].end {
            changed |= copied(&state, &mut test.dst);
            changed |= source(&state, &mut test.src, test.width, origin, log);
        }
    }
    changed
}

/// If an instruction copies a packet pointer, finds a register that points closer to the start of
/// the packet and could be copied instead. Returns the register and the distance in bytes between
/// the two pointers; otherwise `None`.
fn closer(state: &State, op: &Op) -> Option<(Register, i64)> {
    let Op::Insn(Insn::Alu { width: Width::W64, op: AluOp::Mov, src: Source::Reg(src), .. }) = *op
    else {
        return None;
    };
    let Kind::Packet { offset, .. } = state.reg(src).kind else { return None };
    let candidates = (0..10).filter_map(Register::new).filter_map(|reg| {
        let Kind::Packet { offset: from, .. } = state.reg(reg).kind else { return None };
        let better = from.unsigned_abs() < offset.unsigned_abs();
        (better && replaces(state.reg(reg), state.reg(src))).then_some((
            from.unsigned_abs(),
            reg,
            offset - from,
        ))
    });
    candidates.min().map(|(_, reg, distance)| (reg, distance))
}

/// Rewrites pairs of instructions that copy a packet pointer and then add a constant to the copy.
/// Afterwards, each pair copies a pointer closer to the start of the packet and adds a larger
/// constant. Returns true if a pair changed.
fn shorten(insns: &mut [Instr], moves: &[(usize, (Register, i64))]) -> bool {
    let mut changed = false;
    for &(place, (closer, distance)) in moves {
        let [first, second, ..] = &mut insns[place..] else { continue };
        if let (
            Op::Insn(Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Reg(src) }),
            Op::Insn(Insn::Alu {
                width: Width::W64,
                op: AluOp::Add,
                dst: moved,
                src: Source::Imm(by),
            }),
        ) = (&mut first.op, &mut second.op)
            && dst == moved
            && let Ok(further) = i32::try_from(i64::from(*by) + distance)
        {
            let further = if fault::has(Fault::DistanceForgotten) { *by } else { further };
            (*src, *by) = (closer, further);
            changed = true;
        }
    }
    changed
}

/// Returns true if the program already stores immediates to memory. Only then may the pass add
/// stores of immediates. Compilers for cpu=v3 and older do not emit them, and the driver of the
/// SmartNIC, which may run the program, rejects them.
fn stores_numbers(graph: &Graph) -> bool {
    let insns = graph.blocks.iter().flat_map(|block| &block.insns);
    insns
        .into_iter()
        .any(|instr| matches!(instr.op, Op::Insn(Insn::Store { src: Source::Imm(_), .. })))
}

fn of_insn(
    state: &State,
    insn: &mut Insn,
    (origin, stores_numbers): (usize, bool),
    log: &mut Log,
) -> bool {
    match insn {
        Insn::Alu { op: AluOp::Mov, src, .. } => match src {
            Source::Reg(reg) => copied(state, reg),
            Source::Imm(_) => false,
        },
        Insn::Alu { width, src, .. } => source(state, src, *width, origin, log),
        Insn::MoveSigned { src, .. } => copied(state, src),
        Insn::Load { base, offset, .. } | Insn::LoadAcquire { base, offset, .. } => {
            address(state, base, offset)
        }
        Insn::Store { size, base, offset, src } => {
            let (size, moved) = (*size, address(state, base, offset));
            let value = match *src {
                Source::Reg(reg) => state.reg(reg),
                Source::Imm(_) => return moved,
            };
            match value
                .constant()
                .filter(|_| stores_numbers)
                .and_then(|value| immediate(value, size))
            {
                Some(short) => {
                    log.note(origin, Change::Operand(short as u64), value.reason);
                    *src = Source::Imm(short);
                    true
                }
                None => match src {
                    Source::Reg(reg) => copied(state, reg) || moved,
                    Source::Imm(_) => moved,
                },
            }
        }
        Insn::StoreRelease { base, offset, src, .. } => {
            let moved = address(state, base, offset);
            copied(state, src) || moved
        }
        Insn::Atomic { base, offset, .. } => address(state, base, offset),
        _ => false,
    }
}

/// Returns an immediate whose low bytes are those of `value`, for a store of this size; `None` if
/// no immediate has them.
fn immediate(value: u64, size: Size) -> Option<i32> {
    match size {
        Size::DW => i32::try_from(value as i64).ok(),
        _ => Some(value as u32 as i32),
    }
}

/// Simplifies the right operand of an instruction. If its value is constant, an immediate replaces
/// it. Otherwise, the register from which it was copied replaces it. Returns true if the operand
/// changed.
fn source(state: &State, src: &mut Source, width: Width, origin: usize, log: &mut Log) -> bool {
    let Source::Reg(reg) = src else { return false };
    let value = *state.reg(*reg);
    let short = value.constant().and_then(|value| match width {
        Width::W32 => Some(value as u32 as i32),
        Width::W64 if fault::has(Fault::ShortImmediate) => Some(value as i32),
        Width::W64 => i32::try_from(value as i64).ok(),
    });
    match short {
        Some(short) => {
            log.note(origin, Change::Operand(short as u64), value.reason);
            *src = Source::Imm(short);
            true
        }
        None => copied(state, reg),
    }
}

/// Replaces a register by the register from which its value was copied, if possible. Returns true
/// if the register was replaced.
fn copied(state: &State, reg: &mut Register) -> bool {
    let value = state.reg(*reg);
    let source = state.source_of(value).filter(|&source| source != *reg);
    let Some(source) = source.filter(|&source| stands_for(state.reg(source), value)) else {
        return false;
    };
    *reg = source;
    true
}

/// Returns true if a value can replace its copy. For this, the kernel's verifier must know as much
/// about the original value as about the copy.
fn stands_for(value: &Value, copy: &Value) -> bool {
    replaces(value, copy) || (value.kind == Kind::Any && copy.kind == Kind::Any)
}

/// Changes the base register of a memory access to the register that points closest to the start of
/// the packet, or to the frame pointer. Returns true if the access changed.
fn address(state: &State, base: &mut Register, offset: &mut i16) -> bool {
    let place = |kind: Kind| match kind {
        Kind::Packet { offset, .. } | Kind::Stack(offset) => Some(offset),
        _ => None,
    };
    let (value, reg) = (*state.reg(*base), *base);
    let Some(at) = place(value.kind) else { return copied(state, base) };
    let others = (0..=10).filter_map(Register::new).filter(|&other| other != reg);
    let candidates = others.filter_map(|other| {
        let candidate = state.reg(other);
        let from = place(candidate.kind)?;
        let new = i16::try_from(at + i64::from(*offset) - from).ok()?;
        // Distance to the start of the packet, or to the frame pointer.
        let distance = from.unsigned_abs();
        let better = distance < at.unsigned_abs()
            || (distance == at.unsigned_abs() && state.source_of(&value) == Some(other));
        (replaces(candidate, &value) && better).then_some((distance, other, new))
    });
    match candidates.min() {
        Some((_, other, new)) => {
            let new = if fault::has(Fault::OffsetKept) { *offset } else { new };
            (*base, *offset) = (other, new);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests;
