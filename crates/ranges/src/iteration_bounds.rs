//! Bounds the number of loop iterations by registers and memory that change in each iteration, such
//! as a counter or a pointer into the packet.
//!
//! Suppose a value lies between two bounds at the start of each iteration. Each iteration moves the
//! value in the same direction by at least some step. Then the distance between the bounds, divided
//! by this step, limits the iterations. The analysis need not look at the exit condition of the
//! loop, because the bounds from [`Ranges`] already reflect it.

use std::collections::BTreeMap;

use slowpath_domain::Domain;
use slowpath_ir::{BinaryOp, BlockId, Destination, FlowGraph, Loop, Op, Operand, Program, Reg};
use slowpath_ir::{LoopId, RegionId, RegionKind};
use slowpath_stop::{Reason, Stop};

use crate::options::Setting;
use crate::ranges::Ranges;
use crate::state::AbstractState;
use crate::value::Value;

/// A storage location that keeps its value between iterations: a register, or bytes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    Reg(Reg),
    /// Bytes at a constant offset from the base of a region: region, offset and number of bytes.
    Cell(RegionId, i64, u8),
}

/// A value that changes during an iteration: its distance from the value that a register or memory
/// cell had at the start of the iteration, modulo 2^`bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Movement {
    from: Slot,
    /// Minimum and maximum distance from the value at the start of the iteration.
    lo: i128,
    hi: i128,
    bits: u8,
}

impl Movement {
    fn by(self, (lo, hi): (i128, i128), bits: u8) -> Movement {
        Movement { lo: self.lo + lo, hi: self.hi + hi, bits: self.bits.min(bits), ..self }
    }

    fn join(self, other: Movement) -> Option<Movement> {
        let (lo, hi) = (self.lo.min(other.lo), self.hi.max(other.hi));
        let bits = self.bits.min(other.bits);
        (self.from == other.from).then_some(Movement { from: self.from, lo, hi, bits })
    }
}

/// For each tracked register or memory cell, the movement of its value since the start of the
/// iteration.
type Moves = BTreeMap<Slot, Movement>;

/// Returns, for each loop, the maximum number of executions of its header after one entry into the
/// loop. `None` if neither a register nor memory bounds this number.
///
/// `flow` and `ranges` must belong to the same program.
///
/// # Errors
/// Returns the reason if `stop` triggers.
pub fn iteration_bounds(
    program: &Program,
    flow: &FlowGraph,
    ranges: &Ranges,
    stop: &Stop,
) -> Result<Vec<Option<u64>>, Reason> {
    let setting = Setting { program, memory: ranges.memory() };
    let analysis = IterationBounds { setting, flow, ranges, stop };
    (0..flow.loops.len()).map(|id| analysis.of(LoopId::from(id))).collect()
}

struct IterationBounds<'a> {
    setting: Setting<'a>,
    flow: &'a FlowGraph,
    ranges: &'a Ranges,
    stop: &'a Stop,
}

impl IterationBounds<'_> {
    fn of(&self, id: LoopId) -> Result<Option<u64>, Reason> {
        let current_loop = &self.flow.loops[id.index()];
        let program = self.setting.program;
        let Some(start) = self.ranges.state(program, current_loop.header) else {
            return Ok(Some(0));
        };
        let mut at: BTreeMap<BlockId, Moves> = BTreeMap::new();
        at.insert(current_loop.header, self.slots(current_loop, &start));
        let mut iteration: Option<Moves> = None;
        let mut repeats = false;
        for &block in &current_loop.blocks {
            self.stop.check()?;
            let Some(mut moves) = at.remove(&block) else { continue };
            let inner = self.flow.innermost[block.index()].filter(|&inner| inner != id);
            if let Some(inner) = inner
                && self.flow.loops[inner.index()].header == block
            {
                self.forget(&self.flow.loops[inner.index()], &mut moves);
            }
            if !self.run(block, &mut moves) {
                continue;
            }
            for (index, edge) in program.block(block).terminator.edges().enumerate() {
                let Destination::Block(next) = edge.target else { continue };
                if !self.ranges.edge_reachable(block, index) {
                    continue;
                }
                if next == current_loop.header {
                    repeats = true;
                    iteration = Some(match iteration {
                        Some(known) => joined(&known, &moves),
                        None => moves.clone(),
                    });
                } else if self.is_inside(next, id) {
                    let known = at.get(&next).map(|known| joined(known, &moves));
                    at.insert(next, known.unwrap_or_else(|| moves.clone()));
                }
            }
        }
        if !repeats {
            return Ok(Some(1));
        }
        let iteration = iteration.unwrap_or_default();
        let counted = iteration.iter().filter(|(slot, moved)| **slot == moved.from);
        let bounds = counted.filter_map(|(slot, moved)| steps(value(&start, *slot)?, *moved));
        Ok(bounds.min())
    }

    fn is_inside(&self, block: BlockId, id: LoopId) -> bool {
        let mut enclosing = self.flow.innermost[block.index()];
        while let Some(inner) = enclosing.filter(|&inner| inner != id) {
            enclosing = self.flow.loops[inner.index()].parent;
        }
        enclosing == Some(id)
    }

    /// Returns the registers and memory cells that may bound the iterations, without any movement
    /// yet. These are the registers that the loop writes, and all tracked memory cells, if their
    /// values have bounds.
    fn slots(&self, current_loop: &Loop, start: &AbstractState) -> Moves {
        let program = self.setting.program;
        let ops = current_loop.blocks.iter().flat_map(|&block| &program.block(block).ops);
        let written = ops.filter_map(|origin| origin.op.dst());
        let registers = written.filter(|reg| start.regs[reg.index()].is_some()).map(Slot::Reg);
        let cells = start.cells.iter().map(|cell| Slot::Cell(cell.region, cell.offset, cell.bytes));
        let slots = registers.chain(cells).filter_map(|slot| Some((slot, value(start, slot)?)));
        slots
            .filter(|(_, value)| !value.domain.is_full() || value.address().is_some())
            .map(|(slot, value)| {
                (slot, Movement { from: slot, lo: 0, hi: 0, bits: value.domain.width() })
            })
            .collect()
    }

    /// Forgets the registers and memory cells that an inner loop may change.
    fn forget(&self, inner: &Loop, moves: &mut Moves) {
        let program = self.setting.program;
        for origin in inner.blocks.iter().flat_map(|&block| &program.block(block).ops) {
            match origin.op {
                Op::Store { .. } | Op::Clear { .. } => {
                    moves.retain(|slot, _| matches!(slot, Slot::Reg(_)));
                }
                op => {
                    op.dst().map(|dst| moves.remove(&Slot::Reg(dst)));
                }
            }
        }
    }

    /// Applies a store: forgets the memory cells that it may overwrite, and tracks the stored
    /// value. Does not track values stored to maps, because other CPUs write to maps as well.
    fn store(
        &self,
        state: &AbstractState,
        (addr, bytes): (Operand, u8),
        moved: Option<Movement>,
        moves: &mut Moves,
    ) {
        let Some((region, lo, hi)) = address_range(state, addr) else {
            moves.retain(|slot, _| matches!(slot, Slot::Reg(_)));
            return;
        };
        let end = i128::from(hi) + i128::from(bytes);
        moves.retain(|slot, _| match *slot {
            Slot::Reg(_) => true,
            Slot::Cell(other, offset, length) => {
                let is_before = i128::from(offset) + i128::from(length) <= i128::from(lo);
                other != region || is_before || i128::from(offset) >= end
            }
        });
        let shared = self.setting.program.regions[region.index()].kind == RegionKind::Map;
        if let Some(moved) = moved.filter(|_| lo == hi && !shared) {
            moves.insert(Slot::Cell(region, lo, bytes), moved);
        }
    }

    /// Applies the operations of a block to the movements of the tracked values. Returns false if
    /// the block is unreachable.
    fn run(&self, block: BlockId, moves: &mut Moves) -> bool {
        let program = self.setting.program;
        let Some(mut state) = self.ranges.state(program, block) else { return false };
        for origin in &program.block(block).ops {
            self.step(&origin.op, &state, moves);
            state.step(&self.setting, &origin.op);
        }
        true
    }

    /// Applies an operation to the movements of the tracked values; `state` is the abstract state
    /// before the operation.
    fn step(&self, op: &Op, state: &AbstractState, moves: &mut Moves) {
        let of = |operand| match operand {
            Operand::Reg(reg) => moves.get(&Slot::Reg(reg)).copied(),
            Operand::Const { .. } => None,
        };
        let width = |reg: Reg| self.setting.program.width(reg);
        let result = match *op {
            Op::Store { addr, value } => {
                let moved = of(value);
                let bytes = match value {
                    Operand::Reg(reg) => width(reg) / 8,
                    Operand::Const { width, .. } => width / 8,
                };
                self.store(state, (addr, bytes), moved, moves);
                return;
            }
            Op::Clear { .. } => {
                moves.retain(|slot, _| matches!(slot, Slot::Reg(_)));
                return;
            }
            Op::Copy { src, .. } | Op::ZeroExtend { src, .. } | Op::SignExtend { src, .. } => {
                of(src)
            }
            Op::Extract { dst, src, lo: 0 } => of(src).map(|moved| moved.by((0, 0), width(dst))),
            Op::Select { then, other, .. } => {
                of(then).zip(of(other)).and_then(|(then, other)| then.join(other))
            }
            Op::Binary { op: BinaryOp::Add, dst, a, b } => {
                let sum = |moved: Option<Movement>, by| {
                    moved.map(|moved| moved.by(distance(state, by), width(dst)))
                };
                sum(of(a), b).or_else(|| sum(of(b), a))
            }
            Op::Binary { op: BinaryOp::Sub, dst, a, b } => of(a).map(|moved| {
                let (lo, hi) = distance(state, b);
                moved.by((-hi, -lo), width(dst))
            }),
            // Only the low bits of the result come from the slot.
            Op::Binary { op: BinaryOp::Concat, b: low, .. } => of(low),
            Op::Load { dst, addr } => {
                let cell = cell(state, addr, width(dst) / 8);
                cell.and_then(|cell| moves.get(&cell).copied())
            }
            _ => None,
        };
        let Some(dst) = op.dst() else { return };
        match result {
            Some(moved) => moves.insert(Slot::Reg(dst), moved),
            None => moves.remove(&Slot::Reg(dst)),
        };
    }
}

/// Returns a set of movements that covers two sets of movements.
fn joined(a: &Moves, b: &Moves) -> Moves {
    let both = a.iter().filter_map(|(slot, moved)| Some((*slot, moved.join(*b.get(slot)?)?)));
    both.collect()
}

/// Returns the value that a register or memory cell has in a state; `None` if it is unknown.
fn value(state: &AbstractState, slot: Slot) -> Option<Value> {
    let number = match slot {
        Slot::Reg(reg) => state.regs[reg.index()]?,
        Slot::Cell(region, offset, bytes) => {
            let location = (region, offset, bytes);
            state.cells.iter().find(|cell| cell.location() == location)?.number
        }
    };
    Some(state.values[number as usize].value)
}

/// Returns the minimum and the maximum of an operand, signed or unsigned. Chooses the signed bounds
/// if they include negative numbers and are not wider than the unsigned bounds.
fn distance(state: &AbstractState, operand: Operand) -> (i128, i128) {
    let domain = match operand {
        Operand::Const { value, width } => Domain::constant(width, value),
        Operand::Reg(reg) => state.value(reg),
    };
    let unsigned = (i128::from(domain.lo()), i128::from(domain.hi()));
    let (lo, hi) = domain.signed_range();
    let signed = (i128::from(lo), i128::from(hi));
    if signed.1 - signed.0 <= unsigned.1 - unsigned.0 && signed.0 < 0 { signed } else { unsigned }
}

/// Returns the region that an address points into, and the minimum and maximum offset in bytes from
/// its base; `None` if the region is unknown.
fn address_range(state: &AbstractState, addr: Operand) -> Option<(RegionId, i64, i64)> {
    let Operand::Reg(reg) = addr else { return None };
    let origin = state.value_and_origin(reg).address()?;
    let (lo, hi) = origin.offset.signed_range();
    Some((origin.region, lo, hi))
}

/// Returns the memory cell that an access reads or writes; `None` if its address is not constant.
fn cell(state: &AbstractState, addr: Operand, bytes: u8) -> Option<Slot> {
    let (region, lo, hi) = address_range(state, addr)?;
    (lo == hi).then_some(Slot::Cell(region, lo, bytes))
}

/// Returns the maximum number of iterations of a loop in which each iteration moves a register or
/// memory cell by `moved`. Its value stays within the bounds of `value`.
fn steps(value: Value, moved: Movement) -> Option<u64> {
    let span = |domain: &Domain| {
        let unsigned = i128::from(domain.hi()) - i128::from(domain.lo());
        let (lo, hi) = domain.signed_range();
        unsigned.min(i128::from(hi) - i128::from(lo))
    };
    let offset = value.address().map(|origin| span(&origin.offset));
    let between = offset.unwrap_or(i128::MAX).min(span(&value.domain));
    let (least, most) = match (moved.lo, moved.hi) {
        (lo, hi) if lo > 0 => (lo, hi),
        (lo, hi) if hi < 0 => (-hi, -lo),
        _ => return None,
    };
    // The step is the difference of two values only if the value does not wrap around.
    if between + most >= 1_i128 << moved.bits {
        return None;
    }
    u64::try_from(between / least + 1).ok()
}
