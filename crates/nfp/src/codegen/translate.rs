//! From the steps of a program to NFP instructions (`nfp_translate`, `nfp_fixup_branches` of the
//! driver).

use slowpath_bpf::insn::{Call, Imm64, Insn as BpfInsn, Register, Size, SwapKind, Width};
use slowpath_bpf::lift::RegisterValue;

use super::assembler::{Assembler, Goal};
use super::error::{Cause, CompileError};
use super::refusal::{Refusal, Refusals};
use super::stack::{Access, Direction};
use super::step::{Function, Plan, constant_offset, pair};
use super::subset::{DATA_END, RX_QUEUE_INDEX};
use super::{MapAbi, alu, call, context, copy, frame, helper, jump, packet, stack};
use crate::Insn;

/// Emits a program whose instructions the card can run.
///
/// # Errors
/// [`CompileError`] for what the driver's compiler gives up on.
pub(super) fn translate(plan: &Plan<'_>, abi: MapAbi) -> Result<Assembler, CompileError> {
    let mut translation = Translation { plan, abi, asm: Assembler::default(), starts: Vec::new() };
    frame::start(&mut translation.asm);
    let mut refused = Vec::new();
    for slot in 0..plan.steps.len() {
        translation.starts.push(translation.asm.here());
        translation.asm.origin = Some(slot);
        if let Err(cause) = translation.step(slot) {
            refused.push(Refusal::at(plan.program, slot, cause));
        }
    }
    if let Some(refusals) = Refusals::of(refused) {
        return Err(CompileError::Refused(refusals));
    }
    translation.asm.origin = None;
    frame::end(&mut translation.asm);
    let saves = plan.functions.iter().skip(1).any(|function| function.saves_registers);
    let subroutines = saves.then(|| {
        let push = frame::push_registers(&mut translation.asm);
        (push, frame::pop_registers(&mut translation.asm))
    });
    frame::padding(&mut translation.asm);
    translation.fix(subroutines);
    Ok(translation.asm)
}

struct Translation<'a> {
    plan: &'a Plan<'a>,
    abi: MapAbi,
    asm: Assembler,
    /// The first instruction for each slot.
    starts: Vec<usize>,
}

impl Translation<'_> {
    /// Bytes of the frame of a function, in whole words.
    fn depth(&self, slot: usize) -> u32 {
        self.plan.function_of(slot).stack.next_multiple_of(4)
    }

    fn step(&mut self, slot: usize) -> Result<(), Cause> {
        let function = self.plan.function_of(slot);
        if slot > 0 && function.first == slot {
            call::enter(&mut self.asm);
        }
        let step = &self.plan.steps[slot];
        if step.skipped {
            return Ok(());
        }
        let depth = self.depth(slot);
        let asm = &mut self.asm;
        match step.insn {
            BpfInsn::Alu { width, op, dst, src } => {
                alu::alu(asm, step, (width, op, dst, src), depth);
            }
            BpfInsn::Neg { width, dst } => alu::negate(asm, step, width, dst),
            BpfInsn::Swap { kind: SwapKind::Be, size, dst } => {
                alu::to_network_order(asm, size, dst);
            }
            BpfInsn::LoadImm64 { dst, value } => {
                alu::constant64(asm, dst, constant(value, self.abi));
            }
            BpfInsn::SecondSlot => {}
            BpfInsn::Load { size, dst, base, offset, .. } => {
                self.load(slot, size, dst, base, offset)?;
            }
            BpfInsn::Store { size, base, offset, src } => {
                self.store(slot, (size, base, offset), src)?;
            }
            BpfInsn::Atomic { width, base, offset, src, .. } => {
                let size = if width == Width::W64 { Size::DW } else { Size::W };
                packet::add(asm, step, size, base, offset, src);
            }
            BpfInsn::Jump { .. } => {
                let target = step.target.unwrap_or(slot);
                asm.branch(crate::BranchCondition::Always, Goal::Slot(target), 0);
            }
            BpfInsn::Branch { width, cond, dst, src, .. } => {
                let target = step.target.unwrap_or(slot);
                jump::branch(asm, step, (width, cond, dst, src), target);
            }
            BpfInsn::Call(Call::Helper(number)) => {
                helper::call(asm, self.plan, slot, number, self.abi, depth);
            }
            BpfInsn::Call(Call::Subprogram { .. }) => {
                let callee = self.plan.function_of(step.target.unwrap_or(slot));
                call::call(asm, depth, callee);
            }
            BpfInsn::Exit => self.exit(function),
            _ => {
                let hint = "--target ebpf counts instructions instead";
                return Err(Cause::new("an instruction that the card does not have", hint));
            }
        }
        Ok(())
    }

    fn exit(&mut self, function: Function) {
        if function.first == 0 {
            frame::leave(&mut self.asm, 0);
        } else {
            call::leave(&mut self.asm, function);
        }
    }

    fn load(
        &mut self,
        slot: usize,
        size: Size,
        dst: Register,
        base: Register,
        offset: i16,
    ) -> Result<(), Cause> {
        let step = &self.plan.steps[slot];
        let asm = &mut self.asm;
        let value = self.plan.value(slot, base);
        if let Some(copied) = step.copy {
            let element = value != RegisterValue::Packet;
            copy::copy(asm, copied, (size, dst), (base, offset), element);
            return Ok(());
        }
        match value {
            RegisterValue::Context { offset: from } => {
                context::load(asm, dst, from + i64::from(offset) == DATA_END);
                Ok(())
            }
            RegisterValue::MapValue { .. } => {
                packet::load_element(asm, step, size, dst, base, offset);
                Ok(())
            }
            RegisterValue::Stack { .. } => {
                self.stack(slot, Direction::Load, (size, dst), (base, offset))
            }
            _ => {
                packet::load(asm, step, size, dst, base, offset);
                Ok(())
            }
        }
    }

    fn store(
        &mut self,
        slot: usize,
        (size, base, offset): (Size, Register, i16),
        src: slowpath_bpf::insn::Source,
    ) -> Result<(), Cause> {
        use slowpath_bpf::insn::Source;
        match (self.plan.value(slot, base), src) {
            (RegisterValue::Context { offset: from }, Source::Reg(src))
                if from + i64::from(offset) == RX_QUEUE_INDEX =>
            {
                context::select_queue(&mut self.asm, src);
                Ok(())
            }
            (RegisterValue::Stack { .. }, Source::Reg(src)) => {
                self.stack(slot, Direction::Store, (size, src), (base, offset))
            }
            (_, Source::Reg(src)) => {
                packet::store(&mut self.asm, size, base, offset, src);
                Ok(())
            }
            (_, Source::Imm(_)) => Err(Cause::new("a store of a constant", "store a register")),
        }
    }

    fn stack(
        &mut self,
        slot: usize,
        direction: Direction,
        (size, register): (Size, Register),
        (base, offset): (Register, i16),
    ) -> Result<(), Cause> {
        use slowpath_bpf::lift::Offset;
        let RegisterValue::Stack { caller, offset: from } = self.plan.value(slot, base) else {
            return Ok(());
        };
        let varies = caller || !matches!(from, Offset::Constant(_));
        let from = constant_offset(from).unwrap_or(0);
        let access = Access {
            direction,
            size: size.bytes(),
            register: pair(register),
            place: from.saturating_add(i64::from(self.depth(slot)) + i64::from(offset)),
            through: varies.then_some((pair(base), offset)),
        };
        stack::access(&mut self.asm, &self.plan.steps[slot], &access)
    }

    /// Fills in where branches and addresses lead. `subroutines` save and restore registers.
    fn fix(&mut self, subroutines: Option<(usize, usize)>) {
        let (push, pop) = subroutines.unwrap_or_default();
        for fixup in &self.asm.fixups {
            let number = match fixup.goal {
                Goal::Number(number) => number,
                Goal::Slot(slot) => self.starts.get(slot).copied().unwrap_or(0),
                Goal::Push => push,
                Goal::Pop => pop,
            };
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            match &mut self.asm.insns[fixup.at] {
                Insn::Branch { target, .. } | Insn::BranchBit { target, .. } => *target = number,
                Insn::Immed { value, .. } => *value = number,
                _ => {}
            }
        }
    }
}

/// The number that stands for a constant; maps have the number that the firmware gives them.
fn constant(value: Imm64, abi: MapAbi) -> u64 {
    match (value, abi) {
        (Imm64::Value(value), _) => value,
        (Imm64::Map(number), MapAbi::Call) => u64::from(number) + 1,
        _ => 0,
    }
}
