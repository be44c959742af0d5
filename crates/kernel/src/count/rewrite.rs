//! Changes a program so that it counts its executed instructions: inserts additions to a counter.
//! Also replaces helper calls by fixed results.

use std::collections::BTreeMap;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{
    AluOp, AtomicOp, Call, Imm64, Insn, Register, Size, Source, Width, helper::TAIL_CALL,
};
use slowpath_random::Random;

use super::answers::{Answer, replacement};
use crate::rewriting::{DEEPEST, RegisterState, before, free_stack_offset, insert_and_replace};

/// Number of low bits of the counter that count instructions. The bits above them add up the
/// weights of executed blocks.
pub const COUNT_BITS: u32 = 32;

/// Weight of a basic block: the amount that each execution of the block adds to the counter,
/// besides its number of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// No weight: the counter counts only instructions.
    None,
    /// A pseudo-random number in the bits above [`COUNT_BITS`]. It depends on the block's first
    /// slot, and on the index of the program in its object. The tuple field is this index.
    Random(usize),
}

impl Weights {
    /// Returns the weight of the block that starts at the slot `start`; `None` if blocks have no
    /// weights.
    fn weight(self, start: usize) -> Option<u32> {
        let Weights::Random(program) = self else { return None };
        let seed = (program as u64) << 32 ^ start as u64;
        Some((Random::new(seed).bits() >> 32) as u32)
    }
}

/// Inserts an addition to the counter into each basic block, and replaces the calls listed in
/// `answers` by fixed results. `counter` is the index of the map that contains the counter.
///
/// # Errors
/// A short reason, for example if a block has no room for the inserted instructions.
pub fn counting(
    program: &BpfProgram,
    counter: u32,
    answers: &[Answer],
    weights: Weights,
) -> Result<BpfProgram, &'static str> {
    let starts = block_starts(program);
    let before = before(program);
    let mut added = BTreeMap::new();
    for (n, &start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(program.insns.len());
        let (at, scratch) = place(program, &before, start..end)?;
        let count = (start..end).filter(|&slot| program.insns[slot] != Insn::SecondSlot).count();
        added.insert(at, scratch.addition(counter, weights.weight(start), count as i32));
    }
    insert_and_replace(program, &added, &replacements(program, answers)?)
}

/// Replaces the calls listed in `answers` by fixed results.
///
/// # Errors
/// A short reason if an answer does not fit the call that it replaces.
pub fn answering(program: &BpfProgram, answers: &[Answer]) -> Result<BpfProgram, &'static str> {
    insert_and_replace(program, &BTreeMap::new(), &replacements(program, answers)?)
}

/// Returns the instructions that replace the calls listed in `answers`, by the slot of each call.
///
/// # Errors
/// A short reason if an answer does not fit the call that it replaces.
pub fn replacements(
    program: &BpfProgram,
    answers: &[Answer],
) -> Result<BTreeMap<usize, Vec<Insn>>, &'static str> {
    let each = |answer: &Answer| Ok((answer.instruction, replacement(program, answer)?));
    answers.iter().map(each).collect()
}

/// Returns the first instruction slots of the basic blocks, in order. A tail call ends a block,
/// because it does not return if it succeeds.
fn block_starts(program: &BpfProgram) -> Vec<usize> {
    let insns = &program.insns;
    let mut starts: Vec<usize> = program.subprograms.iter().map(|f| f.first).collect();
    starts.push(0);
    for (slot, insn) in insns.iter().enumerate() {
        starts.extend(insn.jump_target(slot));
        starts.extend(insn.function_target(slot));
        let ends = insn.jump_offset().is_some()
            || matches!(
                insn,
                Insn::Exit | Insn::LoadPacket { .. } | Insn::Call(Call::Helper(TAIL_CALL))
            );
        starts.extend(ends.then_some(slot + 1));
    }
    starts.retain(|&slot| slot < insns.len());
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Two registers that inserted instructions can overwrite. A register that the program still needs
/// is saved on the stack before these instructions, and restored after them.
struct Scratch {
    registers: [Register; 2],
    saved: Vec<(Register, i16)>,
}

impl Scratch {
    fn addition(&self, counter: u32, weight: Option<u32>, count: i32) -> Vec<Insn> {
        let [address, number] = self.registers;
        let value = Imm64::MapValue { map: counter, offset: 0 };
        let base = Register::FRAME;
        let save = |&(register, offset): &(Register, i16)| Insn::Store {
            size: Size::DW,
            base,
            offset,
            src: Source::Reg(register),
        };
        let restore = |&(dst, offset): &(Register, i16)| Insn::Load {
            size: Size::DW,
            signed: false,
            dst,
            base,
            offset,
        };
        let mut insns: Vec<Insn> = self.saved.iter().map(save).collect();
        insns.extend([Insn::LoadImm64 { dst: address, value }, Insn::SecondSlot]);
        let (width, op) = (Width::W64, AluOp::Mov);
        match weight.map(|weight| u64::from(weight) << COUNT_BITS | u64::from(count as u32)) {
            None => insns.push(Insn::Alu { width, op, dst: number, src: Source::Imm(count) }),
            Some(both) => insns.extend([
                Insn::LoadImm64 { dst: number, value: Imm64::Value(both) },
                Insn::SecondSlot,
            ]),
        }
        let op = AtomicOp::Add { fetch: false };
        insns.push(Insn::Atomic { op, width, base: address, offset: 0, src: number });
        insns.extend(self.saved.iter().map(restore));
        insns
    }
}

/// Chooses the place in a block for the addition to the counter: the first slot at which the fewest
/// registers must be saved. Returns this slot and the two registers that the addition overwrites.
fn place(
    program: &BpfProgram,
    before: &[RegisterState],
    block: std::ops::Range<usize>,
) -> Result<(usize, Scratch), &'static str> {
    let bottom = free_stack_offset(program, block.start);
    let mut best: Option<(usize, Scratch)> = None;
    for slot in block.filter(|&slot| program.insns[slot] != Insn::SecondSlot) {
        let RegisterState { free, set } = before[slot];
        let mut registers: Vec<Register> = free.iter().take(2).collect();
        let occupied = set.without(free).iter().take(2 - registers.len());
        let saved: Vec<(Register, i16)> = occupied.zip([bottom - 8, bottom - 16]).collect();
        registers.extend(saved.iter().map(|(register, _)| *register));
        let Ok(registers) = registers.try_into() else { continue };
        let fits = saved.iter().all(|&(_, offset)| offset >= DEEPEST);
        let better = best.as_ref().is_none_or(|(_, known)| saved.len() < known.saved.len());
        if fits && better {
            let done = saved.is_empty();
            best = Some((slot, Scratch { registers, saved }));
            if done {
                break;
            }
        }
    }
    best.ok_or("there is no register and no room on the stack")
}
