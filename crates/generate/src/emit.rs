//! Translates statements of a generated program to BPF instructions. Each instruction is valid at
//! its position. The registers that it reads are defined, packet accesses are checked, and stack
//! bytes are written before they are read.
//!
//! A statement is left out if it is impossible in the current state of registers and stack. It is
//! also left out if the program would become too long or get too many paths.

mod alu;
mod call;
mod end;
mod flow;
mod map;
mod packet;
mod stack;
mod straddle;

use slowpath_bpf::insn::helper::{XDP_ADJUST_HEAD, XDP_ADJUST_TAIL};
use slowpath_bpf::insn::{AluOp, Insn, Register, Size, Source, Width};

use crate::Features;
use crate::state::{Kind, Range, VerifierState, result};
use crate::statement::{Function, MapShape, Operand, Pick, Program, Stmt};

/// Number of instruction slots that statements leave free for the exits at the end of a program.
const RESERVE: usize = 8;

/// Bit of the random number ([`Pick`]) that chooses a target register. If it is set, undefined
/// registers are preferred.
const UNUSED: Pick = 0x8000;
/// Bits of the random number ([`Pick`]) that chooses a right operand. The left operand's register
/// can be chosen only if all these bits are 0.
const SAME: Pick = 0x7000;

/// Returns the register with this number; numbers above 10 give the frame pointer.
pub(crate) fn reg(number: u8) -> Register {
    Register::new(number).unwrap_or(Register::FRAME)
}

/// A function as a list of BPF instructions that are not linked yet. Calls contain the index of the
/// callee instead of its offset. Instructions that load the map's address contain the map number 0.
#[derive(Clone, Debug)]
pub(crate) struct Emitted {
    /// Instructions, indexed by slot; a 64-bit immediate load takes two slots.
    pub code: Vec<Insn>,
    /// Number of paths through the function, counted as if all conditions were independent.
    pub paths: u64,
}

/// A function under construction, with the facts that the kernel's verifier would know before its
/// next instruction.
#[derive(Clone)]
struct Emitter<'a> {
    features: &'a Features,
    map: MapShape,
    /// Functions that the function under construction can call.
    callees: &'a [Callee],
    code: Vec<Insn>,
    state: VerifierState,
    /// Registers whose values emitted code must not change.
    reserved: Vec<Register>,
    context: Option<Register>,
    /// Number of computations of packet pointers at variable offsets emitted so far.
    variable_offsets: u32,
    /// Jumps to exits that return a constant: the slot of each jump, and the constant. The exits
    /// are emitted after all statements.
    pending_exits: Vec<(usize, i32)>,
    /// Jumps out of the innermost loop: the slot of each jump, and the state of registers and stack
    /// at the jump. `None` outside of loops.
    breaks: Option<Vec<(usize, VerifierState)>>,
    /// Number of paths that have already reached an exit in the code emitted so far.
    ended: u64,
    max_slots: usize,
}

#[derive(Clone, Copy)]
struct Callee {
    arguments: u8,
    paths: u64,
}

/// Emits all functions of a program, the entry function first, even functions that are never
/// called.
pub(crate) fn emit(program: &Program, features: &Features) -> Vec<Emitted> {
    let mut callees = Vec::new();
    let mut functions = Vec::new();
    let quarter = features.max_slots / 4;
    for function in program.functions.iter().filter(|_| features.calls) {
        let emitted = emit_function(function, program, features, quarter);
        callees.push(Callee { arguments: function.arguments, paths: emitted.paths });
        functions.push(emitted);
    }
    let used: usize = functions.iter().map(|f| f.code.len()).sum();
    let max_slots = features.max_slots.saturating_sub(used);
    let mut emitter = Emitter::new(features, program.map, &callees, max_slots);
    emitter.start(program.context);
    if program.first_check > 0 {
        emitter.first_check(program.first_check);
    }
    emitter.block(&program.body);
    functions.insert(0, emitter.finish(program.end, program.observed));
    functions
}

fn emit_function(
    function: &Function,
    program: &Program,
    features: &Features,
    max_slots: usize,
) -> Emitted {
    let mut emitter = Emitter::new(features, program.map, &[], max_slots);
    for argument in 1..=function.arguments {
        emitter.state.set(reg(argument), Kind::Scalar(Range::ANY));
    }
    emitter.block(&function.body);
    emitter.finish(function.result, 0)
}

impl<'a> Emitter<'a> {
    fn new(features: &'a Features, map: MapShape, callees: &'a [Callee], max_slots: usize) -> Self {
        Emitter {
            features,
            map,
            callees,
            code: Vec::new(),
            state: VerifierState::new(features.stack_depth),
            reserved: Vec::new(),
            context: None,
            variable_offsets: 0,
            pending_exits: Vec::new(),
            breaks: None,
            ended: 0,
            max_slots,
        }
    }

    /// Emits a copy of the pointer to the XDP context from `r1` to the register in which the
    /// program keeps it.
    fn start(&mut self, context: Pick) {
        let callee_saved = [reg(1), reg(6), reg(7), reg(8), reg(9)];
        let context = callee_saved[usize::from(context) % callee_saved.len()];
        if context != reg(1) {
            self.alu(AluOp::Mov, Width::W64, context, Source::Reg(reg(1)));
        }
        self.state.set(context, Kind::Context);
        self.reserved.push(context);
        self.context = Some(context);
    }

    fn block(&mut self, statements: &[Stmt]) {
        for statement in statements {
            if self.state.paths == 0 {
                break;
            }
            let before = self.clone();
            if self.statement(statement).is_none() || self.too_large() {
                *self = before;
            }
        }
    }

    fn too_large(&self) -> bool {
        let slots = self.code.len() + 2 * self.pending_exits.len() + RESERVE;
        let paths = self.state.paths.saturating_add(self.ended);
        slots > self.max_slots || paths > self.features.max_paths
    }

    /// Emits a statement. Returns `None` if the statement is impossible in the current state; the
    /// caller must then remove the emitted code.
    fn statement(&mut self, statement: &Stmt) -> Option<()> {
        match *statement {
            Stmt::Alu(op, width, dst, src) => self.arithmetic(op, width, dst, src),
            Stmt::Neg(width, dst) => self.negation(width, dst),
            Stmt::Swap(kind, size, dst) => self.swap(kind, size, dst),
            Stmt::Constant(dst, value) => self.constant(dst, value),
            Stmt::Truncate(dst) => self.truncation(dst),
            Stmt::Shift(op, width, dst, amount) => self.shift(op, width, dst, amount),
            Stmt::Multiply(width, dst, src) => self.multiplication(width, dst, src),
            Stmt::Divide(width, dst, divisor) => self.division(width, dst, divisor),
            Stmt::Check { bytes, by, fail, keep } => self.check(bytes, by, fail, keep),
            Stmt::Point { from, to, by } => self.point(from, to, by),
            Stmt::Load { size, to, from, at, follow } => self.load(size, to, (from, at), follow),
            Stmt::Store { size, to, at, value } => self.store(size, (to, at), value),
            Stmt::Copy { size, count, from, to, down, via } => {
                self.copy((size, count), from, to, (down, via))
            }
            Stmt::Straddle(ref test, ref straddle) => self.straddle(test, straddle),
            Stmt::Variable { ref access, ref inside, ref outside } => {
                self.variable(access, inside, outside)
            }
            Stmt::Push { size, slot, value } => self.push(size, slot, value),
            Stmt::Pop { size, slot, to } => self.pop(size, slot, to),
            Stmt::Spill { slot, pointer } => self.spill(slot, pointer),
            Stmt::Fill { slot, to } => self.fill(slot, to),
            Stmt::If { ref test, ref taken, ref other } => self.branches(test, taken, other),
            Stmt::Loop { rounds, up, ref body } => self.iterations(rounds, up, body),
            Stmt::Break(ref test) => self.leave_loop(test),
            Stmt::Lookup { ref element, ref found, ref missing } => {
                self.lookup(element, found, missing)
            }
            Stmt::Read { size, to, from, at } => self.read(size, to, (from, at)),
            Stmt::Add { width, to, at, value } => self.add(width, (to, at), value),
            Stmt::AdjustHead { delta, check } => self.adjust(XDP_ADJUST_HEAD, delta, check),
            Stmt::AdjustTail { delta, check } => self.adjust(XDP_ADJUST_TAIL, delta, check),
            Stmt::Random => self.random(),
            Stmt::Call { function, ref arguments } => self.call(function, arguments),
            Stmt::Exit(code) => self.exit(code),
        }
    }

    /// Emits an arithmetic instruction with scalar operands, and updates the state.
    fn alu(&mut self, op: AluOp, width: Width, dst: Register, src: Source) {
        self.code.push(Insn::Alu { width, op, dst, src });
        let b = match src {
            Source::Reg(src) => self.state.range(src),
            Source::Imm(value) => Some(Range::exactly(i64::from(value) as u64)),
        };
        let a = self.state.range(dst).unwrap_or(Range::ANY);
        let range = result(op, width, a, b.unwrap_or(Range::ANY));
        self.state.set(dst, Kind::Scalar(range));
    }

    fn set(&mut self, dst: Register, value: i32) {
        self.alu(AluOp::Mov, Width::W64, dst, Source::Imm(value));
    }

    /// Emits a copy of a register, and records that both now hold the same scalar or pointer.
    fn copy_register(&mut self, dst: Register, src: Register) {
        if dst != src {
            let kind = self.state.get(src);
            self.alu(AluOp::Mov, Width::W64, dst, Source::Reg(src));
            self.state.set(dst, kind);
        }
    }

    fn load_from(&mut self, size: Size, dst: Register, base: Register, offset: i16, kind: Kind) {
        self.code.push(Insn::Load { size, signed: false, dst, base, offset });
        self.state.set(dst, kind);
    }

    /// Returns `width` if the features of the program include 64-bit arithmetic, and 32 bits
    /// otherwise.
    fn width(&self, width: Width) -> Width {
        if self.features.wide { width } else { Width::W32 }
    }

    /// Chooses a register that holds a scalar (a number, not a pointer); `None` if there is none.
    fn scalar(&self, choice: Pick) -> Option<Register> {
        pick(&self.state.registers(|kind| matches!(kind, Kind::Scalar(_))), choice)
    }

    /// Chooses a register that holds a scalar, may be overwritten, and is not in `avoid`; `None` if
    /// there is none.
    fn variable_scalar(&self, choice: Pick, avoid: &[Register]) -> Option<Register> {
        let mut all = self.state.registers(|kind| matches!(kind, Kind::Scalar(_)));
        all.retain(|register| !self.reserved.contains(register) && !avoid.contains(register));
        pick(&all, choice)
    }

    /// Chooses a register, not in `avoid`, for a new value. Avoids registers with pointers if there
    /// are enough other registers. In half of the cases, an undefined register is preferred.
    fn target(&self, choice: Pick, avoid: &[Register]) -> Option<Register> {
        let usable =
            |register: &Register| !self.reserved.contains(register) && !avoid.contains(register);
        let pointer = |kind| matches!(kind, Kind::Packet(_) | Kind::End | Kind::Value);
        if choice & UNUSED != 0 {
            let mut unused = self.state.registers(|kind| kind == Kind::Nothing);
            unused.retain(usable);
            if let Some(register) = pick(&unused, choice) {
                return Some(register);
            }
        }
        let mut free = self.state.registers(|kind| !pointer(kind));
        free.retain(usable);
        if free.len() < 3 {
            free = self.state.registers(|_| true);
            free.retain(usable);
        }
        pick(&free, choice)
    }

    fn source(&self, operand: Operand) -> Option<Source> {
        match operand {
            Operand::Register(choice) => self.scalar(choice).map(Source::Reg),
            Operand::Constant(value) => Some(Source::Imm(value)),
        }
    }

    /// Chooses the right operand of an operation whose left operand is `left`. Seldom chooses
    /// `left` itself, if another register holds a scalar.
    fn source_beside(&self, left: Register, operand: Operand) -> Option<Source> {
        if let Operand::Register(choice) = operand
            && choice & SAME != 0
        {
            let mut others = self.state.registers(|kind| matches!(kind, Kind::Scalar(_)));
            others.retain(|register| *register != left);
            if let Some(other) = pick(&others, choice) {
                return Some(Source::Reg(other));
            }
        }
        self.source(operand)
    }

    /// Emits a jump whose target is set later by [`land`](Self::land). Returns the slot of the
    /// jump.
    fn jump(&mut self, insn: Insn) -> usize {
        self.code.push(insn);
        self.code.len() - 1
    }

    /// Sets the target of the jump in slot `at` to the next instruction to be emitted.
    fn land(&mut self, at: usize) {
        let distance = (self.code.len() - at - 1) as i16;
        match self.code.get_mut(at) {
            Some(Insn::Branch { offset, .. }) => *offset = distance,
            Some(Insn::Jump { offset, .. }) => *offset = distance.into(),
            _ => {}
        }
    }
}

/// Returns the list element that the random number `choice` selects; `None` if the list is empty.
pub(crate) fn pick<T: Copy>(list: &[T], choice: Pick) -> Option<T> {
    list.get(usize::from(choice).checked_rem(list.len())?).copied()
}
