//! The walk over the program: follows control flow with what is known about values, and lifts each
//! block when it is reached, again if less turns out to be known there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use slowpath_ir::{
    Block, BlockId, CostClassId, CostEvent, Edge, Emit, InsnIdx, Operand, RelianceId, Target,
    Terminator,
};

use slowpath_stop::Ticker;

use super::LiftOptions;
use super::arrivals::Arrivals;
use super::error::{Cause, LiftError, VERIFIER};
use super::frame::{Frame, Frames, Phase, Place, UnitId, leaders};
use super::machine::Machine;
use super::maps::MapLayout;
use super::plan::{Plan, Uses};
use super::reach::unreachable;
use super::registers::Before;
use super::stale::Stale;
use super::value::{Known, State};
use crate::insn::{Call, Insn, POISON};
use crate::{BpfProgram, Object};

/// Blocks after which a program is refused rather than inlined further.
const MAX_BLOCKS: usize = 200_000;
/// Instructions between two looks at whether to give up.
pub(super) const INSTRUCTIONS: u32 = 64;
/// Deepest nesting of calls (`MAX_CALL_FRAMES` of the kernel).
const MAX_FRAMES: u8 = 8;

/// How control goes on behind an instruction.
pub(super) enum Next {
    /// To the next instruction.
    On,
    To(Place),
    /// To the first place if the bit is set, else to the second.
    Either(Operand, Place, Place),
    /// To the place if the bit is set; else the run contradicts what the kernel guarantees.
    Only(Operand, Place),
    /// The program ends.
    Exit,
    /// The program ends if the bit is set, else goes on at the place.
    ExitOr(Operand, Place),
}

/// A linked program and where its instructions are among those of the lifted one.
pub(super) struct Unit {
    pub program: BpfProgram,
    pub first_insn: usize,
    leaders: BTreeSet<usize>,
}

/// Lifts one program.
pub(super) struct Lifter<'a> {
    pub object: &'a Object,
    pub options: &'a LiftOptions,
    pub units: Vec<Unit>,
    /// Units of the object's programs that tail calls lead to.
    unit_of: HashMap<usize, UnitId>,
    pub machine: Machine,
    pub frames: Frames,
    /// What is known at the current instruction.
    pub state: State,
    pub assumptions: BTreeSet<String>,
    /// What single runs can rely on.
    pub reliances: Vec<String>,
    /// The maps used, by name.
    pub layouts: BTreeMap<String, MapLayout>,
    /// What is followed of them.
    pub plan: Plan,
    /// How they are used.
    pub uses: Uses,
    /// Bytes that functions read before they write them, as is known.
    pub stale: Stale,
    /// The same, as far as the program is lifted.
    pub unwritten: Stale,
    classes: BTreeMap<String, CostClassId>,
    pub blocks: Vec<Option<Block>>,
    ids: HashMap<Place, BlockId>,
    states: HashMap<Place, State>,
    arrivals: HashMap<Place, Arrivals>,
    pending: BTreeSet<(BlockId, Place)>,
    costs: Vec<CostEvent>,
    /// The instruction being lifted.
    pub at: Place,
    /// Its number, and the block that it is lifted for.
    pub insn: InsnIdx,
    pub block: BlockId,
    /// What is known of `r0` to `r10` before each instruction.
    pub before: Before,
    /// Counts the stretches of instructions that are entered at their start only.
    pub stretch: u32,
    /// How many frames are around each block.
    pub depths: Vec<u8>,
    ticker: Ticker,
}

impl<'a> Lifter<'a> {
    pub fn new(
        object: &'a Object,
        program: &BpfProgram,
        options: &'a LiftOptions,
        (plan, stale): (Plan, Stale),
    ) -> Self {
        let mut lifter = Lifter {
            object,
            options,
            units: Vec::new(),
            unit_of: HashMap::new(),
            machine: Machine::new(),
            frames: Frames::default(),
            state: State::start(),
            assumptions: BTreeSet::new(),
            reliances: Vec::new(),
            layouts: BTreeMap::new(),
            plan,
            uses: Uses::default(),
            stale,
            unwritten: Stale::new(),
            classes: BTreeMap::new(),
            blocks: Vec::new(),
            ids: HashMap::new(),
            states: HashMap::new(),
            arrivals: HashMap::new(),
            pending: BTreeSet::new(),
            costs: Vec::new(),
            at: Place { frame: 0, slot: 0, phase: Phase::Start },
            insn: InsnIdx(0),
            block: BlockId(0),
            before: Before::new(),
            stretch: 0,
            depths: Vec::new(),
            ticker: Ticker::new(INSTRUCTIONS),
        };
        lifter.add_unit(program.clone());
        lifter
    }

    fn add_unit(&mut self, program: BpfProgram) -> UnitId {
        let last = self.units.last();
        let first_insn = last.map_or(0, |unit| unit.first_insn + unit.program.insns.len());
        let leaders = leaders(&program);
        self.units.push(Unit { program, first_insn, leaders });
        self.units.len() - 1
    }

    /// The unit of a program of the object, linked when first needed.
    pub fn unit(&mut self, program: usize) -> Result<UnitId, Cause> {
        if let Some(&unit) = self.unit_of.get(&program) {
            return Ok(unit);
        }
        let linked = self
            .object
            .link(program, self.options.kernel.as_deref())
            .map_err(|error| Cause::new(error.to_string(), "it is the target of a tail call"))?;
        let unit = self.add_unit(linked);
        self.unit_of.insert(program, unit);
        Ok(unit)
    }

    /// Lifts everything that can be reached.
    pub fn run(&mut self) -> Result<(), LiftError> {
        let frame = self.frames.id(Frame { unit: 0, function: 0, depth: 0, ret: None });
        let start = Place { frame, slot: 0, phase: Phase::Start };
        let state = Rc::new(self.state.clone());
        self.reach(start, None, &state)?;
        while let Some((id, place)) = self.pending.pop_first() {
            self.state = self.states[&place].clone();
            self.block = id;
            let block = self.block(place)?;
            self.blocks[id.index()] = Some(block);
        }
        for Unit { program, .. } in &self.units {
            if let Some(slot) = unreachable(program) {
                let cause = Cause::new("nothing leads to this instruction", VERIFIER);
                return Err(LiftError::at(program, slot, cause));
            }
        }
        Ok(())
    }

    /// The blocks and cost classes, once everything is lifted.
    pub fn finish(&mut self) -> (Vec<Block>, Vec<String>) {
        let blocks = std::mem::take(&mut self.blocks).into_iter().flatten().collect();
        let mut classes = vec![String::new(); self.classes.len()];
        for (name, id) in std::mem::take(&mut self.classes) {
            classes[id.index()] = name;
        }
        (blocks, classes)
    }

    /// The block at a place that is reached in a state, from the end of the block at `from`.
    fn reach(
        &mut self,
        place: Place,
        from: Option<Place>,
        state: &Rc<State>,
    ) -> Result<BlockId, LiftError> {
        let next = BlockId::from(self.ids.len());
        let id = *self.ids.entry(place).or_insert(next);
        let arrivals = self.arrivals.entry(place).or_default();
        if self.states.contains_key(&place) {
            if arrivals.add(from, state) {
                let joined = arrivals.joined((place.frame, place.slot), self.states.get(&place));
                if self.states.get(&place) != Some(&joined) {
                    self.states.insert(place, joined);
                    self.pending.insert((id, place));
                }
            }
        } else {
            arrivals.add(from, state);
            self.states.insert(place, State::clone(state));
            self.blocks.push(None);
            self.depths.push(self.frames.get(place.frame).depth);
            self.pending.insert((id, place));
        }
        if self.blocks.len() > MAX_BLOCKS {
            let what = format!("the program has more than {MAX_BLOCKS} blocks after inlining");
            let hint = "fewer or smaller functions, or calls from fewer places, help";
            return Err(LiftError::program(what, hint));
        }
        Ok(id)
    }

    fn block(&mut self, place: Place) -> Result<Block, LiftError> {
        let (insns, next) = self.body(place)?;
        let unit = self.frames.get(place.frame).unit;
        let first = self.number(unit, place.slot);
        let terminator = self.terminator(place, next)?;
        let costs = std::mem::take(&mut self.costs);
        Ok(Block { first, insns, ops: self.machine.emit.take_ops(), costs, terminator })
    }

    /// Lifts the instructions of a block, from what is known at its start; returns their numbers and
    /// how control goes on.
    pub fn body(&mut self, place: Place) -> Result<(Vec<InsnIdx>, Next), LiftError> {
        self.machine.emit.begin_block();
        self.costs.clear();
        let mut insns = Vec::new();
        let unit = self.frames.get(place.frame).unit;
        let mut at = place;
        loop {
            self.ticker.tick(&self.options.stop).map_err(LiftError::stop)?;
            let insn = self.number(unit, at.slot);
            self.machine.emit.begin_insn(insn.index(), self.called(at));
            self.insn = insn;
            if at.phase == Phase::Start {
                insns.push(insn);
                if unit == 0 {
                    let key = (at.frame, self.stretch, at.slot);
                    self.before.insert(key, self.state.regs);
                }
            }
            self.at = at;
            let step = self.step(at);
            let next = step.map_err(|c| LiftError::at(&self.units[unit].program, at.slot, c))?;
            let Next::On = next else { return Ok((insns, next)) };
            let slots = self.units[unit].program.insns[at.slot].slots().max(1);
            at = Place { slot: at.slot + slots, phase: Phase::Start, ..at };
            if self.units[unit].leaders.contains(&at.slot) {
                return Ok((insns, Next::To(at)));
            }
        }
    }

    /// The number of an instruction in the lifted program.
    fn number(&self, unit: UnitId, slot: usize) -> InsnIdx {
        InsnIdx::from(self.units[unit].first_insn + slot)
    }

    fn terminator(&mut self, at: Place, next: Next) -> Result<Terminator, LiftError> {
        let state = Rc::new(self.state.clone());
        let from = Some(at);
        let edge = |target| Edge { target, costs: Vec::new() };
        let exit = || edge(Target::Exit(0));
        Ok(match next {
            Next::On | Next::Exit => Terminator::Jump(exit()),
            Next::To(place) => {
                Terminator::Jump(edge(Target::Block(self.reach(place, from, &state)?)))
            }
            Next::ExitOr(cond, place) => Terminator::Branch {
                cond: self.machine.condition(cond),
                taken: exit(),
                fallthrough: edge(Target::Block(self.reach(place, from, &state)?)),
            },
            Next::Only(cond, place) => Terminator::Branch {
                cond: self.machine.condition(cond),
                taken: edge(Target::Block(self.reach(place, from, &state)?)),
                fallthrough: edge(Target::Never),
            },
            Next::Either(_, yes, no) if yes == no => {
                Terminator::Jump(edge(Target::Block(self.reach(yes, from, &state)?)))
            }
            Next::Either(cond, yes, no) => Terminator::Branch {
                cond: self.machine.condition(cond),
                taken: edge(Target::Block(self.reach(yes, from, &state)?)),
                fallthrough: edge(Target::Block(self.reach(no, from, &state)?)),
            },
        })
    }

    /// Where the bit is set, the run relies on what the sentence says.
    pub fn rely(&mut self, cond: Operand, sentence: String) {
        let known = self.reliances.iter().position(|known| *known == sentence);
        let on = known.unwrap_or_else(|| {
            self.reliances.push(sentence);
            self.reliances.len() - 1
        });
        self.machine.emit.rely(cond, RelianceId::from(on));
    }

    /// Counts an instruction as work of a class.
    pub fn cost(&mut self, at: Place, class: &str) {
        let unit = self.frames.get(at.frame).unit;
        let next = CostClassId::from(self.classes.len());
        let class = match self.classes.get(class) {
            Some(&id) => id,
            None => *self.classes.entry(class.to_owned()).or_insert(next),
        };
        self.costs.push(CostEvent { insn: self.number(unit, at.slot), class });
    }

    /// Lifts one instruction, or one step of it.
    fn step(&mut self, at: Place) -> Result<Next, Cause> {
        let unit = &self.units[self.frames.get(at.frame).unit];
        let Some(&insn) = unit.program.insns.get(at.slot) else {
            return Err(Cause::new("control runs over the end of the program", VERIFIER));
        };
        self.machine.enter(self.frames.get(at.frame).depth);
        match (insn, at.phase) {
            (Insn::Call(Call::Helper(POISON)), _) => {
                let unit = &self.units[self.frames.get(at.frame).unit];
                let what = unit.program.unresolved(at.slot).unwrap_or("it is not resolved");
                let hint = "give the types of the kernel it is for with --btf";
                Err(Cause::new(what, hint))
            }
            (Insn::Call(Call::Helper(number)), Phase::Start) => self.helper(at, number),
            (Insn::Call(Call::Helper(number)), Phase::WhichMap(map)) => {
                self.which_map(at, number, map)
            }
            (Insn::Call(Call::Helper(number)), Phase::OnMap(map)) => self.on_map(at, number, map),
            (Insn::Call(Call::Helper(_)), Phase::Slot(_) | Phase::Enter(_)) => {
                self.tail_call_step(at)
            }
            (Insn::Call(Call::Helper(number)), _) => self.loop_step(at, number),
            (Insn::Call(Call::Subprogram { .. }), _) => {
                self.cost(at, "call");
                let function = insn.function_target(at.slot).unwrap_or(usize::MAX);
                let ret = Place { slot: at.slot + 1, ..at };
                let place = self.enter_function(at, function, ret)?;
                Ok(Next::To(place))
            }
            (Insn::Call(Call::Kfunc { .. }), _) => self.kfunc(at),
            (Insn::Exit, _) => self.exit(at),
            (Insn::Jump { .. }, _) => {
                self.cost(at, "jump");
                Ok(Next::To(self.jump_target(at, insn)?))
            }
            (Insn::Branch { width, cond, dst, src, .. }, _) => {
                self.cost(at, "jump");
                let taken = self.jump_target(at, insn)?;
                let fallthrough = Place { slot: at.slot + 1, ..at };
                Ok(match self.decide(width, cond, dst, src) {
                    Some(true) => Next::To(taken),
                    Some(false) => Next::To(fallthrough),
                    None => {
                        let cond = self.comparison(width, cond, dst, src);
                        Next::Either(cond, taken, fallthrough)
                    }
                })
            }
            (Insn::MayGoto { .. }, _) => {
                // The kernel's budget for such loops is part of no contract: either way is possible.
                self.cost(at, "jump");
                let taken = self.jump_target(at, insn)?;
                let coin = self.machine.emit.coin("the budget", &["left", "used up"]);
                Ok(Next::Either(coin, taken, Place { slot: at.slot + 1, ..at }))
            }
            _ => self.plain(at, insn).map(|()| Next::On),
        }
    }

    fn jump_target(&self, at: Place, insn: Insn) -> Result<Place, Cause> {
        let slot = insn.jump_target(at.slot);
        let slot = slot.ok_or_else(|| Cause::new("a jump before the program", VERIFIER))?;
        Ok(Place { slot, phase: Phase::Start, ..at })
    }

    /// Enters a function that returns to `ret`; its arguments are in place.
    pub fn enter_function(
        &mut self,
        at: Place,
        function: usize,
        ret: Place,
    ) -> Result<Place, Cause> {
        let frame = self.frames.get(at.frame);
        let (unit, depth) = (frame.unit, frame.depth + 1);
        if self.frames.running(at.frame, unit, function) {
            return Err(Cause::new("a function calls itself", VERIFIER));
        }
        if depth >= MAX_FRAMES {
            let what = format!("calls are nested more than {MAX_FRAMES} deep");
            return Err(Cause::new(what, VERIFIER));
        }
        let frame = self.frames.id(Frame { unit, function, depth, ret: Some(ret) });
        self.state.call(depth);
        self.machine.enter(depth);
        self.find_stale(unit, function, depth);
        Ok(Place { frame, slot: function, phase: Phase::Start })
    }

    fn exit(&mut self, at: Place) -> Result<Next, Cause> {
        self.cost(at, "exit");
        let Some(ret) = self.frames.get(at.frame).ret else {
            let result = self.machine.base(self.machine.result);
            let r0 = self.machine.value(0);
            self.machine.emit.store(result, r0);
            return Ok(Next::Exit);
        };
        let depth = self.frames.get(ret.frame).depth;
        self.state.ret(depth);
        // No function returns a pointer into a stack frame (`prepare_func_exit` of the kernel's
        // verifier); one into an element of a map it may.
        if let Known::Frame { .. } | Known::Nothing = self.state.regs[0] {
            self.state.regs[0] = Known::PerhapsValue;
        }
        Ok(Next::To(ret))
    }
}
