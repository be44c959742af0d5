//! Translates the steps of a sequence of helper calls to BPF instructions. The result is
//! straight-line code, with branches around steps that are not always possible.
//!
//! Every branch has a bit in `r9`, which is set if the branch is not taken. The program stores `r9`
//! at its end, so the stored word determines the instructions that a run executed. The arguments of
//! calls are bytes of the packet, which the program copies to the stack at its start.

mod calls;
mod memory;

use slowpath_bpf::insn::helper::MAP_LOOKUP_ELEM;
use slowpath_bpf::insn::{AluOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width};

use super::layout::{ARGUMENTS, FIRST, RESULTS};
use super::statement::{Action, Calls, GuardedAction, Number, Shape, Test};
use crate::emit::{pick, reg};
use crate::sequence::SequenceFeatures;

/// Stack offsets from the frame pointer, in bytes, at which a program keeps arguments, results and
/// other data.
const AT_ARGUMENTS: i16 = -32;
const AT_KEY: i16 = -40;
const AT_VALUE: i16 = -56;
const AT_BUFFER: i16 = -88;
const AT_POINTERS: i16 = -96;
const AT_RESULTS: i16 = -120;
/// Size in bytes of the stack buffer that calls copy bytes from and to.
const BUFFER: i16 = 32;
/// Number of pointers to map elements that a sequence keeps on the stack.
const POINTERS: usize = 3;
/// Value that a result on the stack has before a call sets it.
const NO_RESULT: i32 = 7;
/// Maximum number of instruction slots in a program.
const MAX_SLOTS: usize = 900;
const MAX_BRANCHES: usize = 60;

/// A sequence as a list of BPF instructions.
#[derive(Clone, Debug)]
pub(super) struct Emitted {
    pub code: Vec<Insn>,
    /// Slots of conditional branches, each with the index of its bit in `r9`; the program sets this
    /// bit if the branch is not taken.
    pub marks: Vec<(usize, u8)>,
}

/// A pointer to a map element, stored on the stack.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// Number of the map that contains the element, from 1.
    map: usize,
    /// Size of the element's value in bytes.
    bytes: u8,
    /// True if a later call may have replaced the element.
    stale: bool,
}

struct Emitter<'a> {
    abilities: &'a SequenceFeatures,
    maps: &'a [Shape],
    code: Vec<Insn>,
    marks: Vec<(usize, u8)>,
    pointers: [Option<Kept>; POINTERS],
    results: usize,
}

pub(super) fn emit(calls: &Calls, abilities: &SequenceFeatures) -> Emitted {
    let mut emitter = Emitter {
        abilities,
        maps: &calls.maps,
        code: Vec::new(),
        marks: Vec::new(),
        pointers: [None; POINTERS],
        results: 0,
    };
    emitter.program(calls);
    Emitted { code: emitter.code, marks: emitter.marks }
}

impl Emitter<'_> {
    fn program(&mut self, calls: &Calls) {
        self.mov(reg(6), Source::Reg(reg(1)));
        self.mov(reg(9), Source::Imm(0));
        self.load(Size::W, reg(2), reg(6), 0);
        self.load(Size::W, reg(3), reg(6), 4);
        self.mov(reg(4), Source::Reg(reg(2)));
        self.add(reg(4), i32::from(FIRST) + i32::from(ARGUMENTS));
        let short = self.branch(Condition::Gt, reg(4), Source::Reg(reg(3)));
        for offset in (0..i16::from(ARGUMENTS)).step_by(8) {
            self.load(Size::DW, reg(1), reg(2), i16::from(FIRST) + offset);
            self.store(Size::DW, Register::FRAME, AT_ARGUMENTS + offset, Source::Reg(reg(1)));
        }
        for offset in (0..BUFFER).step_by(8) {
            let value = Source::Imm(0x0123_4567 + i32::from(offset));
            self.store(Size::DW, Register::FRAME, AT_BUFFER + offset, value);
        }
        for number in 0..POINTERS {
            self.store(Size::DW, Register::FRAME, pointer_at(number), Source::Imm(0));
        }
        for number in 0..RESULTS {
            self.store(Size::DW, Register::FRAME, result_at(number), Source::Imm(NO_RESULT));
        }
        for step in &calls.steps {
            self.step(step);
        }
        for test in &calls.tests {
            self.test(test);
        }
        let results = self.output();
        self.land(short);
        self.land(results);
        self.mov(Register::R0, Source::Reg(reg(9)));
        self.alu(AluOp::And, Register::R0, Source::Imm(3));
        self.code.push(Insn::Exit);
    }

    fn step(&mut self, step: &GuardedAction) {
        let branches = self.marks.len() + 10 > MAX_BRANCHES;
        if self.code.len() > MAX_SLOTS || self.results + 2 > RESULTS || branches {
            return;
        }
        let (code, marks) = (self.code.len(), self.marks.len());
        let guard = step.guard.map(|(at, mask)| {
            self.load(Size::B, reg(1), Register::FRAME, AT_ARGUMENTS + i16::from(at % ARGUMENTS));
            self.alu(AluOp::And, reg(1), Source::Imm(mask.into()));
            self.branch(Condition::Eq, reg(1), Source::Imm(0))
        });
        if self.action(&step.action).is_none() {
            self.code.truncate(code);
            self.marks.truncate(marks);
            return;
        }
        if let Some(guard) = guard {
            self.land(guard);
        }
    }

    /// Emits the instructions of a step of the sequence, such as a helper call. Returns `None` if
    /// it is impossible; the caller must then remove the instructions and branch records of the
    /// step.
    fn action(&mut self, action: &Action) -> Option<()> {
        match *action {
            Action::Lookup { map, key, pointer_slot } => self.lookup(map, key, pointer_slot),
            Action::Update { map, key, value, flags } => self.update(map, key, value, flags),
            Action::Delete { map, key } => self.delete(map, key),
            Action::Inner { map, key, call } => self.inner(map, key, call),
            Action::Push { map, value, flags } => self.push(map, value, flags),
            Action::Pop { map, stays } => self.pop(map, stays),
            Action::RedirectMap { map, key, flags } => self.redirect_map(map, key, flags),
            Action::Read { pointer, size, at } => self.read(pointer, size, at),
            Action::Write { pointer, size, at, value } => self.write(pointer, size, at, value),
            Action::Adjust { end, by } => self.adjust(end, by),
            Action::Peek { metadata, at, size } => self.peek(metadata, at, size),
            Action::Poke { metadata, at, size, value } => self.poke(metadata, at, size, value),
            Action::Bytes { store, offset, length } => self.bytes(store, offset, length),
            Action::Checksum { from, to, seed } => self.checksum(from, to, seed),
            Action::Redirect { device, flags } => self.redirect(device, flags),
            Action::Length => self.length(),
        }
    }

    /// Emits a branch that depends on the result of an earlier call or read.
    fn test(&mut self, test: &Test) {
        if self.results == 0 || self.code.len() > MAX_SLOTS || self.marks.len() >= MAX_BRANCHES {
            return;
        }
        let result = usize::from(test.result) % self.results;
        self.load(Size::DW, reg(1), Register::FRAME, result_at(result));
        let end = self.branch(test.condition, reg(1), Source::Imm(test.constant));
        for filler in 0..test.weight {
            self.mov(reg(2), Source::Imm(filler.into()));
        }
        self.land(end);
    }

    /// Emits code that stores `r9` and the results of the calls in the map `out`. Returns the slot
    /// of the null check after the look-up in `out`, which never fails.
    fn output(&mut self) -> usize {
        self.store(Size::W, Register::FRAME, AT_KEY, Source::Imm(0));
        self.call_with(0, MAP_LOOKUP_ELEM);
        let at = self.code.len();
        let (width, cond, src) = (Width::W64, Condition::Eq, Source::Imm(0));
        self.code.push(Insn::Branch { width, cond, dst: Register::R0, src, offset: 0 });
        // This branch shares bit 0 with the first branch, which is not taken if a run gets here.
        self.marks.push((at, 0));
        self.store(Size::DW, Register::R0, 0, Source::Reg(reg(9)));
        for number in 0..self.results {
            self.load(Size::DW, reg(1), Register::FRAME, result_at(number));
            self.store(Size::DW, Register::R0, 8 * (number as i16 + 1), Source::Reg(reg(1)));
        }
        at
    }

    fn alu(&mut self, op: AluOp, dst: Register, src: Source) {
        self.code.push(Insn::Alu { width: Width::W64, op, dst, src });
    }

    fn mov(&mut self, dst: Register, src: Source) {
        self.alu(AluOp::Mov, dst, src);
    }

    fn add(&mut self, dst: Register, value: i32) {
        self.alu(AluOp::Add, dst, Source::Imm(value));
    }

    fn load(&mut self, size: Size, dst: Register, base: Register, offset: i16) {
        self.code.push(Insn::Load { size, signed: false, dst, base, offset });
    }

    fn store(&mut self, size: Size, base: Register, offset: i16, src: Source) {
        self.code.push(Insn::Store { size, base, offset, src });
    }

    fn helper(&mut self, number: i32) {
        self.code.push(Insn::Call(Call::Helper(number)));
    }

    /// Emits code that puts the address of a stack byte, `offset` bytes from the frame pointer, in
    /// `dst`.
    fn stack(&mut self, dst: Register, offset: i16) {
        self.mov(dst, Source::Reg(Register::FRAME));
        self.add(dst, offset.into());
    }

    /// Emits a call of a helper whose arguments are a map and the address of the key on the stack.
    fn call_with(&mut self, map: usize, helper: i32) {
        self.code.push(Insn::LoadImm64 { dst: reg(1), value: Imm64::MapFd(map as i32) });
        self.code.push(Insn::SecondSlot);
        self.stack(reg(2), AT_KEY);
        self.helper(helper);
    }

    /// Emits a branch over the code that is emitted next, followed by the first instruction of this
    /// code, which sets the branch's bit in `r9`. Returns the slot of the branch.
    fn branch(&mut self, cond: Condition, dst: Register, src: Source) -> usize {
        let at = self.code.len();
        self.code.push(Insn::Branch { width: Width::W64, cond, dst, src, offset: 0 });
        let bit = self.marks.len() as u8;
        self.marks.push((at, bit));
        if bit < 31 {
            self.alu(AluOp::Or, reg(9), Source::Imm(1 << bit));
        } else {
            let value = Imm64::Value(1 << (bit % 64));
            self.code.push(Insn::LoadImm64 { dst: reg(5), value });
            self.code.push(Insn::SecondSlot);
            self.alu(AluOp::Or, reg(9), Source::Reg(reg(5)));
        }
        at
    }

    /// Sets the target of the branch in slot `at` to the next instruction to be emitted.
    fn land(&mut self, at: usize) {
        let distance = (self.code.len() - at - 1) as i16;
        if let Some(Insn::Branch { offset, .. }) = self.code.get_mut(at) {
            *offset = distance;
        }
    }

    /// Emits code that computes an argument of a call in the register `dst`.
    fn number(&mut self, dst: Register, number: Number) {
        let (at, mask, shift, less, negative) = match number {
            Number::Constant(value) => return self.mov(dst, Source::Imm(value)),
            Number::Byte { at, mask, shift, less, negative } => (at, mask, shift, less, negative),
        };
        self.load(Size::B, dst, Register::FRAME, AT_ARGUMENTS + i16::from(at % ARGUMENTS));
        if mask != 0xff {
            self.alu(AluOp::And, dst, Source::Imm(mask.into()));
        }
        if shift != 0 {
            self.alu(AluOp::Lsh, dst, Source::Imm(shift.into()));
        }
        if negative {
            self.code.push(Insn::Neg { width: Width::W64, dst });
        }
        if less != 0 {
            self.add(dst, -less);
        }
    }

    /// Emits a store of the result of a call or read at the next free place for results on the
    /// stack.
    fn result(&mut self, from: Register) {
        self.store(Size::DW, Register::FRAME, result_at(self.results), Source::Reg(from));
        self.results += 1;
    }
}

fn pointer_at(number: usize) -> i16 {
    AT_POINTERS - 8 * number as i16
}

fn result_at(number: usize) -> i16 {
    AT_RESULTS - 8 * number as i16
}
