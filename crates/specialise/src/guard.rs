//! Adds a guard to a rewritten program: checks, at its entry, of the facts about packets on which
//! the rewritten code relies.
//!
//! A guarded program contains the code twice: rewritten after the checks, and unchanged for packets
//! that fail them. The analysis of the rewritten code starts without facts about packets, and
//! learns them from the checks as from any other branch.

mod comparisons;

pub use comparisons::Comparison;
pub(crate) use comparisons::comparisons;

use crate::graph::{Block, BlockId, End, Graph, Instr, Op, Test};
use slowpath_bpf::insn::{AluOp, Condition, Imm64, Insn, Register, Size, Source, Width};
use slowpath_ir::Field;
use std::collections::{BTreeMap, BTreeSet};

/// Offset in bytes of the pointer to the packet's start in the context (`struct xdp_md`). The next
/// constant is the offset of the pointer to the packet's end.
const DATA: i16 = 0;
const DATA_END: i16 = 4;

/// Adds a guard, which checks facts about packets, at the start of a program. The guard first
/// checks that the frozen maps are unchanged: the first 8 bytes of the map `generation` must be
/// zero. With `None`, it checks no map. Then it checks the minimum packet length in bytes, all
/// comparisons, and that each field has one of its values. All bytes that the guard loads must lie
/// within `min_length`.
pub(crate) fn guarded(
    graph: &Graph,
    generation: Option<u32>,
    min_length: u16,
    comparisons: &[Comparison],
    values: &BTreeMap<Field, BTreeSet<u64>>,
) -> Graph {
    let entry = graph.entry();
    let origin = graph.blocks[entry].insns.first().map_or(graph.blocks[entry].origin, |i| i.origin);
    let mut guarded = graph.clone();
    guarded.blocks.push(Block { insns: Vec::new(), end: End::Original, origin });
    let plain = guarded.blocks.len() - 1;
    let mut builder = Builder { graph: guarded, origin, original: plain };
    let mut next = entry;
    for (&field, values) in values.iter().rev() {
        next = builder.one_of(field, values, next);
    }
    for comparison in comparisons.iter().rev() {
        next = builder.compare(comparison, next);
    }
    if min_length > 0 {
        next = builder.long_enough(min_length, next);
    }
    let entry = generation.map_or(next, |map| builder.check_generation(map, next));
    builder.graph.functions[0].1 = entry;
    builder.graph
}

/// Register that contains the pointer to the context (`struct xdp_md`). At the start of the guard,
/// all other registers are free.
const CONTEXT: Register = Register::R1;
const PACKET: Register = Register::R2;
const END: Register = Register::R3;
const LEFT: Register = Register::R4;
const RIGHT: Register = Register::R5;

/// Returns the maximum number of instructions that a guard executes for a packet that passes all
/// its checks. The passes may later make the guard shorter.
pub(crate) fn instructions(
    generation: Option<u32>,
    min_length: u16,
    comparisons: &[Comparison],
    values: &BTreeMap<Field, BTreeSet<u64>>,
) -> usize {
    let map = if generation.is_some() { 3 } else { 0 };
    let length = if min_length > 0 { 5 } else { 0 };
    let fields = values.values().map(|values| 1 + values.len()).sum::<usize>();
    map + length + comparisons.iter().map(Comparison::instructions).sum::<usize>() + fields
}

struct Builder {
    graph: Graph,
    origin: usize,
    /// Block that jumps to the unchanged original program if a check fails.
    original: BlockId,
}

impl Builder {
    /// Adds a block with a check. If `test` holds, the check has failed and the original program
    /// runs; otherwise the block `next` follows.
    fn block(&mut self, insns: Vec<Insn>, test: Test, next: BlockId) -> BlockId {
        let origin = self.origin;
        let instr = |insn| Instr { op: Op::Insn(insn), origin };
        let end = End::Branch { test, taken: self.original, other: next };
        self.graph.blocks.push(Block {
            insns: insns.into_iter().map(instr).collect(),
            end,
            origin,
        });
        self.graph.blocks.len() - 1
    }

    /// Adds a check that the frozen maps have not changed: their generation, the first 8 bytes of
    /// the map with index `map`, must be 0.
    fn check_generation(&mut self, map: u32, next: BlockId) -> BlockId {
        let value = Imm64::MapValue { map, offset: 0 };
        let (size, dst, base) = (Size::DW, PACKET, PACKET);
        let insns = vec![
            Insn::LoadImm64 { dst, value },
            Insn::Load { size, signed: false, dst, base, offset: 0 },
        ];
        let (width, cond) = (Width::W64, Condition::Ne);
        self.block(insns, Test { width, cond, dst, src: Source::Imm(0) }, next)
    }

    fn long_enough(&mut self, length: u16, next: BlockId) -> BlockId {
        let field =
            |dst, offset| Insn::Load { size: Size::W, signed: false, dst, base: CONTEXT, offset };
        let insns = vec![
            field(PACKET, DATA),
            field(END, DATA_END),
            alu(AluOp::Mov, LEFT, Source::Reg(PACKET)),
            alu(AluOp::Add, LEFT, Source::Imm(length.into())),
        ];
        let (width, cond) = (Width::W64, Condition::Gt);
        self.block(insns, Test { width, cond, dst: LEFT, src: Source::Reg(END) }, next)
    }

    fn compare(&mut self, comparison: &Comparison, next: BlockId) -> BlockId {
        let (insns, cond, src) = comparison.code(PACKET, [LEFT, RIGHT]);
        self.block(insns, Test { width: Width::W64, cond, dst: LEFT, src }, next)
    }

    /// Adds a check that a packet field has one of these values, which are in network byte order.
    fn one_of(&mut self, field: Field, values: &BTreeSet<u64>, next: BlockId) -> BlockId {
        let size = Size::from_bytes(field.bytes.into()).unwrap_or(Size::B);
        let offset = i16::try_from(field.offset).unwrap_or(i16::MAX);
        let load = Insn::Load { size, signed: false, dst: LEFT, base: PACKET, offset };
        let mut values = values
            .iter()
            .rev()
            .map(|value| value.swap_bytes() >> (u64::BITS - u32::from(size.bits())));
        let mut insns = Vec::new();
        let test = compared(&mut insns, Condition::Ne, values.next().unwrap_or(0));
        let mut first = self.block(insns, test, next);
        for value in values {
            let mut insns = Vec::new();
            let test = compared(&mut insns, Condition::Eq, value);
            let other = self.block(insns, test, first);
            self.graph.blocks[other].end = End::Branch { test, taken: next, other: first };
            first = other;
        }
        let instr = Instr { op: Op::Insn(load), origin: self.origin };
        self.graph.blocks[first].insns.insert(0, instr);
        first
    }
}

/// Returns a test that compares the number in register `LEFT` with `value`. If `value` does not fit
/// into an immediate, adds an instruction to `insns` that loads it.
fn compared(insns: &mut Vec<Insn>, cond: Condition, value: u64) -> Test {
    let src = match i32::try_from(value as i64) {
        Ok(short) => Source::Imm(short),
        Err(_) => {
            insns.push(Insn::LoadImm64 { dst: RIGHT, value: Imm64::Value(value) });
            Source::Reg(RIGHT)
        }
    };
    Test { width: Width::W64, cond, dst: LEFT, src }
}

fn alu(op: AluOp, dst: Register, src: Source) -> Insn {
    Insn::Alu { width: Width::W64, op, dst, src }
}

#[cfg(feature = "faults")]
mod fault_injection;
#[cfg(feature = "faults")]
pub(crate) use fault_injection::spoil;

#[cfg(test)]
mod tests;
