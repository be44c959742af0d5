//! Emits loads and stores of stack variables, which are in local memory. Operands address words of
//! local memory relative to a base register. Base register 0 points to the frame, and base register
//! 3 is set for the access (`mem_op_stack`, `wrp_lmem_load`, `wrp_lmem_store` of the Linux NFP
//! driver).

use super::assembler::{Assembler, Dst, IMM_A, IMM_B, LOCAL_INCREMENT, STACK, a, b, local};
use super::pair::zero_extend;
use crate::codegen::annotated::AnnotatedInsn;
use crate::codegen::refusal::Cause;
use crate::{AluOp, Operand, Shift, ShiftAmount, ShiftKind};
use slowpath_codes as codes;

/// Largest word offset that instructions other than `alu` can encode.
const RESTRICTED_WORD: u8 = 7;
/// Number of stack bytes, from the start of the frame, that base register 0 can reach.
const NEAR: i64 = 64;
/// Number of bytes that base register 3 can reach from an aligned address. The word offset replaces
/// the low bits of the address.
const WINDOW: i64 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::codegen) enum Direction {
    Load,
    Store,
}

/// A load or store of stack bytes.
pub(super) struct Access {
    pub direction: Direction,
    /// Number of bytes that are loaded or stored.
    pub size: u8,
    /// Number of the low register in the pair that is loaded or stored.
    pub register: u8,
    /// Offset of the first accessed byte from the first byte of the function's stack frame.
    pub place: i64,
    /// Register pair that contains an address, and the instruction's offset from this address.
    /// `None` if the accessed bytes are at a constant offset in the function's own stack frame.
    pub pointer: Option<(u8, i16)>,
}

/// A part of a stack access: consecutive bytes in one word of local memory and in one register.
struct Piece {
    register: u8,
    /// Index of the part's first byte in the register.
    byte: u8,
    /// Offset in bytes from the address in the base register.
    place: i64,
    size: u8,
    first: bool,
    new_register: bool,
    last: bool,
}

/// Addressing of the words of a stack access in local memory.
#[derive(Clone, Copy)]
struct WordAddressing {
    /// Base register of local memory, 0 or 3.
    base: u8,
    /// True if accesses increment the base register, so that it points to the next word.
    advances: bool,
}

pub(super) fn access(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    access: &Access,
) -> Result<(), Cause> {
    let Access { direction, size, register, mut place, pointer } = *access;
    let bytes = i64::from(size);
    let words = if let Some((pointer, offset)) = pointer {
        let offset = asm.operand(i32::from(offset) as u32, IMM_B);
        asm.alu(IMM_B, a(pointer), AluOp::Add, offset);
        WordAddressing { base: 3, advances: true }
    } else if place + bytes <= NEAR {
        WordAddressing { base: 0, advances: false }
    } else {
        let same_window = place.div_euclid(WINDOW) == (place + bytes - 1).div_euclid(WINDOW);
        let step = if same_window { WINDOW } else { 4 };
        let start = asm.operand((place - place.rem_euclid(step)) as u32, IMM_B);
        asm.alu(IMM_B, STACK, AluOp::Add, start);
        if same_window {
            place = place.rem_euclid(WINDOW);
        }
        WordAddressing { base: 3, advances: !same_window }
    };
    let narrow = direction == Direction::Load && size < 8;
    if words.base == 3 {
        asm.local_base(3, IMM_B);
        asm.nops(if narrow && insn.zero_extends { 2 } else { 3 });
    }
    if narrow {
        zero_extend(asm, insn, register);
    }
    pieces(asm, (register, size), place, words, direction)
}

fn pieces(
    asm: &mut Assembler,
    (mut register, mut size): (u8, u8),
    mut place: i64,
    words: WordAddressing,
    direction: Direction,
) -> Result<(), Cause> {
    let (mut byte, mut previous, mut first) = (0, None, true);
    while size > 0 {
        let in_word = 4 - place.rem_euclid(4);
        let count = i64::from(size.min(4 - byte)).min(in_word) as u8;
        let last = count == size;
        if words.advances {
            place = place.rem_euclid(4);
        }
        let new_register = previous != Some(register);
        let piece = Piece { register, byte, place, size: count, first, new_register, last };
        match direction {
            Direction::Load => load(asm, &piece, words)?,
            Direction::Store => store(asm, &piece, words)?,
        }
        previous = Some(register);
        first = false;
        byte += count;
        if byte >= 4 {
            byte -= 4;
            register += 1;
        }
        size -= count;
        place += i64::from(count);
    }
    Ok(())
}

/// Returns the offset, in words, of the part's word from the base register.
fn word(piece: &Piece) -> Result<u8, Cause> {
    let word = u8::try_from(piece.place / 4).ok().filter(|word| *word <= 15);
    word.ok_or_else(|| {
        let what = "a stack access that the driver cannot compile: its place in the caller's frame";
        Cause::new(codes::CARD_STACK, what, "pass the value instead of its address")
    })
}

/// Returns true if the access to this part increments base register 3 (`should_inc` of the driver).
fn advances(piece: &Piece, words: WordAddressing) -> bool {
    words.advances && piece.new_register && !piece.last
}

fn whole_word(piece: &Piece, words: WordAddressing) -> Result<Operand, Cause> {
    if advances(piece, words) {
        return Ok(LOCAL_INCREMENT);
    }
    Ok(local(words.base, word(piece)?))
}

/// Returns a byte mask with as many bytes as the part has, starting at byte `byte`.
fn mask(piece: &Piece, byte: u8) -> u8 {
    ((1 << piece.size) - 1) << byte
}

/// Returns the shift that moves byte `from` to byte `to`; `None` if they are equal.
fn aligned(from: u8, to: u8) -> Option<Shift> {
    let (kind, distance) =
        if from < to { (ShiftKind::Left, to - from) } else { (ShiftKind::Right, from - to) };
    (distance > 0).then_some(Shift { kind, amount: ShiftAmount::Bits(8 * distance) })
}

fn load(asm: &mut Assembler, piece: &Piece, words: WordAddressing) -> Result<(), Cause> {
    let dst = Dst::Both(piece.register);
    if piece.size == 4 {
        let src = whole_word(piece, words)?;
        asm.mov(dst, src);
        return Ok(());
    }
    let number = word(piece)?;
    let src = if number <= RESTRICTED_WORD {
        local(words.base, number)
    } else {
        // A piece that continues a word in a new register finds the word already loaded.
        if piece.first || !piece.new_register {
            asm.mov(IMM_A, local(0, number));
        }
        IMM_A
    };
    let shift = aligned(piece.place.rem_euclid(4) as u8, piece.byte);
    let mask = mask(piece, piece.byte);
    if piece.new_register {
        asm.field_clear(dst, mask, src, shift);
    } else {
        asm.field(dst, mask, src, shift);
    }
    if advances(piece, words) {
        asm.mov(Dst::None, LOCAL_INCREMENT);
    }
    Ok(())
}

fn store(asm: &mut Assembler, piece: &Piece, words: WordAddressing) -> Result<(), Cause> {
    let src = b(piece.register);
    if piece.size == 4 {
        let dst = whole_word(piece, words)?;
        asm.mov(dst, src);
        return Ok(());
    }
    let number = word(piece)?;
    let near = number <= RESTRICTED_WORD;
    let dst = if near {
        local(words.base, number)
    } else {
        // Words in the middle are overwritten completely.
        if piece.first || piece.last {
            asm.mov(IMM_A, local(0, number));
        }
        IMM_A
    };
    let byte = piece.place.rem_euclid(4) as u8;
    asm.field(dst, mask(piece, byte), src, aligned(piece.byte, byte));
    if piece.new_register || piece.last {
        if !near {
            asm.mov(local(0, number), IMM_A);
        }
        if advances(piece, words) {
            asm.mov(Dst::None, LOCAL_INCREMENT);
        }
    }
    Ok(())
}
