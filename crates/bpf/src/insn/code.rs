//! Defines the opcode numbers, and the tables that the decoder and the encoder share.

use super::{AluOp, AtomicOp, Condition, Size};

/// One 8-byte word of encoded instructions, split into its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub code: u8,
    pub dst: u8,
    pub src: u8,
    pub off: i16,
    pub imm: i32,
}

impl Word {
    pub fn from_bytes(b: [u8; 8]) -> Self {
        Word {
            code: b[0],
            dst: b[1] & 15,
            src: b[1] >> 4,
            off: i16::from_le_bytes([b[2], b[3]]),
            imm: i32::from_le_bytes([b[4], b[5], b[6], b[7]]),
        }
    }

    pub fn to_bytes(self) -> [u8; 8] {
        let off = self.off.to_le_bytes();
        let imm = self.imm.to_le_bytes();
        let regs = (self.src << 4) | (self.dst & 15);
        [self.code, regs, off[0], off[1], imm[0], imm[1], imm[2], imm[3]]
    }
}

pub(super) const LD: u8 = 0;
pub(super) const LDX: u8 = 1;
pub(super) const ST: u8 = 2;
pub(super) const STX: u8 = 3;
pub(super) const ALU: u8 = 4;
pub(super) const JMP: u8 = 5;
pub(super) const JMP32: u8 = 6;
pub(super) const ALU64: u8 = 7;

/// Flag in the opcode for instructions whose source operand is a register (bit 3 of arithmetic and
/// jump opcodes).
pub(super) const X: u8 = 8;

pub(super) const NEG: u8 = 0x80;
pub(super) const END: u8 = 0xd0;

pub(super) const JA: u8 = 0x00;
pub(super) const CALL: u8 = 0x80;
pub(super) const EXIT: u8 = 0x90;
pub(super) const JCOND: u8 = 0xe0;

pub(super) const MODE_ABS: u8 = 0x20;
pub(super) const MODE_IND: u8 = 0x40;
pub(super) const MODE_MEM: u8 = 0x60;
pub(super) const MODE_MEMSX: u8 = 0x80;
pub(super) const MODE_ATOMIC: u8 = 0xc0;

pub(super) const CALL_SUBPROGRAM: u8 = 1;
pub(super) const CALL_KFUNC: u8 = 2;

pub(super) const LOAD_ACQUIRE: i32 = 0x100;
pub(super) const STORE_RELEASE: i32 = 0x110;

/// The encoding of each arithmetic operator: bits 4 to 7 of the opcode, and the value of the offset
/// field.
pub(super) const ALU_OPS: [(AluOp, u8, i16); 14] = [
    (AluOp::Add, 0x00, 0),
    (AluOp::Sub, 0x10, 0),
    (AluOp::Mul, 0x20, 0),
    (AluOp::Div, 0x30, 0),
    (AluOp::Sdiv, 0x30, 1),
    (AluOp::Or, 0x40, 0),
    (AluOp::And, 0x50, 0),
    (AluOp::Lsh, 0x60, 0),
    (AluOp::Rsh, 0x70, 0),
    (AluOp::Mod, 0x90, 0),
    (AluOp::Smod, 0x90, 1),
    (AluOp::Xor, 0xa0, 0),
    (AluOp::Mov, 0xb0, 0),
    (AluOp::Arsh, 0xc0, 0),
];

/// The encoding of each jump condition: bits 4 to 7 of the opcode.
pub(super) const CONDITIONS: [(Condition, u8); 11] = [
    (Condition::Eq, 0x10),
    (Condition::Gt, 0x20),
    (Condition::Ge, 0x30),
    (Condition::Set, 0x40),
    (Condition::Ne, 0x50),
    (Condition::Sgt, 0x60),
    (Condition::Sge, 0x70),
    (Condition::Lt, 0xa0),
    (Condition::Le, 0xb0),
    (Condition::Slt, 0xc0),
    (Condition::Sle, 0xd0),
];

/// The encoding of each access size: bits 3 and 4 of the opcode.
pub(super) const SIZES: [(Size, u8); 4] =
    [(Size::W, 0x00), (Size::H, 0x08), (Size::B, 0x10), (Size::DW, 0x18)];

/// The encoding of each atomic operation: the value of the immediate field.
pub(super) const ATOMICS: [(AtomicOp, i32); 10] = [
    (AtomicOp::Add { fetch: false }, 0x00),
    (AtomicOp::Add { fetch: true }, 0x01),
    (AtomicOp::Or { fetch: false }, 0x40),
    (AtomicOp::Or { fetch: true }, 0x41),
    (AtomicOp::And { fetch: false }, 0x50),
    (AtomicOp::And { fetch: true }, 0x51),
    (AtomicOp::Xor { fetch: false }, 0xa0),
    (AtomicOp::Xor { fetch: true }, 0xa1),
    (AtomicOp::Xchg, 0xe1),
    (AtomicOp::Cmpxchg, 0xf1),
];

pub(super) fn size_code(size: Size) -> u8 {
    SIZES.iter().find(|(s, _)| *s == size).map_or(0, |(_, code)| *code)
}
