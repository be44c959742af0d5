//! Lifts a block: translates its instructions to operations, costs and exits.
//!
//! The modules in `walk` decide which blocks to lift. [`Lifter::entry`] gives them the start of the
//! program, and [`Lifter::lift_block`] lifts the block at a point for a given abstract state. The
//! resulting [`Exits`] name the points at which execution continues. If a block is lifted again,
//! for a less precise state, only the last result counts.

use slowpath_codes as codes;
use slowpath_ir::{BlockId, InsnIdx, Reg};

use crate::insn::{Call, Insn, POISON};
use crate::lift::error::{Cause, LiftError, VERIFIER};
use crate::lift::frame::{Phase, ProgramPoint};
use crate::lift::ir::emit::word;
use crate::lift::lifter::{Lifter, Next};
use crate::lift::state::abstract_state::AbstractState;
use crate::lift::state::value::AbstractValue;

/// The program points where execution can continue after a block, with the condition for each.
#[derive(Clone, Copy)]
pub(super) enum Exits {
    To(ProgramPoint),
    /// Goes to the first program point if the 1-bit register is set, otherwise to the second.
    Branch(Reg, ProgramPoint, ProgramPoint),
    /// Goes to the program point. The 1-bit register is always set: runs in which it is not set
    /// contradict a guarantee of the kernel, so they are excluded.
    Assume(Reg, ProgramPoint),
    /// The program ends after this block.
    End,
    /// Ends the program if the 1-bit register is set, otherwise goes to the program point.
    ExitOr(Reg, ProgramPoint),
}

/// The result of lifting a block for a given abstract state at its start.
pub(super) struct LiftedBlock {
    /// Number of the block's first instruction, counted over all programs that are lifted together.
    pub first: InsnIdx,
    pub insns: Vec<InsnIdx>,
    pub exits: Exits,
    /// Abstract state at the end of the block.
    pub state: AbstractState,
}

impl Lifter<'_> {
    /// Lifts the block at a program point for the abstract state at its start. Before each
    /// instruction of the first program, calls `observe` with the abstract values of `r0` to `r10`.
    /// Does not call it in programs that a tail call reaches.
    ///
    /// [`Lifter::take_work`] returns the block's operations and costs until the next block is
    /// lifted.
    pub fn lift_block(
        &mut self,
        block: BlockId,
        point: ProgramPoint,
        state: AbstractState,
        mut observe: impl FnMut(ProgramPoint, &[AbstractValue; 11]),
    ) -> Result<LiftedBlock, LiftError> {
        self.begin_block(block, state);
        let unit = self.unit(point);
        let first = self.code.number(unit, point.slot);
        let mut insns = Vec::new();
        let mut at = point;
        let next = loop {
            let insn = self.begin_insn(at).map_err(LiftError::stop)?;
            if at.phase == Phase::Start {
                insns.push(insn);
                if unit == 0 {
                    observe(at, &self.state.regs);
                }
            }
            let step = self.step(at);
            let next = step.map_err(|c| LiftError::at(self.code.program(unit), at.slot, c))?;
            let Next::On = next else { break next };
            let slots = self.code.program(unit).insns[at.slot].slots().max(1);
            at = ProgramPoint { slot: at.slot + slots, phase: Phase::Start, ..at };
            if self.code.is_leader(unit, at.slot) {
                break Next::To(at);
            }
        };
        let exits = self.exits(next);
        Ok(LiftedBlock {
            first,
            insns,
            exits,
            state: std::mem::replace(&mut self.state, AbstractState::start()),
        })
    }

    /// Converts the control transfer at the end of a block to [`Exits`]: copies branch conditions
    /// to registers.
    fn exits(&mut self, next: Next) -> Exits {
        match next {
            Next::On | Next::Exit => Exits::End,
            Next::To(point) => Exits::To(point),
            Next::ExitOr(cond, point) => Exits::ExitOr(self.ir.condition(cond), point),
            Next::Assume(cond, point) => Exits::Assume(self.ir.condition(cond), point),
            Next::Branch(_, yes, no) if yes == no => Exits::To(yes),
            Next::Branch(cond, yes, no) => Exits::Branch(self.ir.condition(cond), yes, no),
        }
    }

    /// Lifts one instruction, or one step of an instruction that is lifted to several blocks.
    fn step(&mut self, at: ProgramPoint) -> Result<Next, Cause> {
        self.ir.enter(self.frames.get(at.frame).depth);
        let program = self.code.program(self.unit(at));
        let Some(&insn) = program.insns.get(at.slot) else {
            return Err(Cause::new(
                codes::REJECTED_BY_VERIFIER,
                "control flow runs past the end of the program",
                VERIFIER,
            ));
        };
        match (insn, at.phase) {
            (Insn::Call(Call::Helper(POISON)), _) => {
                let text = program.unresolved(at.slot).unwrap_or("not resolved");
                let hint = "pass the types of its kernel with --btf";
                Err(Cause::new(codes::UNRESOLVED_TYPE, text, hint))
            }
            (Insn::Call(Call::Helper(number)), Phase::Start) => self.helper(at, number),
            (Insn::Call(Call::Helper(number)), Phase::SelectMap(map)) => {
                self.which_map(at, number, map)
            }
            (Insn::Call(Call::Helper(number)), Phase::CallOnMap(map)) => {
                self.on_map(at, number, map)
            }
            (Insn::Call(Call::Helper(_)), Phase::Slot { .. } | Phase::Enter { .. }) => {
                self.tail_call_step(at)
            }
            (Insn::Call(Call::Helper(number)), _) => self.loop_step(at, number),
            (Insn::Call(Call::Subprogram { .. }), _) => {
                self.cost(at, "call");
                let function = insn.function_target(at.slot).unwrap_or(usize::MAX);
                let ret = ProgramPoint { slot: at.slot + 1, ..at };
                let point = self.enter_function(at, function, ret)?;
                Ok(Next::To(point))
            }
            (Insn::Call(Call::Kfunc { .. }), _) => self.kfunc(at),
            (Insn::Exit, Phase::Handover(number)) => Ok(self.hand_over(at, number)),
            (Insn::Exit, Phase::Next(number)) => self.run_next(at, number),
            (Insn::Exit, _) => self.exit(at),
            (Insn::LoadPacket { .. }, Phase::OutsidePacket) => {
                self.result(word(0), AbstractValue::Const(0));
                Ok(self.leave(at))
            }
            (Insn::LoadPacket { size, index, offset }, _) => {
                self.packet_load(at, size, index, offset)
            }
            (Insn::Jump { .. }, _) => {
                self.cost(at, "jump");
                Ok(Next::To(self.jump_target(at, insn)?))
            }
            (Insn::Branch { width, cond, dst, src, .. }, _) => {
                self.cost(at, "jump");
                let taken = self.jump_target(at, insn)?;
                let fallthrough = ProgramPoint { slot: at.slot + 1, ..at };
                Ok(match self.decide(width, cond, dst, src) {
                    Some(true) => Next::To(taken),
                    Some(false) => Next::To(fallthrough),
                    None => {
                        let cond = self.comparison(width, cond, dst, src);
                        Next::Branch(cond, taken, fallthrough)
                    }
                })
            }
            (Insn::MayGoto { .. }, _) => {
                // The kernel does not document the loop budget, so both outcomes are possible.
                self.cost(at, "jump");
                self.limit_may_goto(at);
                let taken = self.jump_target(at, insn)?;
                let unknown = self.ir.emit.unknown_bit("the budget", &["left", "used up"]);
                Ok(Next::Branch(unknown, taken, ProgramPoint { slot: at.slot + 1, ..at }))
            }
            _ => self.plain(at, insn).map(|()| Next::On),
        }
    }

    fn jump_target(&self, at: ProgramPoint, insn: Insn) -> Result<ProgramPoint, Cause> {
        let slot = insn.jump_target(at.slot);
        let slot = slot.ok_or_else(|| {
            Cause::new(codes::REJECTED_BY_VERIFIER, "a jump before the program", VERIFIER)
        })?;
        Ok(ProgramPoint { slot, phase: Phase::Start, ..at })
    }
}
