//! Concrete execution: one packet, one path. Replays every witness, so it shares nothing with the
//! symbolic step but the IR's definition.

mod arithmetic;
mod environment;
mod numbers;

pub use environment::{ByteMap, Environment};

use arithmetic::{arithmetic, ones, signed};
use numbers::Numbers;
use rustc_hash::FxHashMap;
use slowpath_ir::{
    BinaryOp, BlockId, CostEvent, Destination, InputKind, Op, Operand, OriginOp, Program, RegionId,
    RelianceId, Terminator,
};
use std::collections::{BTreeSet, HashMap};
use thiserror::Error;

/// Which way a run left a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Taken {
    /// The block.
    pub block: BlockId,
    /// The index of the edge among [`Terminator::edges`].
    pub edge: usize,
}

/// A complete run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The blocks in order, with the ways out of them.
    pub path: Vec<Taken>,
    /// The work done, in order.
    pub costs: Vec<CostEvent>,
    /// The number of the exit.
    pub exit: u32,
    /// Bytes written and not restored, by region and offset.
    pub written: ByteMap,
    /// The first byte of every load from a region that is watched ([`Environment::watched`]), if it
    /// was not written before, in order.
    pub read: Vec<(RegionId, u64)>,
    /// The registers at the end, in the program's order.
    pub regs: Vec<u64>,
    /// All pairs that got a number, with it.
    pub interned: HashMap<(u64, u64), u32>,
    /// How many times an [`Op::Unknown`] was executed.
    pub unknowns: usize,
    /// What it relied on.
    pub relied: BTreeSet<RelianceId>,
    /// Whether it ended where no run comes: what it started from contradicts what the device
    /// guarantees.
    pub impossible: bool,
}

/// A run that could not be completed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConcreteError {
    /// A load or store outside of all regions.
    #[error("instruction .{insn}: address {address:#x} is in no memory region")]
    Stray {
        /// The instruction.
        insn: u32,
        /// The address.
        address: u64,
    },
    /// More bytes cleared at once than any device has.
    #[error("instruction .{insn} clears {bytes} bytes")]
    Cleared {
        /// The instruction.
        insn: u32,
        /// How many.
        bytes: u64,
    },
    /// More blocks than allowed.
    #[error("the run was stopped after {0} blocks")]
    TooLong(usize),
}

/// Farthest distance from a region's base that still belongs to it, in bytes.
const REACH: i128 = 1 << 33;

/// Most bytes that one operation clears: beyond any packet.
const CLEARED: u64 = 1 << 24;

/// Runs `program` from its entry.
///
/// # Errors
/// See [`ConcreteError`]; `max_blocks` bounds the run.
pub fn run(
    program: &Program,
    environment: &Environment,
    max_blocks: usize,
) -> Result<Run, ConcreteError> {
    run_observed(program, environment, max_blocks, |_, _| {})
}

/// The same; calls `entered` with every block before its first operation, and with the registers.
///
/// # Errors
/// See [`run`].
pub fn run_observed(
    program: &Program,
    environment: &Environment,
    max_blocks: usize,
    mut entered: impl FnMut(BlockId, &[u64]),
) -> Result<Run, ConcreteError> {
    let mut core = Core {
        program,
        environment,
        regs: vec![0; program.regs.len()],
        points: vec![None; program.regs.len()],
        written: ByteMap::default(),
        spilled: FxHashMap::default(),
        bases: vec![None; program.regions.len()],
        numbers: Numbers::new(environment),
        unknowns: 0,
        relied: BTreeSet::new(),
        read: Vec::new(),
    };
    for origin in &program.prologue {
        core.step(origin)?;
        // At once, because the rest of the prologue may access the region already.
        for (base, region) in core.bases.iter_mut().zip(&program.regions) {
            if origin.op.dst() == Some(region.base) {
                *base = Some((program.width(region.base), core.regs[region.base.index()]));
            }
        }
    }
    let mut run = Run::default();
    let mut block_id = program.entry;
    loop {
        if run.path.len() >= max_blocks {
            return Err(ConcreteError::TooLong(max_blocks));
        }
        let block = program.block(block_id);
        entered(block_id, &core.regs);
        for origin in &block.ops {
            core.step(origin)?;
        }
        run.costs.extend(&block.costs);
        let (index, edge) = match &block.terminator {
            Terminator::Jump(edge) => (0, edge),
            // Conditions have one bit, and registers hold no more than their width.
            Terminator::Branch { cond, taken, .. } if core.regs[cond.index()] == 1 => (0, taken),
            Terminator::Branch { fallthrough, .. } => (1, fallthrough),
        };
        run.costs.extend(&edge.costs);
        run.path.push(Taken { block: block_id, edge: index });
        match edge.target {
            Destination::Block(next) => block_id = next,
            Destination::Exit(_) | Destination::Never => {
                run.impossible = edge.target == Destination::Never;
                if let Destination::Exit(exit) = edge.target {
                    run.exit = exit;
                }
                run.written = core.written;
                run.regs = core.regs;
                run.interned = core.numbers.of;
                run.unknowns = core.unknowns;
                run.relied = core.relied;
                run.read = core.read;
                return Ok(run);
            }
        }
    }
}

struct Core<'a> {
    program: &'a Program,
    environment: &'a Environment,
    regs: Vec<u64>,
    /// For registers that hold an address: of which region. Offsets can be larger than the distance
    /// between regions, so that the value alone does not tell.
    points: Vec<Option<RegionId>>,
    written: ByteMap,
    /// The same for bytes in memory.
    spilled: FxHashMap<(RegionId, u64), RegionId>,
    /// Width of addresses and address of the first byte, once the prologue has set it.
    bases: Vec<Option<(u8, u64)>>,
    numbers: Numbers<'a>,
    /// How many values were drawn.
    unknowns: usize,
    relied: BTreeSet<RelianceId>,
    /// Where it loaded from regions that are watched.
    read: Vec<(RegionId, u64)>,
}

impl Core<'_> {
    fn value(&self, operand: Operand) -> (u64, u8) {
        match operand {
            Operand::Reg(reg) => (self.regs[reg.index()], self.program.width(reg)),
            Operand::Const { value, width } => (value, width),
        }
    }

    fn points(&self, operand: Operand) -> Option<RegionId> {
        match operand {
            Operand::Reg(reg) => self.points[reg.index()],
            Operand::Const { .. } => None,
        }
    }

    /// Of which region the result of an operation other than a load is an address, if of any.
    fn result_points(&self, op: &Op) -> Option<RegionId> {
        match *op {
            Op::Copy { src, .. }
            | Op::ZeroExtend { src, .. }
            | Op::SignExtend { src, .. }
            | Op::Extract { src, .. } => self.points(src),
            Op::Select { cond, then, other, .. } => {
                self.points(if self.value(cond).0 == 1 { then } else { other })
            }
            Op::Input { input, .. } => match self.program.inputs[input.index()].kind {
                InputKind::BaseAddress(region) => Some(region),
                InputKind::PacketLength | InputKind::Unknown => None,
            },
            Op::Binary { op, a, b, .. } => match (op, self.points(a), self.points(b)) {
                (BinaryOp::Eq | BinaryOp::Ult | BinaryOp::Slt | BinaryOp::Intern, ..) => None,
                // Aligned, moved, tagged: still of that region. The difference of two addresses is
                // a distance, and a comparison is a truth value.
                (_, Some(region), None) => Some(region),
                (BinaryOp::Add | BinaryOp::And | BinaryOp::Or, None, Some(region)) => Some(region),
                _ => None,
            },
            Op::Not { .. }
            | Op::Unknown { .. }
            | Op::Load { .. }
            | Op::Store { .. }
            | Op::Clear { .. }
            | Op::Rely { .. } => None,
        }
    }

    fn step(&mut self, origin: &OriginOp) -> Result<(), ConcreteError> {
        let mut points = self.result_points(&origin.op);
        let width = origin.op.dst().map_or(64, |reg| self.program.width(reg));
        let result = match origin.op {
            Op::Copy { src, .. } | Op::ZeroExtend { src, .. } => self.value(src).0,
            Op::Not { src, .. } => !self.value(src).0,
            Op::Extract { src, lo, .. } => self.value(src).0 >> lo,
            Op::SignExtend { src, .. } => {
                let (value, from) = self.value(src);
                signed(value, from) as u64
            }
            Op::Select { cond, then, other, .. } => {
                self.value(if self.value(cond).0 == 1 { then } else { other }).0
            }
            Op::Input { input, .. } => {
                let info = &self.program.inputs[input.index()];
                self.environment.inputs.get(&input).copied().unwrap_or(info.min)
            }
            Op::Unknown { min, .. } => {
                let drawn = self.environment.unknowns.get(self.unknowns).copied();
                self.unknowns += 1;
                drawn.unwrap_or(min)
            }
            Op::Binary { op, a, b, .. } => {
                let ((a, width), (b, low_width)) = (self.value(a), self.value(b));
                arithmetic(op, a, b, width, low_width)
                    .unwrap_or_else(|| self.numbers.number((a, b)).into())
            }
            Op::Load { addr, .. } => {
                let (value, of) = self.load(addr, width, origin.insn.0)?;
                points = of;
                value
            }
            Op::Store { addr, value } => return self.store(addr, value, origin.insn.0),
            Op::Clear { addr, bytes } => return self.clear(addr, bytes, origin.insn.0),
            Op::Rely { cond, on } => {
                if self.value(cond).0 == 1 {
                    self.relied.insert(on);
                }
                return Ok(());
            }
        };
        if let Some(dst) = origin.op.dst() {
            self.regs[dst.index()] = result & ones(width);
            self.points[dst.index()] = points;
        }
        Ok(())
    }

    /// The region of an address, and the offset from its base. Where nothing tells what the address
    /// was computed from, it is the region whose base is closest.
    fn place(&self, addr: Operand, insn: u32) -> Result<(RegionId, u64), ConcreteError> {
        let (address, width) = self.value(addr);
        let known = self.bases.iter().enumerate();
        let candidates = known.filter_map(|(index, base)| Some((index, (*base)?)));
        // A device can have address spaces of several widths, in which the same numbers occur.
        let of_width = candidates.filter(|(_, base)| base.0 == width);
        let points = self.points(addr);
        let own = points.and_then(|region| Some((region, self.bases[region.index()]?)));
        if let Some((region, (_, base))) = own.filter(|(_, base)| base.0 == width) {
            return Ok((region, address.wrapping_sub(base) & ones(width)));
        }
        let nearest = of_width
            .map(|(index, (_, base))| {
                let distance = (i128::from(address) - i128::from(base)).abs();
                (distance, index, base)
            })
            .min()
            .filter(|&(distance, ..)| distance <= REACH);
        let (.., index, base) = nearest.ok_or(ConcreteError::Stray { insn, address })?;
        Ok((RegionId::from(index), address.wrapping_sub(base) & ones(width)))
    }

    /// What a byte is before anything is written.
    fn initial(&self, key: (RegionId, u64)) -> u8 {
        match &self.program.regions[key.0.index()].content {
            Some(bytes) => {
                let byte = usize::try_from(key.1).ok().and_then(|offset| bytes.get(offset));
                byte.copied().unwrap_or(0)
            }
            None => self.environment.memory.get(&key).copied().unwrap_or(self.environment.fill),
        }
    }

    /// The value, and of which region it is an address.
    fn load(
        &mut self,
        addr: Operand,
        width: u8,
        insn: u32,
    ) -> Result<(u64, Option<RegionId>), ConcreteError> {
        let (_, address_width) = self.value(addr);
        let (region, offset) = self.place(addr, insn)?;
        let at = |byte: u64| (region, offset.wrapping_add(byte) & ones(address_width));
        if self.environment.watched.contains(&region) && !self.written.contains_key(&at(0)) {
            self.read.push(at(0));
        }
        let points = self.spilled.get(&at(0)).copied();
        let mut same = true;
        let mut value = 0;
        for byte in 0..u64::from(width / 8) {
            let key = at(byte);
            let byte_there = self.written.get(&key).copied().unwrap_or_else(|| self.initial(key));
            value |= u64::from(byte_there) << (8 * byte);
            // Put together from pieces of two addresses it is none.
            same &= self.spilled.get(&key).copied() == points;
        }
        Ok((value, points.filter(|_| same)))
    }

    fn store(&mut self, addr: Operand, value: Operand, insn: u32) -> Result<(), ConcreteError> {
        let (_, address_width) = self.value(addr);
        let points = self.points(value);
        let (value, width) = self.value(value);
        let (region, offset) = self.place(addr, insn)?;
        for byte in 0..u64::from(width / 8) {
            let key = (region, offset.wrapping_add(byte) & ones(address_width));
            self.written.insert(key, (value >> (8 * byte)) as u8);
            match points {
                Some(points) => self.spilled.insert(key, points),
                None => self.spilled.remove(&key),
            };
        }
        Ok(())
    }

    fn clear(&mut self, addr: Operand, bytes: Operand, insn: u32) -> Result<(), ConcreteError> {
        let (count, width) = self.value(bytes);
        // Before the address is looked at: nothing is cleared through any, a null pointer included.
        if count == 0 {
            return Ok(());
        }
        let (region, offset) = self.place(addr, insn)?;
        if count > CLEARED {
            return Err(ConcreteError::Cleared { insn, bytes: count });
        }
        for byte in 0..count {
            let key = (region, offset.wrapping_add(byte) & ones(width));
            self.written.insert(key, 0);
            self.spilled.remove(&key);
        }
        Ok(())
    }
}
