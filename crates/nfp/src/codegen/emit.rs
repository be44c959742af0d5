//! Translates BPF instructions to instructions of the card, one at a time. The translation of an
//! instruction uses only its annotations, not other instructions (`nfp_translate`,
//! `nfp_fixup_branches` of the driver).

mod alu;
mod assembler;
mod call;
mod context;
mod copy;
mod divide;
mod frame;
mod helper;
mod jump;
mod multiply;
mod packet;
mod pair;
mod shift;
mod stack;

use slowpath_bpf::insn::{Call, Imm64, Insn as BpfInsn, Register, Size, SwapKind, Width};
use slowpath_bpf::lift::RegisterValue;
use slowpath_codes as codes;

pub(super) use multiply::is_narrow;

use super::access::constant_offset;
use super::analysis::frames::Function;
use super::annotated::{AnnotatedInsn, AnnotatedProgram};
use super::error::CompileError;
use super::refusal::{Cause, Refusal, Refusals};
use crate::Insn;
use crate::firmware::MapAbi;
use crate::firmware::xdp_md::{DATA_END, RX_QUEUE_INDEX};
use assembler::{Assembler, Label};
use pair::pair;
use stack::Access;
pub(super) use stack::Direction;

/// Emitted instructions of the card that implement a BPF program.
pub(super) struct Code {
    pub insns: Vec<Insn>,
    /// For each emitted instruction, the index of the BPF instruction that it implements; `None`
    /// for the code around the program.
    pub origins: Vec<Option<usize>>,
}

/// Translates a program that has passed the checks of [`super::subset`].
///
/// # Errors
/// [`CompileError`] for instructions that the driver's compiler cannot translate.
pub(super) fn emit(program: &AnnotatedProgram<'_>, abi: MapAbi) -> Result<Code, CompileError> {
    let mut emission = Emission { program, abi, asm: Assembler::default(), starts: Vec::new() };
    frame::start(&mut emission.asm);
    let mut refused = Vec::new();
    for slot in 0..program.insns.len() {
        // Jumps to a skipped instruction lead to the next emitted one.
        emission.starts.push(emission.asm.here());
        emission.asm.origin = Some(slot);
        if let Err(cause) = emission.insn(slot) {
            refused.push(Refusal::at(program.linked, slot, cause));
        }
    }
    if let Some(refusals) = Refusals::of(refused) {
        return Err(CompileError::Refused(Box::new(refusals)));
    }
    emission.asm.origin = None;
    frame::end(&mut emission.asm);
    // The main function does not save registers: its caller does not need them.
    let saves = program.functions.iter().skip(1).any(|function| function.saves_registers);
    let subroutines = saves.then(|| {
        let push = frame::push_registers(&mut emission.asm);
        (push, frame::pop_registers(&mut emission.asm))
    });
    frame::padding(&mut emission.asm);
    emission.fix(subroutines);
    let Assembler { insns, origins, .. } = emission.asm;
    Ok(Code { insns, origins })
}

/// Returns the number of SmartNIC instructions for a call of one of the program's own functions.
/// The stack frame of the caller has `depth` bytes.
pub(super) fn call_length(depth: u32, callee: Function) -> u32 {
    let mut asm = Assembler::default();
    call::call(&mut asm, depth, callee);
    asm.here() as u32
}

/// Returns the number of instructions of the card that a load or store of stack bytes takes.
/// `place` is the distance in bytes from the first byte of the stack frame to the accessed bytes.
/// `pointer` is the offset in the BPF instruction if the emitted code uses the instruction's base
/// register; `None` if the code uses only `place`.
pub(super) fn stack_access_length(
    insn: &AnnotatedInsn,
    direction: Direction,
    size: Size,
    place: i64,
    pointer: Option<i16>,
) -> u32 {
    let mut asm = Assembler::default();
    let pointer = pointer.map(|offset| (0, offset));
    let access = Access { direction, size: size.bytes(), register: 0, place, pointer };
    // If the driver cannot compile the access, the instructions before the failure count.
    let _: Result<(), Cause> = stack::access(&mut asm, insn, &access);
    asm.here() as u32
}

struct Emission<'a> {
    program: &'a AnnotatedProgram<'a>,
    abi: MapAbi,
    asm: Assembler,
    /// For each BPF instruction, the index of the first instruction that was emitted for it.
    starts: Vec<usize>,
}

impl Emission<'_> {
    /// Returns the stack frame size of the function that contains the instruction at index `slot`,
    /// in bytes, rounded up to whole words.
    fn depth(&self, slot: usize) -> u32 {
        self.program.function_of(slot).stack.next_multiple_of(4)
    }

    fn insn(&mut self, slot: usize) -> Result<(), Cause> {
        let function = self.program.function_of(slot);
        if slot > 0 && function.first == slot {
            call::enter(&mut self.asm);
        }
        let insn = &self.program.insns[slot];
        if insn.skipped {
            return Ok(());
        }
        let depth = self.depth(slot);
        let asm = &mut self.asm;
        match insn.insn {
            BpfInsn::Alu { width, op, dst, src } => {
                alu::alu(asm, insn, (width, op, dst, src), depth);
            }
            BpfInsn::Neg { width, dst } => alu::negate(asm, insn, width, dst),
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
                packet::add(asm, insn, size, base, offset, src);
            }
            BpfInsn::Jump { .. } => {
                let target = insn.target.unwrap_or(slot);
                asm.branch(crate::BranchCondition::Always, Label::Slot(target), 0);
            }
            BpfInsn::Branch { width, cond, dst, src, .. } => {
                let target = insn.target.unwrap_or(slot);
                jump::branch(asm, insn, (width, cond, dst, src), target);
            }
            BpfInsn::Call(Call::Helper(number)) => {
                helper::call(asm, self.program, slot, number, self.abi, depth);
            }
            BpfInsn::Call(Call::Subprogram { .. }) => {
                let callee = self.program.function_of(insn.target.unwrap_or(slot));
                call::call(asm, depth, callee);
            }
            BpfInsn::Exit => self.exit(function),
            _ => {
                let hint = "--target ebpf counts instructions instead";
                return Err(Cause::new(
                    codes::CARD_INSTRUCTION,
                    "an instruction that the card does not have",
                    hint,
                ));
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
        let insn = &self.program.insns[slot];
        let asm = &mut self.asm;
        let value = self.program.value(slot, base);
        if let Some(copied) = insn.copy {
            let element = value != RegisterValue::Packet;
            copy::copy(asm, copied, (size, dst), (base, offset), element);
            return Ok(());
        }
        match value {
            RegisterValue::Context { offset: from } => {
                context::load(asm, dst, from + i64::from(offset) == DATA_END as i64);
                Ok(())
            }
            RegisterValue::MapValue { .. } => {
                packet::load_element(asm, insn, size, dst, base, offset);
                Ok(())
            }
            RegisterValue::Stack { .. } => {
                self.stack(slot, Direction::Load, (size, dst), (base, offset))
            }
            _ => {
                packet::load(asm, insn, size, dst, base, offset);
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
        match (self.program.value(slot, base), src) {
            (RegisterValue::Context { offset: from }, Source::Reg(src))
                if from + i64::from(offset) == RX_QUEUE_INDEX as i64 =>
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
            (_, Source::Imm(_)) => Err(Cause::new(
                codes::CARD_INSTRUCTION,
                "a store of a constant",
                "store a register",
            )),
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
        let RegisterValue::Stack { caller, offset: from } = self.program.value(slot, base) else {
            return Ok(());
        };
        // If the offset varies, the driver uses the pointer. Any possible offset then gives the
        // alignment within a word, which is the same for all.
        let varies = caller || !matches!(from, Offset::Constant(_));
        let from = constant_offset(from).unwrap_or(0);
        let access = Access {
            direction,
            size: size.bytes(),
            register: pair(register),
            place: from.saturating_add(i64::from(self.depth(slot)) + i64::from(offset)),
            pointer: varies.then_some((pair(base), offset)),
        };
        stack::access(&mut self.asm, &self.program.insns[slot], &access)
    }

    /// Replaces labels by indices of instructions, in branch targets and in constants.
    /// `subroutines` has the indices of two subroutines: the first saves registers, the second
    /// restores them.
    fn fix(&mut self, subroutines: Option<(usize, usize)>) {
        let (push, pop) = subroutines.unwrap_or_default();
        for fixup in &self.asm.fixups {
            let number = match fixup.label {
                Label::Insn(number) => number,
                Label::Slot(slot) => self.starts.get(slot).copied().unwrap_or(0),
                Label::SaveRegisters => push,
                Label::RestoreRegisters => pop,
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

/// Returns the value of a constant. For a map, this is the number by which the firmware knows the
/// map.
fn constant(value: Imm64, abi: MapAbi) -> u64 {
    match (value, abi) {
        (Imm64::Value(value), _) => value,
        (Imm64::Map(number), MapAbi::Call) => u64::from(number) + 1,
        _ => 0,
    }
}
