//! Lifts `bpf_tail_call`, which jumps to the program in a slot of a program array, or continues if
//! the slot is empty (`bpf_tail_call` of `kernel/bpf/core.c`).

use slowpath_codes as codes;
use slowpath_ir::{Emit, Operand};

use crate::context::ProgramType;
use crate::lift::content::{EntryValue, MapEntry};
use crate::lift::error::{Cause, INTERNAL, VERIFIER};
use crate::lift::frame::{Frame, Phase, ProgramPoint};
use crate::lift::ir::emit::word;
use crate::lift::lifter::{Lifter, Next};
use crate::lift::state::value::AbstractValue;
use crate::maps::{MapKind, SlotRef};

/// Maximum number of tail calls in a run (`MAX_TAIL_CALL_CNT` of the kernel).
const MAX_TAIL_CALLS: u64 = 33;

impl Lifter<'_> {
    pub(in crate::lift) fn tail_call_start(&mut self, at: ProgramPoint) -> Result<Next, Cause> {
        self.call_cost(at, None);
        let AbstractValue::Map(map) = self.state.regs[2] else {
            let text = "the program array of the call differs between paths";
            return Err(Cause::new(
                codes::MAP_DIFFERS_BETWEEN_PATHS,
                text,
                "call the helper in each branch",
            ));
        };
        let def = self.map_def(map)?;
        if def.kind != MapKind::PROG_ARRAY {
            return Err(Cause::new(
                codes::REJECTED_BY_VERIFIER,
                format!("map {} is not a program array", def.name),
                VERIFIER,
            ));
        }
        if self.slots(map)?.is_empty() && !self.options.contents.contains_key(&def.name) {
            let sentence = format!(
                "paths end at tail calls through {}, because the called programs are unknown (name \
                 them with --maps)",
                def.name
            );
            let program = format!("program in the slot of {}", def.name);
            self.assume_unknown_end(sentence);
            self.state.regs[1..6].fill(AbstractValue::NotStack);
            let taken = self.ir.emit.unknown_bit(&program, &["no", "yes: the path ends"]);
            return Ok(Next::ExitOr(taken, at.behind()));
        }
        if !self.options.contents.contains_key(&def.name) {
            let sentence = format!(
                "slots of {} that the object does not fill are empty (fill them with --maps)",
                def.name
            );
            self.assume(sentence);
        }
        self.state.keep_arguments(at);
        let count = self.ir.start_zero("tail calls", 64);
        // The kernel has one counter for the tail calls of a run through all program arrays.
        let allowed = self.ir.emit.ult(count, word(MAX_TAIL_CALLS));
        Ok(Next::Branch(allowed, at.with(Phase::Slot { map, number: 0 }), at.behind()))
    }

    /// Returns the filled slots of a program array: for each, its index and the index of the
    /// program in it.
    fn slots(&self, map: u32) -> Result<Vec<(u32, usize)>, Cause> {
        let def = self.map_def(map)?;
        let Some(content) = self.options.contents.get(&def.name) else {
            let program = |&(slot, value): &(u32, SlotRef)| match value {
                SlotRef::Program(program) => Some((slot, program)),
                SlotRef::Map(_) => None,
            };
            return Ok(def.slots.iter().filter_map(program).collect());
        };
        let slot = |entry: &MapEntry| {
            let EntryValue::Program(name) = &entry.value else {
                let text = format!("an element of map {} is not a program", def.name);
                return Err(Cause::new(
                    codes::MAPS_DO_NOT_FIT,
                    text,
                    "write `program = \"NAME\"` in the file of --maps",
                ));
            };
            let key: [u8; 4] = entry.key.as_slice().try_into().map_err(|_| {
                let text = format!("a key of map {} does not have 4 bytes", def.name);
                Cause::new(
                    codes::MAPS_DO_NOT_FIT,
                    text,
                    "write an index as the key of a program array",
                )
            })?;
            let found = self.object.programs.iter().position(|program| program.name == *name);
            let program = found.ok_or_else(|| {
                let text = format!("map {} holds {name}, which is not in the object", def.name);
                Cause::new(
                    codes::MAPS_DO_NOT_FIT,
                    text,
                    "`slowpath show` lists the object's programs",
                )
            })?;
            Ok((u32::from_le_bytes(key), program))
        };
        content.entries.iter().map(slot).collect()
    }

    /// Lifts one block of a tail call, which [`ProgramPoint::phase`] selects. The block tests
    /// whether the index selects a certain slot of the program array, or jumps to the program in
    /// this slot.
    pub(in crate::lift) fn tail_call_step(&mut self, at: ProgramPoint) -> Result<Next, Cause> {
        let call = at.with(Phase::Start);
        match at.phase {
            Phase::Slot { map, number } => {
                let slots = self.slots(map)?;
                let Some(&(slot, _)) = slots.get(number as usize) else {
                    self.state.regs[1..6].fill(AbstractValue::NotStack);
                    return Ok(Next::To(at.behind()));
                };
                let (enter, next) =
                    (Phase::Enter { map, number }, Phase::Slot { map, number: number + 1 });
                let (enter, next) = (at.with(enter), at.with(next));
                if let AbstractValue::Const(index) = self.state.argument(call, 3) {
                    let chosen = if index as u32 == slot { enter } else { next };
                    return Ok(Next::To(chosen));
                }
                let index = self.ir.value(3);
                let index = self.ir.emit.extract(index, 0, 32);
                let same = self.ir.emit.eq(index, Operand::constant(32, slot.into()));
                Ok(Next::Branch(same, enter, next))
            }
            Phase::Enter { map, number } => {
                let slots = self.slots(map)?;
                let program = slots.get(number as usize).map(|&(_, program)| program);
                let program = program
                    .ok_or_else(|| Cause::new(codes::INTERNAL_ERROR, "a slot is lost", INTERNAL))?;
                self.check_called_type(program)?;
                let count = self.ir.start_zero("tail calls", 64);
                let next = self.ir.emit.add(count, word(1));
                self.ir.emit.copy(count, next);
                let unit = self.code.unit_of(self.object, program, self.options)?;
                let Frame { run, depth, ret, .. } = *self.frames.get(at.frame);
                let frame = self.frames.id(Frame { unit, run, function: 0, depth, ret });
                self.restart(depth);
                self.draw_uninit(unit, 0, depth);
                Ok(Next::To(ProgramPoint { frame, slot: 0, phase: Phase::Start }))
            }
            _ => Err(Cause::new(codes::INTERNAL_ERROR, "a tail call is not a loop", INTERNAL)),
        }
    }

    /// Checks that the program with this index can be in a program array of the current program.
    /// All programs of an array must have the same type (`__bpf_prog_map_compatible` of
    /// `kernel/bpf/core.c`).
    fn check_called_type(&self, program: usize) -> Result<(), Cause> {
        let Some(called) = self.object.programs.get(program) else { return Ok(()) };
        if ProgramType::of(called.kind).is_some_and(|row| row.kind == self.program_type.kind) {
            return Ok(());
        }
        let (own, other) = (self.program_type.kind, called.kind);
        let text = format!("a tail call of a program of type {own} to {}, of {other}", called.name);
        Err(Cause::new(codes::REJECTED_BY_VERIFIER, text, VERIFIER))
    }

    /// Resets the abstract state for a program that a tail call starts. The program replaces the
    /// function at call depth `depth`.
    pub(super) fn restart(&mut self, depth: u8) {
        self.state = self.state.restarted(depth);
        let (context, r1) = (self.ir.base(self.ir.context), self.ir.reg(1));
        self.ir.emit.copy(r1, context);
    }
}
