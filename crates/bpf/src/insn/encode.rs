//! Encodes instructions to bytes; the exact inverse of the decoder.

use super::code::{self, Word};
use super::{
    AluOp, AtomicOp, Call, Condition, Imm64, Insn, Register, Size, Source, SwapKind, Width,
};

/// Encodes a list of instructions; every slot becomes 8 bytes.
pub fn encode(insns: &[Insn]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(insns.len() * 8);
    for insn in insns {
        let (first, second) = words(insn);
        for word in [first, second].into_iter().flatten() {
            bytes.extend_from_slice(&word.to_bytes());
        }
    }
    bytes
}

fn word(code: u8, dst: Option<Register>, src: Option<Register>, off: i16, imm: i32) -> Word {
    let number = |reg: Option<Register>| reg.map_or(0, Register::number);
    Word { code, dst: number(dst), src: number(src), off, imm }
}

fn words(insn: &Insn) -> (Option<Word>, Option<Word>) {
    let one = |word: Word| (Some(word), None);
    match *insn {
        Insn::SecondSlot => (None, None),
        Insn::LoadImm64 { dst, value } => {
            let (src, low, high) = imm64(value);
            let first = Word { code: code::LD | 0x18, dst: dst.number(), src, off: 0, imm: low };
            (Some(first), Some(Word { code: 0, dst: 0, src: 0, off: 0, imm: high }))
        }
        Insn::Alu { width, op, dst, src } => {
            let (bits, off) = alu_op(op);
            let (x, reg, imm) = source(src);
            one(word(alu_class(width) | bits | x, Some(dst), reg, off, imm))
        }
        Insn::Neg { width, dst } => one(word(alu_class(width) | code::NEG, Some(dst), None, 0, 0)),
        Insn::MoveSigned { width, from, dst, src } => {
            let (bits, _) = alu_op(AluOp::Mov);
            let off = i16::from(from.bits());
            one(word(alu_class(width) | bits | code::X, Some(dst), Some(src), off, 0))
        }
        Insn::Swap { kind, size, dst } => {
            let class = match kind {
                SwapKind::Le => code::ALU,
                SwapKind::Be => code::ALU | code::X,
                SwapKind::Always => code::ALU64,
            };
            one(word(class | code::END, Some(dst), None, 0, size.bits().into()))
        }
        Insn::Load { size, signed, dst, base, offset } => {
            let mode = if signed { code::MODE_MEMSX } else { code::MODE_MEM };
            one(word(code::LDX | mode | code::size_code(size), Some(dst), Some(base), offset, 0))
        }
        Insn::Store { size, base, offset, src } => {
            let (_, reg, imm) = source(src);
            let class = if reg.is_some() { code::STX } else { code::ST };
            one(word(class | code::MODE_MEM | code::size_code(size), Some(base), reg, offset, imm))
        }
        Insn::Atomic { op, width, base, offset, src } => {
            let size = if width == Width::W64 { Size::DW } else { Size::W };
            one(atomic(size, base, src, offset, atomic_imm(op)))
        }
        Insn::LoadAcquire { size, dst, base, offset } => {
            one(atomic(size, dst, base, offset, code::LOAD_ACQUIRE))
        }
        Insn::StoreRelease { size, base, offset, src } => {
            one(atomic(size, base, src, offset, code::STORE_RELEASE))
        }
        Insn::LoadPacket { size, index, offset } => {
            let mode = if index.is_some() { code::MODE_IND } else { code::MODE_ABS };
            one(word(code::LD | mode | code::size_code(size), None, index, 0, offset))
        }
        Insn::Jump { offset, long: true } => one(word(code::JMP32, None, None, 0, offset)),
        // The offset of a short jump has 16 bits, so the cast loses nothing.
        Insn::Jump { offset, long: false } => one(word(code::JMP, None, None, offset as i16, 0)),
        Insn::Branch { width, cond, dst, src, offset } => {
            let class = if width == Width::W64 { code::JMP } else { code::JMP32 };
            let (x, reg, imm) = source(src);
            one(word(class | condition(cond) | x, Some(dst), reg, offset, imm))
        }
        Insn::MayGoto { offset } => one(word(code::JMP | code::JCOND, None, None, offset, 0)),
        Insn::Call(call) => {
            let (src, off, imm) = match call {
                Call::Helper(number) => (0, 0, number),
                Call::Subprogram { offset } => (code::CALL_SUBPROGRAM, 0, offset),
                Call::Kfunc { id, module } => (code::CALL_KFUNC, module, id),
            };
            one(Word { code: code::JMP | code::CALL, dst: 0, src, off, imm })
        }
        Insn::Exit => one(word(code::JMP | code::EXIT, None, None, 0, 0)),
    }
}

fn alu_class(width: Width) -> u8 {
    if width == Width::W64 { code::ALU64 } else { code::ALU }
}

fn source(src: Source) -> (u8, Option<Register>, i32) {
    match src {
        Source::Reg(reg) => (code::X, Some(reg), 0),
        Source::Imm(imm) => (0, None, imm),
    }
}

fn atomic(size: Size, dst: Register, src: Register, offset: i16, imm: i32) -> Word {
    let code = code::STX | code::MODE_ATOMIC | code::size_code(size);
    word(code, Some(dst), Some(src), offset, imm)
}

/// Returns the fields that encode the value of a 64-bit immediate load: the source register field
/// of the first 8-byte word, and the immediate fields of both words.
fn imm64(value: Imm64) -> (u8, i32, i32) {
    match value {
        Imm64::Value(value) => (0, value as i32, (value >> 32) as i32),
        Imm64::MapFd(fd) => (1, fd, 0),
        Imm64::MapFdValue { fd, offset } => (2, fd, offset as i32),
        Imm64::Variable { id, module } => (3, id, module),
        Imm64::Function { offset } => (4, offset, 0),
        Imm64::Map(map) => (5, map as i32, 0),
        Imm64::MapValue { map, offset } => (6, map as i32, offset as i32),
    }
}

fn alu_op(op: AluOp) -> (u8, i16) {
    let found = code::ALU_OPS.iter().find(|(o, _, _)| *o == op);
    found.map_or((0, 0), |(_, bits, off)| (*bits, *off))
}

fn condition(cond: Condition) -> u8 {
    code::CONDITIONS.iter().find(|(c, _)| *c == cond).map_or(0, |(_, bits)| *bits)
}

fn atomic_imm(op: AtomicOp) -> i32 {
    code::ATOMICS.iter().find(|(o, _)| *o == op).map_or(0, |(_, imm)| *imm)
}
