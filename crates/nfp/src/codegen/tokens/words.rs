//! Describes an instruction as a list of words, from its operation to its operands. The words are
//! the properties that the code generator uses.

use slowpath_bpf::insn::{
    AluOp, AtomicOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width,
};

use super::analysis::Analysis;
use super::frames::{Frame, is_refused};
use super::transfer::State;
use super::value::{Kind, Origin, Value};
use crate::codegen::annotated::{AnnotatedInsn, Copy, PacketCache};
use crate::codegen::emit::{self, Direction};

/// Largest constant of the class `small`, which contains the constants that fit into 7-bit
/// operands.
const SMALL: u64 = 127;
const BYTE: u64 = 255;
const HALF: u64 = 65535;
const WORD: u64 = u32::MAX as u64;

/// A description of an instruction as a list of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The words: first the operation, such as `load`, then its properties.
    pub words: Vec<String>,
    /// Number of SmartNIC instructions that can be computed from access lengths and stack offsets
    /// alone, for example one for each word of a copy. Models predict only the other instructions.
    pub pieces: u32,
    /// The kind of memory that the instruction accesses; `None` if it accesses none.
    pub pointee: Option<&'static str>,
}

type Words = Vec<String>;

fn words<const N: usize>(words: [&str; N]) -> Words {
    words.map(str::to_owned).to_vec()
}

/// Describes the BPF instructions of a function as tokens.
pub(super) struct Describer<'a> {
    pub analysis: &'a Analysis<'a>,
    /// Annotated instructions of the program, with memory copies and shared reads of the packet.
    pub insns: &'a [AnnotatedInsn],
    pub frames: &'a [Frame],
    /// Stack frame of the function that is described.
    pub frame: Frame,
}

impl Describer<'_> {
    /// Describes the instructions at `first..end`, without the second slots of 16-byte
    /// instructions.
    pub fn all(&self, first: usize, end: usize) -> Vec<Token> {
        let mut saves_context = first == 0;
        let slots =
            (first..end).filter(|&slot| self.analysis.code.program.insns[slot] != Insn::SecondSlot);
        let described = slots.map(|slot| {
            let insn = self.analysis.code.program.insns[slot];
            // No code is emitted: the context's address has no meaning on the card.
            saves_context &= insn
                == Insn::Alu {
                    width: Width::W64,
                    op: AluOp::Mov,
                    dst: Register::R6,
                    src: Source::Reg(Register::R1),
                };
            let words = if saves_context { words(["context"]) } else { self.words(slot, insn) };
            // A called function stores its return address first.
            let enters = u32::from(slot == first && first > 0);
            Token {
                words,
                pieces: self.pieces(slot, insn) + enters,
                pointee: self.pointee(slot, insn),
            }
        });
        described.collect()
    }

    fn pointee(&self, slot: usize, insn: Insn) -> Option<&'static str> {
        let (Insn::Load { base, .. } | Insn::Store { base, .. } | Insn::Atomic { base, .. }) = insn
        else {
            return None;
        };
        let state = self.analysis.states[slot].as_ref();
        Some(state.map_or(Kind::Unknown, |state| state.register(base).pointee()).name())
    }

    /// Returns the value of [`Token::pieces`] for an instruction, given by its index `slot`.
    fn pieces(&self, slot: usize, insn: Insn) -> u32 {
        let annotated = &self.insns[slot];
        if let Some(copy) = annotated.copy {
            return u32::from(copy.length).div_ceil(4);
        }
        let Some(state) = self.analysis.states[slot].as_ref().filter(|_| !annotated.skipped) else {
            return 0;
        };
        if let Some(target) = self.analysis.code.own_target(slot) {
            let callee = self.frames.iter().find(|frame| frame.function.first == target);
            let depth = self.frame.function.stack;
            return callee.map_or(0, |callee| emit::call_length(depth, callee.function));
        }
        let (direction, base, offset, size) = match insn {
            Insn::Load { base, offset, size, .. } => (Direction::Load, base, offset, size),
            Insn::Store { base, offset, size, .. } => (Direction::Store, base, offset, size),
            _ => return 0,
        };
        let base = state.register(base);
        if base.kind != Kind::Stack || base.varies {
            return 0;
        }
        let in_caller = base.in_caller(offset);
        if in_caller.is_some_and(|at| is_refused(at + self.frame.without_stand_ins)) {
            return 0;
        }
        let own = base.offset.unwrap_or(0).wrapping_add(offset.into());
        let place = in_caller.unwrap_or(own).wrapping_add(self.frame.function.stack.into());
        let by_pointer = base.offset.is_none() || base.several || base.origin != Origin::Frame;
        emit::stack_access_length(annotated, direction, size, place, by_pointer.then_some(offset))
    }

    fn zeros(&self, slot: usize) -> &'static str {
        if self.insns[slot].zero_extends { "zeros" } else { "bare" }
    }

    fn words(&self, slot: usize, insn: Insn) -> Words {
        let Some(state) = &self.analysis.states[slot] else { return words(["unreached"]) };
        let annotated = &self.insns[slot];
        if annotated.skipped {
            return words(["copied"]);
        }
        let zeros = self.zeros(slot);
        match insn {
            Insn::Alu { width, op: AluOp::Mov, src, .. } => self.moved(src, width),
            Insn::Alu { width, op, dst, src } => arithmetic((width, op), (dst, src), state, zeros),
            Insn::Load { size, signed, base, offset, .. } => {
                let base = state.register(base);
                if let Some(copy) = annotated.copy {
                    let lowest = crate::codegen::access::memory_operand(&annotated.insn);
                    let from = lowest.map_or(offset, |(_, offset)| offset);
                    return self::copy(&copy, base, size, from);
                }
                if base.kind == Kind::Stack {
                    return words(["load", "stack"]);
                }
                let mut found = words(["load", base.card_pointee().name()]);
                found.extend(loaded((size, signed), base, offset, annotated.cache, zeros));
                found
            }
            Insn::Store { size, base, offset, .. } => {
                let base = state.register(base);
                if base.kind == Kind::Stack {
                    return words(["store", "stack"]);
                }
                let bits = size.bits().to_string();
                words(["store", base.card_pointee().name(), &bits, offset_class(offset.into())])
            }
            Insn::Atomic { op, width, base, offset, src } => {
                let element = state.register(base).card_pointee() == Kind::Element;
                let place = if element { "element" } else { "global" };
                let bits = width.bits().to_string();
                let [size, offset] = addend_class(state.register(src), offset);
                words(["atomic", place, atomic(op), &bits, size, offset])
            }
            Insn::Branch { width, cond, src, .. } => branch(width, cond, src),
            Insn::Jump { .. } => {
                let next = insn.jump_target(slot) == Some(slot + 1);
                words(["jump", if next { "next" } else { "away" }])
            }
            Insn::Call(Call::Subprogram { .. }) => words(["call", "own"]),
            Insn::Call(_) => words(["call", "framework"]),
            Insn::Exit if self.frame.function.first == 0 => words(["exit", "main"]),
            Insn::Exit => {
                let saves = self.frame.function.saves_registers;
                words(["exit", if saves { "saves True" } else { "saves False" }])
            }
            Insn::Neg { width, .. } => words(["negate", &width.bits().to_string(), zeros]),
            Insn::LoadImm64 { dst, value } => self.wide(slot, dst, value),
            Insn::Swap { kind, size, .. } => {
                words(["swap", &format!("{}{}", kind.name(), size.bits())])
            }
            _ => words(["other", ""]),
        }
    }

    fn moved(&self, src: Source, width: Width) -> Words {
        let bits = width.bits();
        match src {
            Source::Reg(Register::FRAME) => {
                let far = u64::from(self.frame.function.stack) > BYTE;
                words(["move", "frame", if far { "far" } else { "near" }])
            }
            Source::Reg(_) => words(["move", &format!("register {bits}")]),
            Source::Imm(value) => {
                let value = value.into();
                words(["move", &format!("constant {bits}"), sign(value), operand_class(value)])
            }
        }
    }

    fn wide(&self, slot: usize, dst: Register, value: Imm64) -> Words {
        match value {
            Imm64::Value(value) if !self.analysis.code.variables.contains_key(&slot) => {
                let (low, high) = ((value & WORD) as i64, (value >> 32) as i64);
                let halves = format!("{} {}", constant_class(low), constant_class(high));
                words(["wide", "number", if low == high { "twice" } else { &halves }])
            }
            _ => {
                let after = self.analysis.states.get(slot + 2).and_then(Option::as_ref);
                let kind = after.map_or(Kind::Global, |state| state.register(dst).kind);
                words(["wide", kind.name()])
            }
        }
    }
}

fn arithmetic(
    (width, op): (Width, AluOp),
    (dst, src): (Register, Source),
    state: &State,
    zeros: &str,
) -> Words {
    let bits = width.bits().to_string();
    let left = state.register(dst);
    let constant = match src {
        Source::Imm(value) => Some(i64::from(value)),
        Source::Reg(_) => None,
    };
    let right = match src {
        Source::Reg(register) => state.register(register),
        Source::Imm(_) => left,
    };
    match op {
        AluOp::Lsh | AluOp::Rsh | AluOp::Arsh => {
            words(["shift", op.symbol(), &bits, amount_class(constant, right), zeros])
        }
        AluOp::Mul | AluOp::Div | AluOp::Mod | AluOp::Sdiv | AluOp::Smod => {
            let high = constant.map_or(right.high, |value| value as u64 & WORD);
            let most = left.high.max(high);
            let wide = if most <= WORD { "word" } else { "more" };
            let size = if most <= HALF { "half" } else { wide };
            let mut found = words([op.symbol(), size, &bits]);
            let Some(value) = constant else {
                found.push("register".to_owned());
                return found;
            };
            let divides = op == AluOp::Div;
            let power = divides && value.unsigned_abs().is_power_of_two();
            let class = if power { "power" } else { operand_class(value) };
            found.push(format!("{class} {}", sign(value)));
            found.extend(divides.then(|| value.to_string()));
            found
        }
        _ => {
            let adds = matches!(op, AluOp::Add | AluOp::Sub);
            let constant = constant.map(|value| if adds { value.abs() } else { value });
            let mut found = words([if adds { "+" } else { op.symbol() }, &bits, zeros]);
            found.extend(operand(constant));
            found
        }
    }
}

/// Returns the words of a token that describe a load from memory other than the stack.
fn loaded(
    (size, signed): (Size, bool),
    base: &Value,
    offset: i16,
    cache: Option<PacketCache>,
    zeros: &str,
) -> Words {
    let bits = size.bits().to_string();
    if base.kind == Kind::Context {
        let at = base.offset.unwrap_or(0).wrapping_add(offset.into());
        return vec![match base.origin {
            Origin::Context { data, end } if at != data => {
                if at == end {
                    "4".to_owned()
                } else {
                    at.to_string()
                }
            }
            _ => "0".to_owned(),
        }];
    }
    if base.kind != Kind::Packet {
        return words([
            &bits,
            offset_class(offset.into()),
            zeros,
            if signed { "signed" } else { "plain" },
        ]);
    }
    let Some(PacketCache { start, end, fetches }) = cache.filter(|cache| cache.end != 0) else {
        return words(["alone", &bits, "0", zeros, constant_class(offset.into())]);
    };
    let skipped = (i32::from(offset) - i32::from(start)).rem_euclid(4).to_string();
    if !fetches {
        return words(["shared", &bits, &skipped, zeros]);
    }
    let long = i32::from(end) - i32::from(start) > 32;
    let length = if long { "long" } else { "short" };
    words(["fetched", &bits, &skipped, zeros, length, restricted_class(start.into())])
}

/// Returns the words of a token that describe a copy of bytes to the packet. `from` is the lowest
/// offset that the copy reads.
fn copy(copy: &Copy, base: &Value, size: Size, from: i16) -> Words {
    let length = match copy.length {
        0..=8 => "tiny",
        9..=32 => "short",
        33..=40 => "longer",
        _ => "long",
    };
    let whole = if copy.length.is_multiple_of(4) { "whole" } else { "rest" };
    let element = base.kind == Kind::Element && from == 0;
    let from = if element { "0" } else { restricted_class(from.into()) };
    let (bits, to) = (size.bits().to_string(), restricted_class(copy.to_offset.into()));
    let direction = if copy.descending { "down" } else { "up" };
    words(["copy", base.kind.name(), length, whole, &bits, from, to, direction])
}

fn branch(width: Width, cond: Condition, src: Source) -> Words {
    let kind = match cond {
        Condition::Eq => "equal",
        Condition::Ne => "differs",
        Condition::Set => "set",
        _ => "order",
    };
    let constant = match src {
        Source::Imm(value) => Some(i64::from(value)),
        Source::Reg(_) => None,
    };
    // For these conditions, the code generator negates negative constants.
    let negatable = matches!(cond, Condition::Ge | Condition::Sge | Condition::Lt | Condition::Slt);
    let turned = negatable && constant.is_some_and(|value| value < 0);
    let mut found = words(["branch", kind, &width.bits().to_string()]);
    found.extend(operand(constant.map(|value| if turned { -value } else { value })));
    found.extend(turned.then(|| "turned".to_owned()));
    found
}

fn atomic(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Xchg | AtomicOp::Cmpxchg => "exchange fetched",
        _ if op.fetches() => "fetch fetched",
        AtomicOp::Add { .. } => "+",
        AtomicOp::Or { .. } => "|",
        AtomicOp::And { .. } => "&",
        AtomicOp::Xor { .. } => "^",
    }
}

/// Returns the word of a token that describes the amount of a shift. The amount is the constant or,
/// without a constant, the value of the register.
fn amount_class(constant: Option<i64>, register: &Value) -> &'static str {
    let number = register.offset.filter(|_| register.kind == Kind::Number);
    let Some(amount) = constant.or(number) else {
        return if register.high < 32 { "by register, below a word" } else { "by register" };
    };
    match amount as u64 {
        0 => "by nothing",
        32 => "by a word",
        1..32 => "below a word",
        _ if amount < 0 && constant.is_some() => "below a word",
        _ => "above a word",
    }
}

/// Returns two words of a token that describe an atomic operation: the first its operand, the
/// second the offset of its address.
fn addend_class(value: &Value, offset: i16) -> [&'static str; 2] {
    let size = match value.offset.filter(|_| value.kind == Kind::Number) {
        Some(number) if number as u64 <= HALF => "small",
        Some(_) => "large",
        None if value.high <= HALF => "small",
        None => "either",
    };
    let place = match offset {
        0 => "0",
        1..=255 => "small",
        _ => "far",
    };
    [size, place]
}

/// Returns the words that describe an arithmetic operand: a constant, or `None` for a register.
/// Constants are classified by the number of instructions that load them.
fn operand(constant: Option<i64>) -> Words {
    match constant {
        None => words(["register"]),
        Some(value) => words(["constant", sign(value), operand_class(value)]),
    }
}

fn sign(value: i64) -> &'static str {
    if value < 0 { "negative" } else { "positive" }
}

/// Returns the word that describes a constant operand of `alu`. This operand can encode any byte.
fn operand_class(value: i64) -> &'static str {
    match constant_class(value) {
        "byte" => "small",
        class => class,
    }
}

/// Returns the word that describes a constant: its size class, from which the number of
/// instructions that load it follows.
fn constant_class(value: i64) -> &'static str {
    let value = value as u64 & WORD;
    let packed = |word: u64| [0, 8, 16].iter().any(|shift| (word >> shift & HALF) << shift == word);
    match value {
        0 => "0",
        WORD => "ones",
        1..=SMALL => "small",
        128..=BYTE => "byte",
        _ if packed(value) || packed(value ^ WORD) => "one",
        _ => "two",
    }
}

/// Returns the word that describes the offset of an address from a base register.
fn offset_class(offset: i64) -> &'static str {
    if offset == 0 { "0" } else { restricted_class(offset) }
}

/// Returns the word that describes a constant in a restricted operand, which can encode constants
/// up to 127.
fn restricted_class(offset: i64) -> &'static str {
    if (0..=SMALL as i64).contains(&offset) { "small" } else { constant_class(offset) }
}
