//! Finds the registers and the bytes of the stack frame that are read later (liveness), as input
//! for passes that remove code.

use crate::analysis::{Analysis, Kind, Value};
use crate::effect::{Effect, Registers};
use crate::fault::{self, Fault};
use crate::graph::{BlockId, Graph, Instr, Op};
use crate::helpers;
use slowpath_bpf::insn::{Call, Insn, Register, Size, Width};
use std::collections::BTreeMap;

/// The abstract values of all registers at a point in the program, which are all of the state that
/// liveness depends on.
pub(super) type Held = [Value; 11];

/// Size of a stack frame, in bytes (`MAX_BPF_STACK` of the kernel).
const FRAME: i64 = 512;

/// The registers and the bytes of the stack frame that are read after a point in the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Live {
    pub regs: Registers,
    /// One bit for each byte of the stack frame, from the lowest address on; set if the byte is
    /// read later.
    stack: [u64; FRAME as usize / 64],
}

impl Live {
    fn union(mut self, other: Live) -> Live {
        self.regs = self.regs.union(other.regs);
        for (word, more) in self.stack.iter_mut().zip(other.stack) {
            *word |= more;
        }
        self
    }

    /// Returns true if any of these bytes of the stack frame is read later. `offset` is relative to
    /// the frame pointer.
    pub fn any_of(&self, offset: i64, bytes: i64) -> bool {
        bits(offset, bytes).any(|bit| self.stack[bit / 64] >> (bit % 64) & 1 == 1)
    }

    fn read(&mut self, offset: i64, bytes: i64) {
        let bytes = bytes - i64::from(fault::has(Fault::ReadTooShort));
        bits(offset, bytes).for_each(|bit| self.stack[bit / 64] |= 1 << (bit % 64));
    }

    fn written(&mut self, offset: i64, bytes: i64) {
        bits(offset, bytes).for_each(|bit| self.stack[bit / 64] &= !(1 << (bit % 64)));
    }

    /// Converts the liveness after an instruction to the liveness before it. `held` contains the
    /// register values before the instruction.
    pub fn before(&mut self, instr: &Instr, held: &Held) {
        let effect = Effect::of(&instr.op);
        self.regs = self.regs.without(effect.writes).union(effect.reads);
        let frame = |base: Register| match kind(held, base) {
            Kind::Stack(offset) => Some(offset),
            _ => None,
        };
        let all = (-FRAME, FRAME);
        match instr.op {
            Op::Insn(Insn::Load { size, base, offset, .. }) => {
                self.access(held, base, i64::from(offset), size);
            }
            Op::Insn(Insn::LoadAcquire { size, base, offset, .. }) => {
                self.access(held, base, i64::from(offset), size);
            }
            Op::Insn(Insn::Atomic { width, base, offset, .. }) => {
                let size = if width == Width::W64 { Size::DW } else { Size::W };
                self.access(held, base, i64::from(offset), size);
            }
            Op::Insn(Insn::Store { size, base, offset, .. }) => {
                if let Some(at) = frame(base) {
                    self.written(at + i64::from(offset), size.bytes().into());
                }
            }
            Op::Insn(Insn::Call(Call::Helper(number))) => {
                let effect = helpers::effect(number);
                if fault::has(Fault::HelpersReadNothing) {
                    return;
                }
                for reg in (1..=effect.arguments).filter_map(Register::new) {
                    match kind(held, reg) {
                        // Known helpers read only bytes at and above the address in an argument.
                        Kind::Stack(at) if effect != helpers::UNKNOWN => self.read(at, -at),
                        Kind::Stack(_) | Kind::Any => self.read(all.0, all.1),
                        _ => {}
                    }
                }
            }
            Op::Call(_) | Op::Insn(Insn::Call(_)) => self.read(all.0, all.1),
            _ => {}
        }
    }

    /// Marks as live the bytes of the stack frame that a memory access may read.
    fn access(&mut self, held: &Held, base: Register, offset: i64, size: Size) {
        match kind(held, base) {
            Kind::Stack(at) => self.read(at + offset, size.bytes().into()),
            Kind::Any | Kind::Number(_) => self.read(-FRAME, FRAME),
            _ => {}
        }
    }
}

fn kind(held: &Held, reg: Register) -> Kind {
    held[usize::from(reg.number())].kind
}

/// Lists the indices of bytes in the stack frame, counted from its lowest address. `offset` is
/// relative to the frame pointer.
fn bits(offset: i64, bytes: i64) -> impl Iterator<Item = usize> {
    let (first, end) = (offset.max(-FRAME), offset.saturating_add(bytes).min(0));
    (first..end).map(|at| (at + FRAME) as usize)
}

/// Returns, for each reachable block, the registers and stack bytes that are read after the jump or
/// branch at its end.
pub(super) fn at_ends(graph: &Graph, analysis: &mut Analysis<'_>) -> BTreeMap<BlockId, Live> {
    let order = graph.order(0);
    let mut before: BTreeMap<BlockId, Vec<Held>> = BTreeMap::new();
    for &block in &order {
        let mut known = Vec::new();
        analysis.walk(graph, block, |_, _, state| known.push(state.regs));
        before.insert(block, known);
    }
    let mut starts: BTreeMap<BlockId, Live> = BTreeMap::new();
    let mut ends: BTreeMap<BlockId, Live> = BTreeMap::new();
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev() {
            let Graph { blocks, .. } = graph;
            let next = blocks[block].end.successors().filter_map(|next| starts.get(&next));
            let end = next.fold(Live::default(), |all, &live| all.union(live));
            let mut live = end;
            live.regs = live.regs.union(Effect::of_end(blocks[block].end));
            let known = &before[&block];
            if known.len() == blocks[block].insns.len() {
                for (instr, held) in blocks[block].insns.iter().zip(known).rev() {
                    live.before(instr, held);
                }
            } else {
                // No packet reaches this block, but the verifier may still analyse it.
                for instr in blocks[block].insns.iter().rev() {
                    let effect = Effect::of(&instr.op);
                    live.regs = live.regs.without(effect.writes).union(effect.reads);
                }
                live.read(-FRAME, FRAME);
            }
            ends.insert(block, end);
            changed |= starts.insert(block, live) != Some(live);
        }
    }
    ends
}
