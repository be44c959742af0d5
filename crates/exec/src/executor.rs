//! Executes basic blocks symbolically: registers and memory contain terms instead of numbers.
//!
//! Where paths meet, their states are merged. If a register has different values on these paths, it
//! becomes a new variable, whose value each incoming arc determines (a gated phi,
//! [`PathVariable::Phi`]). One pass over the unrolled graph therefore yields each condition as a
//! term over inputs and phis. [`crate::Resolver`] replaces the phis for one path, given by its
//! arcs. The analysis of all paths and the execution of single paths both use this module.
//!
//! This module does not know costs and does not choose paths.

use crate::ExecError;
use crate::facts::Facts;
use crate::footprint::Footprint;
use crate::index::{ArcId, NodeId};
use crate::memory::{Location, MemId, MemPool};
use crate::read::{Missing, Read};
use crate::start::{InitialByte, Start};
use rustc_hash::FxHashMap as HashMap;
use slowpath_ir::{
    BinaryOp, Block, BlockId, Destination, InputId, InsnIdx, Liveness, Op, Operand, OriginOp,
    Program, Reg, RegionId, RelianceId, Terminator,
};
use slowpath_smt::{ArrayId, Domain, Node, TermId, TermPool, VarId};
use slowpath_stop::Ticker;
use std::collections::VecDeque;
use std::rc::Rc;

/// Number of operations between two checks of the stop condition. An operation takes about a
/// microsecond, rarely a millisecond.
const OPERATIONS: u32 = 16;

/// Registers, memory and known facts at a point of the program.
#[derive(Clone, Debug)]
pub struct SymbolicState {
    /// Live registers with their values, in ascending order.
    pub(crate) regs: Rc<Vec<(Reg, TermId)>>,
    pub(crate) memory: MemId,
    pub(crate) facts: Facts,
}

impl SymbolicState {
    /// Returns the facts that hold on every path to this state.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    fn register(&self, reg: Reg) -> Option<TermId> {
        let index = self.regs.binary_search_by_key(&reg, |&(reg, _)| reg).ok()?;
        Some(self.regs[index].1)
    }
}

/// A variable whose value depends on the path.
#[derive(Clone, Debug)]
pub(crate) enum PathVariable {
    /// A value that differs between the arcs into `node`. `incoming` lists the arcs, each with its
    /// value.
    Phi { node: NodeId, incoming: Vec<(ArcId, TermId)> },
    /// The result of a load that no single term describes on all paths. The memory region of the
    /// load, or of a store that it may read from, differs between paths.
    Deferred { memory: MemId, address: TermId, bytes: u8, insn: u32 },
}

/// Symbolic executor of one program.
pub struct Executor {
    /// Pool of all terms.
    pub pool: TermPool,
    pub(crate) program: Rc<Program>,
    pub(crate) memory: MemPool,
    pub(crate) path_variables: HashMap<VarId, PathVariable>,
    /// Address of each region's first byte.
    pub(crate) bases: Vec<Option<TermId>>,
    pub(crate) arrays: Vec<ArrayId>,
    /// Initial content of each region; `None` if [`Start`] does not state it.
    pub(crate) initial: Vec<Option<InitialByte>>,
    pub(crate) reads: HashMap<(MemId, Location, Read), Result<TermId, Missing>>,
    /// True if other programs or CPUs may change shared memory at any time (see
    /// [`Start::volatile`]).
    pub(crate) volatile: bool,
    /// Locations that `locate_access` found, by the term of the address; `None` if the term does
    /// not show a location.
    pub(crate) located: HashMap<TermId, Option<Location>>,
    /// Addresses without a known location. Each has the depth of nested choices (if-then-else
    /// terms) up to which the search for a location has looked.
    pub(crate) unlocated: HashMap<TermId, u32>,
    pub(crate) insn: u32,
    /// Values that [`Op::Unknown`] operations in the prologue returned, in order of execution.
    drawn_first: Vec<TermId>,
    /// Values that [`Op::Unknown`] operations returned in each basic block instance, in order of
    /// execution.
    drawn: HashMap<NodeId, Vec<TermId>>,
    /// Values that [`Op::Unknown`] operations have returned in the block that is being executed.
    draws: Vec<TermId>,
    /// For each basic block instance, the assumptions on which a run may rely ([`Op::Rely`]). The
    /// 1-bit term of an assumption is 1 if the run relies on it.
    relied: HashMap<NodeId, Vec<(RelianceId, TermId)>>,
    /// Assumptions that the block being executed may rely on. The 1-bit term of an assumption is 1
    /// if the run relies on it.
    reliances: Vec<(RelianceId, TermId)>,
    /// Values for the next [`Op::Unknown`] operations to return, in order. If the list is empty,
    /// these operations return new unknowns.
    pub(crate) expected: VecDeque<TermId>,
    inputs: Vec<TermId>,
    live_in: Vec<Vec<Reg>>,
    /// Registers that are live at the end of each block.
    live_out: Vec<Vec<Reg>>,
    /// Values of the registers in the block that is being executed.
    pub(crate) regs: Vec<Option<TermId>>,
    /// Registers whose value in `regs` is not `None`.
    held: Vec<Reg>,
    ticker: Ticker,
}

/// Returns the registers that are live at the end of a block, because its successors read them, in
/// ascending order.
fn live_out(block: &Block, live_in: &[Vec<Reg>]) -> Vec<Reg> {
    let next = block.terminator.edges().filter_map(|edge| match edge.target {
        Destination::Block(next) => Some(next),
        Destination::Exit(_) | Destination::Never => None,
    });
    let mut live: Vec<Reg> = next.flat_map(|next| live_in[next.index()].iter().copied()).collect();
    live.sort_unstable();
    live.dedup();
    live
}

impl Executor {
    /// Creates an executor for a program, with new unknowns for inputs and memory, and executes the
    /// prologue.
    pub fn new(program: Rc<Program>) -> Result<(Self, SymbolicState), ExecError> {
        Executor::from_start(program, Start::default())
    }

    /// Creates an executor like [`new`](Self::new), but takes the values of some inputs and regions
    /// from `start`.
    pub fn from_start(
        program: Rc<Program>,
        start: Start,
    ) -> Result<(Self, SymbolicState), ExecError> {
        let Start { mut pool, inputs: known, initial, volatile } = start;
        let mut inputs = Vec::with_capacity(program.inputs.len());
        for (index, input) in program.inputs.iter().enumerate() {
            let domain = Domain::range(input.width, input.min, input.max);
            let given = known.get(&InputId::from(index)).copied();
            inputs.push(given.unwrap_or_else(|| pool.var(&input.name, domain)));
        }
        let regions = (0..program.regions.len()).map(RegionId::from);
        let given = regions.map(|region| initial.get(&region).cloned()).collect();
        let liveness = Liveness::of(&program);
        let blocks = (0..program.blocks.len()).map(BlockId::from);
        let live_in: Vec<Vec<Reg>> =
            blocks.map(|block| liveness.live_in(block).collect()).collect();
        let live_out = program.blocks.iter().map(|block| live_out(block, &live_in)).collect();
        let mut executor = Executor {
            pool,
            memory: MemPool::new(),
            path_variables: HashMap::default(),
            bases: vec![None; program.regions.len()],
            arrays: Vec::new(),
            initial: given,
            volatile,
            reads: HashMap::default(),
            located: HashMap::default(),
            unlocated: HashMap::default(),
            insn: 0,
            drawn_first: Vec::new(),
            drawn: HashMap::default(),
            draws: Vec::new(),
            relied: HashMap::default(),
            reliances: Vec::new(),
            expected: VecDeque::new(),
            inputs,
            live_in,
            live_out,
            regs: vec![None; program.regs.len()],
            held: Vec::new(),
            ticker: Ticker::new(OPERATIONS),
            program: Rc::clone(&program),
        };
        for region in &program.regions {
            let width = program.width(region.base);
            executor.arrays.push(match &region.content {
                Some(bytes) => executor.pool.constant_array(&region.name, width, bytes),
                None => executor.pool.array(&region.name, width),
            });
        }
        let mut state = SymbolicState {
            regs: Rc::new(Vec::new()),
            memory: MemPool::INITIAL,
            facts: Facts::new(),
        };
        for origin in &program.prologue {
            executor.step(origin, &mut state)?;
            executor.find_bases();
        }
        executor.drawn_first = std::mem::take(&mut executor.draws);
        state.regs = executor.keep(&executor.live_in[program.entry.index()]);
        Ok((executor, state))
    }

    /// Records the base address of each region whose base register the prologue has just written.
    /// The rest of the prologue can then access the region.
    fn find_bases(&mut self) {
        for (base, region) in self.bases.iter_mut().zip(&self.program.regions) {
            *base = base.or(self.regs[region.base.index()]);
        }
        // An address without a known target may point into a new region.
        self.located.clear();
        self.unlocated.clear();
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the term of the packet's length in bytes. Returns `None` if the program has no input
    /// for the length.
    pub fn packet_length(&self) -> Option<TermId> {
        self.program.packet_length.map(|input| self.inputs[input.index()])
    }

    /// Returns the terms of all inputs, in the program's order.
    pub fn inputs(&self) -> &[TermId] {
        &self.inputs
    }

    /// Returns the array that represents the initial content of a region.
    pub fn array(&self, region: RegionId) -> ArrayId {
        self.arrays[region.index()]
    }

    /// Returns the results of the [`Op::Unknown`] operations in the block instance at `node`, in
    /// order of execution. A result with only one possible value is a constant.
    pub fn unknowns(&self, node: NodeId) -> &[TermId] {
        self.drawn.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns the assumptions that the block instance at `node` may rely on ([`Op::Rely`]). The
    /// 1-bit term of an assumption is 1 if the run relies on it.
    pub fn reliances(&self, node: NodeId) -> &[(RelianceId, TermId)] {
        self.relied.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns the results of the [`Op::Unknown`] operations in the prologue, in order of
    /// execution.
    pub fn prologue_unknowns(&self) -> &[TermId] {
        &self.drawn_first
    }

    /// Executes the block at a node and updates `state`. Returns the branch condition if the block
    /// ends in a branch.
    ///
    /// # Errors
    ///
    /// See [`ExecError`].
    pub fn run_block(
        &mut self,
        node: NodeId,
        block: BlockId,
        state: &mut SymbolicState,
    ) -> Result<Option<TermId>, ExecError> {
        let program = Rc::clone(&self.program);
        let (id, block) = (block, program.block(block));
        // Only reset registers in use: a program can have many more registers than a block.
        self.held.drain(..).for_each(|reg| self.regs[reg.index()] = None);
        for &(reg, value) in state.regs.iter() {
            self.set(reg, value);
        }
        self.draws.clear();
        self.reliances.clear();
        for origin in &block.ops {
            self.ticker.tick(self.pool.stop()).map_err(ExecError::Stopped)?;
            self.step(origin, state)?;
        }
        if !self.draws.is_empty() {
            self.drawn.insert(node, std::mem::take(&mut self.draws));
        }
        if !self.reliances.is_empty() {
            self.relied.insert(node, std::mem::take(&mut self.reliances));
        }
        let condition = match block.terminator {
            Terminator::Jump(_) => None,
            Terminator::Branch { cond, .. } => {
                self.insn = block.insns.last().map_or(block.first.0, |insn| insn.0);
                Some(self.operand(cond.into(), &state.facts)?)
            }
        };
        state.regs = self.keep(&self.live_out[id.index()]);
        Ok(condition)
    }

    /// Returns those registers in `live` that have a value, each with its value.
    fn keep(&self, live: &[Reg]) -> Rc<Vec<(Reg, TermId)>> {
        let value = |&reg: &Reg| self.regs[reg.index()].map(|value| (reg, value));
        Rc::new(live.iter().filter_map(value).collect())
    }

    /// Returns the state of runs in which a branch condition has the value `holds`. Returns `None`
    /// if the facts in `state` rule this value out.
    pub fn assume(
        &self,
        state: &SymbolicState,
        condition: TermId,
        holds: bool,
    ) -> Option<SymbolicState> {
        let mut facts = state.facts.clone();
        facts.assume(&self.pool, condition, holds, None).ok()?;
        Some(SymbolicState { facts, ..state.clone() })
    }

    /// Merges the states that arrive at the start of `block`, one along each arc.
    pub fn merge(
        &mut self,
        node: NodeId,
        block: BlockId,
        mut incoming: Vec<(ArcId, SymbolicState)>,
    ) -> Result<SymbolicState, ExecError> {
        // A single arc needs no phi, which saves work when terms are resolved.
        if incoming.len() == 1 {
            return Ok(incoming.swap_remove(0).1);
        }
        let mut regs = Vec::with_capacity(self.live_in[block.index()].len());
        // Registers that are equal on every path share a phi, so the executor still knows that they
        // are equal.
        let mut made: HashMap<Vec<TermId>, TermId> = HashMap::default();
        for index in 0..self.live_in[block.index()].len() {
            let reg = self.live_in[block.index()][index];
            let values: Option<Vec<TermId>> =
                incoming.iter().map(|(_, state)| state.register(reg)).collect();
            // A register without a value on some path has no value after the merge; reading it is
            // an error.
            let Some(values) = values else { continue };
            let merged = match made.get(&values) {
                Some(&term) => term,
                None => {
                    let arcs: Vec<ArcId> = incoming.iter().map(|&(arc, _)| arc).collect();
                    let term = self.merge_values(node, &arcs, &values);
                    made.insert(values, term);
                    term
                }
            };
            regs.push((reg, merged));
        }
        let first = incoming[0].1.memory;
        let memory = if incoming.iter().all(|(_, state)| state.memory == first) {
            first
        } else {
            let incoming = incoming.iter().map(|(arc, state)| (*arc, state.memory)).collect();
            self.memory.merge(node, incoming)
        };
        let ways: Vec<&Facts> = incoming.iter().map(|(_, state)| &state.facts).collect();
        let mut facts = Facts::join(&ways);
        for (values, &merged) in &made {
            if matches!(self.pool.node(merged), Node::Var(_)) && !values.contains(&merged) {
                facts.merge(&self.pool, merged, values, &ways);
            }
        }
        Ok(SymbolicState { regs: Rc::new(regs), memory, facts })
    }

    /// Merges the values that arrive along several arcs into one term. The result is a phi, or the
    /// value itself if all values are equal. If all values are pointers into one region, the result
    /// is the region's base plus a merged offset, so the region stays known.
    pub(crate) fn merge_values(
        &mut self,
        node: NodeId,
        arcs: &[ArcId],
        values: &[TermId],
    ) -> TermId {
        if values.iter().all(|&value| value == values[0]) {
            return values[0];
        }
        let located: Option<Vec<Location>> = values.iter().map(|&v| self.locate(v)).collect();
        if let Some(located) = located
            && located.iter().all(|location| location.region == located[0].region)
        {
            let offsets: Vec<TermId> = located.iter().map(|location| location.offset).collect();
            let offset = self.phi(node, arcs, &offsets);
            if let Some(base) = self.bases[located[0].region.index()] {
                return self.pool.add(base, offset);
            }
        }
        self.phi(node, arcs, values)
    }

    fn phi(&mut self, node: NodeId, arcs: &[ArcId], values: &[TermId]) -> TermId {
        if values.iter().all(|&value| value == values[0]) {
            return values[0];
        }
        let domain = values[1..]
            .iter()
            .fold(self.pool.domain(values[0]), |all, &v| all.join(&self.pool.domain(v)));
        let term = self.pool.var(&format!("phi{}.{}", node.0, self.path_variables.len()), domain);
        let incoming = arcs.iter().copied().zip(values.iter().copied()).collect();
        self.register_path_variable(term, PathVariable::Phi { node, incoming });
        term
    }

    pub(crate) fn register_path_variable(&mut self, term: TermId, leaf: PathVariable) {
        if let Node::Var(var) = *self.pool.node(term) {
            self.path_variables.insert(var, leaf);
        }
    }

    /// Returns the term of an operand. If the facts leave only one value, returns a constant.
    fn operand(&mut self, operand: Operand, facts: &Facts) -> Result<TermId, ExecError> {
        let reg = match operand {
            Operand::Const { value, width } => return Ok(self.pool.constant(width, value)),
            Operand::Reg(reg) => reg,
        };
        let term = self.regs[reg.index()].ok_or_else(|| ExecError::Undefined {
            insn: self.insn,
            register: self.program.regs[reg.index()].name.clone(),
        })?;
        // Sound although the facts only hold on the paths to this state: results computed with the
        // constant are only used on these paths.
        Ok(match facts.constant(term) {
            Some(value) => self.pool.constant(self.pool.width(term), value),
            None => term,
        })
    }

    fn step(&mut self, origin: &OriginOp, state: &mut SymbolicState) -> Result<(), ExecError> {
        let InsnIdx(insn) = origin.insn;
        self.insn = insn;
        let width = origin.op.dst().map_or(0, |reg| self.program.width(reg));
        let value = match origin.op {
            Op::Copy { src, .. } => self.operand(src, &state.facts)?,
            Op::Not { src, .. } => {
                let src = self.operand(src, &state.facts)?;
                self.pool.not(src)
            }
            Op::Extract { src, lo, .. } => {
                let src = self.operand(src, &state.facts)?;
                self.pool.extract(src, lo, width)
            }
            Op::ZeroExtend { src, .. } => {
                let src = self.operand(src, &state.facts)?;
                self.pool.zext(src, width)
            }
            Op::SignExtend { src, .. } => {
                let src = self.operand(src, &state.facts)?;
                self.pool.sext(src, width)
            }
            Op::Select { cond, then, other, .. } => {
                let cond = self.operand(cond, &state.facts)?;
                let then = self.operand(then, &state.facts)?;
                let other = self.operand(other, &state.facts)?;
                // If the facts decide the condition, the term contains only the chosen value.
                match state.facts.decide(&self.pool, cond) {
                    Some(true) => then,
                    Some(false) => other,
                    None => self.pool.ite(cond, then, other),
                }
            }
            Op::Input { input, .. } => self.inputs[input.index()],
            Op::Unknown { min, max, .. } => {
                let drawn = self.draw(Domain::range(width, min, max));
                self.draws.push(drawn);
                drawn
            }
            Op::Binary { op, a, b, .. } => {
                let a = self.operand(a, &state.facts)?;
                let b = self.operand(b, &state.facts)?;
                self.binary(op, a, b)
            }
            Op::Load { addr, .. } => {
                let addr = self.operand(addr, &state.facts)?;
                self.load(state.memory, addr, width / 8)
            }
            Op::Store { addr, value } => {
                let address = self.operand(addr, &state.facts)?;
                let value = self.operand(value, &state.facts)?;
                let location = self.locate_access(address);
                // Later reads skip stores by their footprints. So the footprint must cover all
                // bytes that the store can write on any path.
                let written = match location {
                    Some(location) => self.footprint(location, self.pool.width(value) / 8),
                    None => self.regions(address).map_or(Footprint::Anywhere, Footprint::regions),
                };
                let to = (address, location);
                state.memory = self.memory.store(state.memory, to, value, insn, written);
                return Ok(());
            }
            Op::Clear { addr, bytes } => {
                let address = self.operand(addr, &state.facts)?;
                let bytes = self.operand(bytes, &state.facts)?;
                // A clearing of zero bytes writes nothing, wherever the address points.
                if self.pool.as_const(bytes) == Some(0) {
                    return Ok(());
                }
                let location = self.locate_access(address);
                let regions = match location {
                    Some(location) => Some(vec![location.region]),
                    None => self.regions(address),
                };
                let written = regions.map_or(Footprint::Anywhere, Footprint::regions);
                let to = (address, location);
                state.memory = self.memory.clear(state.memory, to, bytes, insn, written);
                return Ok(());
            }
            Op::Rely { cond, on } => {
                let cond = self.operand(cond, &state.facts)?;
                if self.pool.as_const(cond) != Some(0) {
                    self.reliances.push((on, cond));
                }
                return Ok(());
            }
        };
        if let Some(dst) = origin.op.dst() {
            self.set(dst, value);
        }
        Ok(())
    }

    fn set(&mut self, reg: Reg, value: TermId) {
        if self.regs[reg.index()].replace(value).is_none() {
            self.held.push(reg);
        }
    }

    /// Returns the result of an [`Op::Unknown`] operation. Takes the next value in `expected` if
    /// its possible values lie within `domain`, otherwise a new unknown.
    fn draw(&mut self, domain: Domain) -> TermId {
        // A value outside of this draw's domain belongs to another draw.
        if let Some(next) = self.expected.pop_front()
            && self.pool.width(next) == domain.width()
            && self.pool.domain(next).lo() >= domain.lo()
            && self.pool.domain(next).hi() <= domain.hi()
        {
            return next;
        }
        let name = format!("unknown{}.{}", self.insn, self.pool.var_count());
        self.pool.var(&name, domain)
    }

    fn binary(&mut self, op: BinaryOp, a: TermId, b: TermId) -> TermId {
        let pool = &mut self.pool;
        match op {
            BinaryOp::Add => pool.add(a, b),
            BinaryOp::Sub => pool.sub(a, b),
            BinaryOp::Mul => pool.mul(a, b),
            BinaryOp::Udiv => pool.udiv(a, b),
            BinaryOp::Urem => pool.urem(a, b),
            BinaryOp::Sdiv => pool.sdiv(a, b),
            BinaryOp::Srem => pool.srem(a, b),
            BinaryOp::And => pool.and(a, b),
            BinaryOp::Or => pool.or(a, b),
            BinaryOp::Xor => pool.xor(a, b),
            BinaryOp::Shl => pool.shl(a, b),
            BinaryOp::Lshr => pool.lshr(a, b),
            BinaryOp::Ashr => pool.ashr(a, b),
            BinaryOp::Eq => pool.eq(a, b),
            BinaryOp::Ult => pool.ult(a, b),
            BinaryOp::Slt => pool.slt(a, b),
            BinaryOp::Concat => pool.concat(a, b),
            BinaryOp::Intern => pool.intern(a, b),
        }
    }
}
