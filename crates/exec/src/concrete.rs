//! Executes a program concretely, with one packet and one initial state. Every witness is replayed
//! in this way. The code shares nothing with symbolic execution except the definition of the IR.

mod arithmetic;
mod environment;
mod numbers;

pub use environment::{ByteMap, Environment};

use arithmetic::{arithmetic, ones, signed};
use numbers::Numbers;
use rustc_hash::FxHashMap;
use slowpath_codes as codes;
use slowpath_ir::{
    BinaryOp, BlockId, CostEvent, Destination, InputKind, Op, Operand, OriginOp, Program, RegionId,
    RelianceId, Terminator,
};
use std::collections::{BTreeSet, HashMap};
use thiserror::Error;

/// The edge along which a run left a basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Taken {
    /// The block that the run left.
    pub block: BlockId,
    /// Index of the edge in [`Terminator::edges`].
    pub edge: usize,
}

/// Result of running a program to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Executed blocks in order, each with the edge along which the run left it.
    pub path: Vec<Taken>,
    /// Cost events of the run, in order.
    pub costs: Vec<CostEvent>,
    /// Number of the exit at which the run left the program.
    pub exit: u32,
    /// Final values of all bytes that the run wrote, by region and offset.
    pub written: ByteMap,
    /// Loads from regions in [`Environment::watched`], in order, each with its region and offset.
    /// Does not contain loads whose first byte the run had already written.
    pub read: Vec<(RegionId, u64)>,
    /// Final values of the registers, in the program's order.
    pub regs: Vec<u64>,
    /// Numbers that the run assigned to pairs of values, as [`BinaryOp::Intern`] does.
    pub interned: HashMap<(u64, u64), u32>,
    /// Number of [`Op::Unknown`] operations that the run executed.
    pub unknowns: usize,
    /// Assumptions on which the run relies although they may not hold ([`Op::Rely`]).
    pub relied: BTreeSet<RelianceId>,
    /// True if the run reached [`Destination::Never`]. The initial state then contradicts a
    /// guarantee of the device.
    pub impossible: bool,
}

/// The reason why a run could not be completed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConcreteError {
    /// A load or store uses an address outside all memory regions.
    #[error("instruction .{insn}: address {address:#x} is in no memory region")]
    Stray {
        /// Number of the load or store instruction in the program.
        insn: u32,
        /// The accessed address.
        address: u64,
    },
    /// An operation sets more bytes to zero than a packet or any other region can have.
    #[error("instruction .{insn} clears {bytes} bytes")]
    Cleared {
        /// Number of the instruction in the program.
        insn: u32,
        /// Number of bytes to clear.
        bytes: u64,
    },
    /// The run exceeded the maximum number of blocks.
    #[error("the run was stopped after {0} blocks")]
    TooLong(usize),
}

impl ConcreteError {
    /// Returns the code of the error's cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            ConcreteError::Stray { .. } => codes::UNKNOWN_MEMORY,
            ConcreteError::Cleared { .. } | ConcreteError::TooLong(_) => {
                codes::WITNESS_DOES_NOT_REPLAY
            }
        }
    }
}

/// Maximum distance from a region's base, in bytes, at which an address still counts as part of the
/// region.
const REACH: i128 = 1 << 33;

/// Maximum number of bytes that one operation may clear; larger than any packet.
const CLEARED: u64 = 1 << 24;

/// Runs `program` from its entry, for at most `max_blocks` blocks.
///
/// # Errors
/// See [`ConcreteError`].
pub fn run(
    program: &Program,
    environment: &Environment,
    max_blocks: usize,
) -> Result<Run, ConcreteError> {
    run_observed(program, environment, max_blocks, |_, _| {})
}

/// Runs a program like [`run`]. Before the first operation of each block, calls `entered` with the
/// block and the values of the registers.
///
/// # Errors
///
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
        // Record the base at once, because the rest of the prologue may already access the region.
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
            // Conditions have one bit, and registers never exceed their width.
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
    /// For each register, the region into which its value points; `None` if its value is not an
    /// address. The value alone does not determine the region, because offsets can exceed the
    /// distance between regions.
    points: Vec<Option<RegionId>>,
    written: ByteMap,
    /// For each byte of memory that is part of a stored address, the region into which that address
    /// points.
    spilled: FxHashMap<(RegionId, u64), RegionId>,
    /// For each region, the width and the value of its base address; `None` until the prologue has
    /// set it.
    bases: Vec<Option<(u8, u64)>>,
    numbers: Numbers<'a>,
    /// Number of [`Op::Unknown`] operations that the run has executed so far.
    unknowns: usize,
    relied: BTreeSet<RelianceId>,
    /// Loads from watched regions so far, each with its region and offset.
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

    /// Returns the region into which the result of an operation points, or `None` if the result is
    /// not an address. Does not handle loads.
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
                // Aligned, moved and tagged addresses still point into their region. The difference
                // of two addresses is a distance, and a comparison is a truth value.
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

    /// Returns the region into which an address points, and the offset from the region's base. If
    /// it is unknown to which region the address belongs, selects the region with the closest base.
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

    /// Returns the value that a byte, given by region and offset, has at the start of the run.
    fn initial(&self, key: (RegionId, u64)) -> u8 {
        match &self.program.regions[key.0.index()].content {
            Some(bytes) => {
                let byte = usize::try_from(key.1).ok().and_then(|offset| bytes.get(offset));
                byte.copied().unwrap_or(0)
            }
            None => self.environment.memory.get(&key).copied().unwrap_or(self.environment.fill),
        }
    }

    /// Loads a value. If the value is an address, also returns the region into which it points.
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
            // A value assembled from parts of different addresses is not an address.
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
        // A clearing of zero bytes is allowed through any address, even null, so check the count
        // first.
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
