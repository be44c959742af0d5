//! Decodes bytes to instructions.
//!
//! The decoder is strict: a field that an instruction does not use must be zero, as the kernel's
//! verifier demands. The encoder therefore restores the bytes of every accepted word.

use thiserror::Error;

use super::code::{self, Word};
use super::{Call, Imm64, Insn, Register, Size, Source, SwapKind, Width};

/// Reason why a word is not a valid instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{what}; {hint}")]
pub struct DecodeError {
    /// Slot of the word, counted from the start of the bytes.
    pub slot: usize,
    /// Description of the fault.
    pub what: &'static str,
    /// Possible remedy.
    pub hint: &'static str,
}

type Fault = (&'static str, &'static str);

const UNKNOWN: Fault =
    ("unknown instruction", "slowpath knows the instruction set up to version 4 (clang -mcpu=v4)");
const RESERVED: Fault =
    ("a field that this instruction does not use is not zero", "the object may be damaged");
const REGISTER: Fault = ("no such register", "registers are r0 to r10; the object may be damaged");

/// Decodes `bytes`. Returns a list with one instruction for each 8-byte slot.
pub fn decode(bytes: &[u8]) -> Result<Vec<Insn>, DecodeError> {
    let mut insns = Vec::with_capacity(bytes.len() / 8);
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut words = chunks.iter().map(|chunk| Word::from_bytes(*chunk));
    while let Some(word) = words.next() {
        let slot = insns.len();
        let located = |(what, hint): Fault| DecodeError { slot, what, hint };
        if word.code == code::LD | 0x18 {
            let next = words
                .next()
                .ok_or_else(|| located(("a 64-bit immediate lacks its second half", TRUNCATED)))?;
            insns.push(load_imm64(word, next).map_err(located)?);
            insns.push(Insn::SecondSlot);
        } else {
            insns.push(single(word).map_err(located)?);
        }
    }
    if !rest.is_empty() {
        let text = "the code is not a multiple of 8 bytes long";
        return Err(DecodeError { slot: insns.len(), what: text, hint: TRUNCATED });
    }
    Ok(insns)
}

const TRUNCATED: &str = "the object may be truncated";

fn register(number: u8) -> Result<Register, Fault> {
    Register::new(number).ok_or(REGISTER)
}

/// Fails if `zero` is false. Callers pass true if all fields that the instruction does not use are
/// zero. The kernel reports "uses reserved fields" otherwise (`check_alu_op`, `check_ld_imm`,
/// `do_check` of `kernel/bpf/verifier.c`).
fn unused(zero: bool) -> Result<(), Fault> {
    if zero { Ok(()) } else { Err(RESERVED) }
}

fn load_imm64(first: Word, second: Word) -> Result<Insn, Fault> {
    unused(first.off == 0)?;
    unused(second.code == 0 && second.dst == 0 && second.src == 0 && second.off == 0)?;
    let dst = register(first.dst)?;
    let (low, high) = (first.imm, second.imm);
    let value = match first.src {
        0 => Imm64::Value(u64::from(high as u32) << 32 | u64::from(low as u32)),
        1 => Imm64::MapFd(low),
        2 => Imm64::MapFdValue { fd: low, offset: high as u32 },
        3 => Imm64::Variable { id: low, module: high },
        4 => Imm64::Function { offset: low },
        5 => Imm64::Map(low as u32),
        6 => Imm64::MapValue { map: low as u32, offset: high as u32 },
        _ => return Err(("unknown kind of 64-bit immediate", UNKNOWN.1)),
    };
    // These kinds do not use the immediate of the second word.
    if matches!(value, Imm64::MapFd(_) | Imm64::Function { .. } | Imm64::Map(_)) {
        unused(high == 0)?;
    }
    Ok(Insn::LoadImm64 { dst, value })
}

fn single(word: Word) -> Result<Insn, Fault> {
    match word.code & 7 {
        code::ALU => alu(word, Width::W32),
        code::ALU64 => alu(word, Width::W64),
        code::JMP => jump(word, Width::W64),
        code::JMP32 => jump(word, Width::W32),
        code::LD => load_packet(word),
        code::LDX => load(word),
        code::ST => store_imm(word),
        _ => store(word),
    }
}

fn size(word: Word) -> Size {
    let bits = word.code & 0x18;
    code::SIZES.iter().find(|(_, code)| *code == bits).map_or(Size::B, |(size, _)| *size)
}

/// Reads the right operand of an arithmetic instruction or a branch: a register or an immediate.
/// Fails if the field for the other kind of operand is not zero.
fn source(word: Word) -> Result<Source, Fault> {
    if word.code & code::X != 0 {
        unused(word.imm == 0)?;
        Ok(Source::Reg(register(word.src)?))
    } else {
        unused(word.src == 0)?;
        Ok(Source::Imm(word.imm))
    }
}

fn alu(word: Word, width: Width) -> Result<Insn, Fault> {
    let dst = register(word.dst)?;
    let bits = word.code & 0xf0;
    match bits {
        code::NEG => {
            unused(word.code & code::X == 0 && word.src == 0 && word.off == 0 && word.imm == 0)?;
            return Ok(Insn::Neg { width, dst });
        }
        code::END => return swap(word, width, dst),
        _ => {}
    }
    let mov = bits == 0xb0;
    if mov && word.code & code::X != 0 && word.off != 0 {
        return move_signed(word, width, dst);
    }
    // Signed division has the opcode of unsigned division, and 1 in the offset field (version 4).
    // If the opcode is known but the offset is not, the error is therefore about the field.
    let mut ops = code::ALU_OPS.iter().filter(|(_, b, _)| *b == bits).peekable();
    if ops.peek().is_none() {
        return Err(UNKNOWN);
    }
    let (op, _, _) = ops.find(|(_, _, off)| *off == word.off).ok_or(RESERVED)?;
    Ok(Insn::Alu { width, op: *op, dst, src: source(word)? })
}

fn move_signed(word: Word, width: Width, dst: Register) -> Result<Insn, Fault> {
    let src = register(word.src)?;
    let from = match (word.off, width) {
        (8, _) => Size::B,
        (16, _) => Size::H,
        (32, Width::W64) => Size::W,
        (1, Width::W64) => {
            return Err(("a cast between address spaces (arena)", "arenas are not supported"));
        }
        _ => return Err(RESERVED),
    };
    unused(word.imm == 0)?;
    Ok(Insn::MoveSigned { width, from, dst, src })
}

fn swap(word: Word, width: Width, dst: Register) -> Result<Insn, Fault> {
    unused(word.src == 0 && word.off == 0)?;
    let kind = match (width, word.code & code::X != 0) {
        (Width::W32, false) => SwapKind::Le,
        (Width::W32, true) => SwapKind::Be,
        (Width::W64, false) => SwapKind::Always,
        (Width::W64, true) => return Err(RESERVED),
    };
    let size = match word.imm {
        16 => Size::H,
        32 => Size::W,
        64 => Size::DW,
        _ => return Err(("a byte swap of a width other than 16, 32 or 64 bits", UNKNOWN.1)),
    };
    Ok(Insn::Swap { kind, size, dst })
}

fn load_packet(word: Word) -> Result<Insn, Fault> {
    let size = size(word);
    let index = match word.code & 0xe0 {
        code::MODE_ABS => {
            unused(word.src == 0)?;
            None
        }
        code::MODE_IND => Some(register(word.src)?),
        _ => return Err(UNKNOWN),
    };
    if size == Size::DW {
        return Err(UNKNOWN);
    }
    unused(word.dst == 0 && word.off == 0)?;
    Ok(Insn::LoadPacket { size, index, offset: word.imm })
}

fn load(word: Word) -> Result<Insn, Fault> {
    let size = size(word);
    let signed = match (word.code & 0xe0, size) {
        (code::MODE_MEM, _) => false,
        (code::MODE_MEMSX, Size::B | Size::H | Size::W) => true,
        _ => return Err(UNKNOWN),
    };
    unused(word.imm == 0)?;
    let (dst, base) = (register(word.dst)?, register(word.src)?);
    Ok(Insn::Load { size, signed, dst, base, offset: word.off })
}

fn store_imm(word: Word) -> Result<Insn, Fault> {
    if word.code & 0xe0 != code::MODE_MEM {
        return Err(UNKNOWN);
    }
    unused(word.src == 0)?;
    let (size, base) = (size(word), register(word.dst)?);
    Ok(Insn::Store { size, base, offset: word.off, src: Source::Imm(word.imm) })
}

fn store(word: Word) -> Result<Insn, Fault> {
    let size = size(word);
    let (dst, src, offset) = (register(word.dst)?, register(word.src)?, word.off);
    match word.code & 0xe0 {
        code::MODE_MEM => {
            unused(word.imm == 0)?;
            Ok(Insn::Store { size, base: dst, offset, src: Source::Reg(src) })
        }
        // The immediate selects the atomic operation, including load-acquire and store-release.
        code::MODE_ATOMIC => match word.imm {
            code::LOAD_ACQUIRE => Ok(Insn::LoadAcquire { size, dst, base: src, offset }),
            code::STORE_RELEASE => Ok(Insn::StoreRelease { size, base: dst, offset, src }),
            imm => {
                let width = match size {
                    Size::W => Width::W32,
                    Size::DW => Width::W64,
                    _ => return Err(("an atomic operation on 1 or 2 bytes", UNKNOWN.1)),
                };
                let found = code::ATOMICS.iter().find(|(_, code)| *code == imm);
                let (op, _) = found.ok_or(("unknown atomic operation", UNKNOWN.1))?;
                Ok(Insn::Atomic { op: *op, width, base: dst, offset, src })
            }
        },
        _ => Err(UNKNOWN),
    }
}

fn jump(word: Word, width: Width) -> Result<Insn, Fault> {
    let register_form = word.code & code::X != 0;
    match (word.code & 0xf0, width) {
        (code::JA, _) if register_form => {
            Err(("an indirect jump (gotox)", "compile with -fno-jump-tables"))
        }
        (code::JA, width) => {
            unused(word.dst == 0 && word.src == 0)?;
            // `gotol` (version 4) has its distance in the 32-bit field.
            let long = width == Width::W32;
            unused(if long { word.off == 0 } else { word.imm == 0 })?;
            let offset = if long { word.imm } else { word.off.into() };
            Ok(Insn::Jump { offset, long })
        }
        (code::CALL, Width::W64) if register_form => Err((
            "an indirect call (callx)",
            "call functions by name; the kernel also refuses \
                 indirect calls",
        )),
        (code::CALL, Width::W64) => call(word),
        (code::EXIT, Width::W64) if !register_form => {
            unused(word.dst == 0 && word.src == 0 && word.off == 0 && word.imm == 0)?;
            Ok(Insn::Exit)
        }
        (code::JCOND, Width::W64) if !register_form => {
            unused(word.dst == 0 && word.src == 0 && word.imm == 0)?;
            Ok(Insn::MayGoto { offset: word.off })
        }
        (bits, width) => {
            let found = code::CONDITIONS.iter().find(|(_, code)| *code == bits);
            let (cond, _) = found.ok_or(UNKNOWN)?;
            let (dst, src) = (register(word.dst)?, source(word)?);
            Ok(Insn::Branch { width, cond: *cond, dst, src, offset: word.off })
        }
    }
}

fn call(word: Word) -> Result<Insn, Fault> {
    unused(word.dst == 0)?;
    let call = match word.src {
        0 => Call::Helper(word.imm),
        code::CALL_SUBPROGRAM => Call::Subprogram { offset: word.imm },
        code::CALL_KFUNC => Call::Kfunc { id: word.imm, module: word.off },
        _ => return Err(("unknown kind of call", UNKNOWN.1)),
    };
    unused(word.off == 0 || word.src == code::CALL_KFUNC)?;
    Ok(Insn::Call(call))
}
