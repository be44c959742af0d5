//! Collects the instructions of the card that the code generator emits, such as moves, loads of
//! constants, and branches whose targets are set later. Uses the registers of the driver's ABI
//! ([`crate::abi`]).

use crate::abi;
use crate::{
    Address, AluOp, Bank, BranchCondition, Insn, LocalAccess, MemCommand, MulStep, Operand, Shift,
    ShiftAmount, ShiftKind,
};

/// Largest constant that can be an operand of `alu`, `mul_step` and `local_csr_wr`.
const UNRESTRICTED_MAX: u32 = 0xff;
/// Largest constant that can be an operand of instructions other than `alu`, `mul_step` and
/// `local_csr_wr`.
const RESTRICTED_MAX: u32 = 0x7f;

/// Returns the general-purpose register of bank A with this number.
pub(super) fn a(number: u8) -> Operand {
    Operand::Gpr(Bank::A, number)
}

/// Returns the general-purpose register of bank B with this number.
pub(super) fn b(number: u8) -> Operand {
    Operand::Gpr(Bank::B, number)
}

pub(super) fn imm(value: u32) -> Operand {
    Operand::Immediate(value)
}

pub(super) fn xfer(number: u8) -> Operand {
    Operand::Xfer(number)
}

/// Returns a word of local memory as an operand. `word` counts from the address in base register
/// `index`.
pub(super) fn local(index: u8, word: u8) -> Operand {
    Operand::Local { index, access: LocalAccess::Word(word) }
}

/// The word of local memory at base register 3. An access to it then advances the base register by
/// one word.
pub(super) const LOCAL_INCREMENT: Operand =
    Operand::Local { index: 3, access: LocalAccess::Increment };

/// Scratch registers for constants, one in each bank.
pub(super) const IMM_A: Operand = Operand::Gpr(Bank::A, abi::SCRATCH[1]);
pub(super) const IMM_B: Operand = Operand::Gpr(Bank::B, abi::SCRATCH[1]);
pub(super) const IMM_BOTH: Dst = Dst::Both(abi::SCRATCH[1]);
/// Scratch registers for addresses, one in each bank.
pub(super) const ADDRESS_A: Operand = Operand::Gpr(Bank::A, abi::SCRATCH[0]);
pub(super) const ADDRESS_B: Operand = Operand::Gpr(Bank::B, abi::SCRATCH[0]);
pub(super) const RETURN: Operand = abi::RETURN_ADDRESS;
pub(super) const STACK: Operand = abi::STACK;
pub(super) const LENGTH: Operand = abi::PACKET_LENGTH;
/// Register with the address of the array map in units of 256 bytes, for the firmware of Krude et
/// al. (CoNEXT 2021).
pub(super) const MAP: Operand = abi::ARRAY_MAP;
/// Words of the packet vector (`enum pkt_vec` of the driver), which describes the packet to the
/// program. Word 0 is the packet's length, and word 2 its address.
pub(super) const VECTOR_LENGTH: Operand =
    Operand::Local { index: abi::PACKET_VECTOR_BASE, access: LocalAccess::Word(0) };
pub(super) const VECTOR_POINTER: Operand =
    Operand::Local { index: abi::PACKET_VECTOR_BASE, access: LocalAccess::Word(2) };
pub(super) const VECTOR_QUEUE_SET: Operand =
    Operand::Local { index: abi::PACKET_VECTOR_BASE, access: LocalAccess::Word(4) };
pub(super) const VECTOR_QUEUE: Operand =
    Operand::Local { index: abi::PACKET_VECTOR_BASE, access: LocalAccess::Word(6) };

/// The destination of an instruction's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dst {
    /// No destination, because the result is discarded.
    None,
    /// One register or one word of local memory.
    One(Operand),
    /// The register with this number, in both banks.
    Both(u8),
}

impl Dst {
    fn operand(self) -> Operand {
        match self {
            Dst::None => Operand::None,
            Dst::One(operand) => operand,
            Dst::Both(number) => a(number),
        }
    }

    fn both_banks(self) -> bool {
        matches!(self, Dst::Both(_))
    }
}

impl From<Operand> for Dst {
    fn from(operand: Operand) -> Self {
        Dst::One(operand)
    }
}

/// The target of a branch. Its index in the listing is known after all instructions are emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// The instruction of the listing with this index.
    Insn(usize),
    /// The first instruction emitted for the BPF instruction with this index.
    Slot(usize),
    /// The subroutine that saves `r6` to `r9`.
    SaveRegisters,
    /// The subroutine that restores `r6` to `r9` and returns.
    RestoreRegisters,
}

/// An emitted instruction that refers to a label whose index is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixup {
    /// Index of the instruction whose constant or branch target is replaced.
    pub at: usize,
    pub label: Label,
}

/// The instructions of the card that the code generator has emitted so far.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    pub insns: Vec<Insn>,
    /// For each emitted instruction, the index of the BPF instruction that it implements; `None`
    /// for the code around the program.
    pub origins: Vec<Option<usize>>,
    /// Index of the BPF instruction for which instructions are emitted at the moment.
    pub origin: Option<usize>,
    pub fixups: Vec<Fixup>,
}

impl Assembler {
    /// Returns the index that the next emitted instruction will have.
    pub fn here(&self) -> usize {
        self.insns.len()
    }

    pub fn push(&mut self, insn: Insn) {
        self.insns.push(insn);
        self.origins.push(self.origin);
    }

    pub fn alu(&mut self, dst: impl Into<Dst>, a: Operand, op: AluOp, b: Operand) {
        let dst = dst.into();
        self.push(Insn::Alu { dst: dst.operand(), a, op, b, both_banks: dst.both_banks() });
    }

    pub fn mov(&mut self, dst: impl Into<Dst>, src: Operand) {
        self.alu(dst, Operand::None, AluOp::B, src);
    }

    /// Emits a copy of register `src` of bank B to register `dst` of both banks.
    pub fn mov_reg(&mut self, dst: u8, src: u8) {
        self.mov(Dst::Both(dst), b(src));
    }

    /// Emits the instruction that must precede an indirect shift. The low bits of `amount` become
    /// the distance of the shift.
    pub fn shift_by(&mut self, amount: Operand) {
        self.alu(Dst::None, amount, AluOp::Or, imm(0));
    }

    pub fn shift(
        &mut self,
        dst: impl Into<Dst>,
        a: Operand,
        op: AluOp,
        b: Operand,
        kind: ShiftKind,
        amount: ShiftAmount,
    ) {
        let dst = dst.into();
        let shift = Some(Shift { kind, amount });
        self.push(Insn::AluShf {
            dst: dst.operand(),
            a,
            op,
            b,
            shift,
            both_banks: dst.both_banks(),
        });
    }

    /// Emits a shift of register `src` of bank B, whose result goes to register `dst` of both
    /// banks.
    pub fn shifted(&mut self, dst: u8, src: u8, kind: ShiftKind, amount: ShiftAmount) {
        self.shift(Dst::Both(dst), Operand::None, AluOp::B, b(src), kind, amount);
    }

    /// Emits a right shift of a 64-bit number: register `high` of bank A has its high word, and
    /// register `low` of bank B its low word. The low word of the result goes to register `dst` of
    /// both banks.
    pub fn double_shift(&mut self, dst: u8, high: u8, low: u8, amount: ShiftAmount) {
        self.push(Insn::DblShf { dst: a(dst), a: a(high), b: b(low), amount, both_banks: true });
    }

    /// Emits a right shift of register `src` of bank B, whose result goes to register `dst` of both
    /// banks. The upper bits become the sign of the previous ALU result.
    pub fn arithmetic_shift(&mut self, dst: u8, src: u8, amount: ShiftAmount) {
        self.push(Insn::Asr { dst: a(dst), b: b(src), amount, both_banks: true });
    }

    /// Emits the load of a constant, in two instructions if necessary (`wrp_immed` of the driver).
    pub fn constant(&mut self, dst: impl Into<Dst>, value: u32) {
        let dst = dst.into();
        let packed = packed(value).map(|(half, shift)| (u32::from(half), shift));
        let inverted = || packed_inverted(value);
        if let Some((value, shift)) = packed.or_else(inverted) {
            self.push(Insn::Immed {
                dst: dst.operand(),
                value,
                shift,
                both_banks: dst.both_banks(),
            });
        } else {
            let low = value & 0xffff;
            self.push(Insn::Immed {
                dst: dst.operand(),
                value: low,
                shift: 0,
                both_banks: dst.both_banks(),
            });
            let high = (value >> 16) as u16;
            self.push(Insn::ImmedW1 {
                dst: dst.operand(),
                value: high,
                both_banks: dst.both_banks(),
            });
        }
    }

    /// Returns a constant as an operand of `alu`. If it is too large, emits its load into `scratch`
    /// and returns that register.
    pub fn operand(&mut self, value: u32, scratch: Operand) -> Operand {
        self.within(value, UNRESTRICTED_MAX, scratch)
    }

    /// Returns a constant as an operand of instructions other than `alu`. If it is too large, emits
    /// its load into `scratch` and returns that register.
    pub fn restricted(&mut self, value: u32, scratch: Operand) -> Operand {
        self.within(value, RESTRICTED_MAX, scratch)
    }

    fn within(&mut self, value: u32, max: u32, scratch: Operand) -> Operand {
        if value <= max {
            return imm(value);
        }
        self.constant(scratch, value);
        scratch
    }

    /// Emits an instruction that shifts `src`, and copies those bytes of the result that `mask`
    /// selects to `dst`. It keeps the other bytes of `dst`.
    pub fn field(&mut self, dst: impl Into<Dst>, mask: u8, src: Operand, shift: Option<Shift>) {
        self.load_field(dst.into(), mask, src, shift, false);
    }

    /// Emits an instruction that shifts `src`, and copies those bytes of the result that `mask`
    /// selects to `dst`. It sets the other bytes of `dst` to zero.
    pub fn field_clear(
        &mut self,
        dst: impl Into<Dst>,
        mask: u8,
        src: Operand,
        shift: Option<Shift>,
    ) {
        self.load_field(dst.into(), mask, src, shift, true);
    }

    fn load_field(&mut self, dst: Dst, mask: u8, src: Operand, shift: Option<Shift>, clear: bool) {
        // The destination is also read, from the bank that the source does not use.
        let operand = match (dst, src) {
            (Dst::Both(number), Operand::Gpr(Bank::A, _)) => b(number),
            _ => dst.operand(),
        };
        let both_banks = dst.both_banks();
        self.push(Insn::LdField { dst: operand, mask, src, shift, clear, both_banks });
    }

    /// Emits an instruction that moves `count` bytes of `src`, starting at byte `from`, to the low
    /// bytes of `dst`. It sets the other bytes of `dst` to zero.
    pub fn subpart(&mut self, dst: impl Into<Dst>, src: Operand, count: u8, from: u8) {
        self.field_clear(dst, low_bytes(count), src, bytes(ShiftKind::Right, from));
    }

    /// Emits an instruction that moves the low `count` bytes of `src` to `dst`, starting at byte
    /// `to`. It keeps the other bytes of `dst`.
    pub fn or_subpart(&mut self, dst: impl Into<Dst>, src: Operand, count: u8, to: u8) {
        self.field(dst, (low_bytes(count) << to) & 0xf, src, bytes(ShiftKind::Left, to));
    }

    /// Emits a memory command. The field for `count` has three bits, so higher bits are lost.
    pub fn mem(
        &mut self,
        command: MemCommand,
        first: u8,
        address: Address,
        count: u8,
        indirect: bool,
    ) {
        let count = (count.wrapping_sub(1) & 7) + 1;
        let (signal, defer) = (Some(1), 0);
        self.push(Insn::Mem { command, xfer: first, address, count, indirect, signal, defer });
    }

    pub fn mul_step(&mut self, dst: impl Into<Dst>, b: Operand, step: MulStep) {
        let dst = dst.into();
        self.push(Insn::MulStep { a: dst.operand(), b, step, both_banks: dst.both_banks() });
    }

    pub fn nops(&mut self, count: usize) {
        for _ in 0..count {
            self.push(Insn::Nop);
        }
    }

    /// Emits a write of base register `index` of local memory. The new value takes effect three
    /// cycles later.
    pub fn local_base(&mut self, index: u8, src: Operand) {
        self.push(Insn::LocalCsrWr { index, src });
    }

    pub fn branch(&mut self, condition: BranchCondition, label: Label, defer: u8) {
        self.fixups.push(Fixup { at: self.here(), label });
        self.push(Insn::Branch { condition, target: 0, defer });
    }

    /// Emits a branch that leaves the program, to an exit or to the firmware.
    pub fn leave(&mut self, condition: BranchCondition, target: u32, defer: u8) {
        self.push(Insn::Branch { condition, target, defer });
    }

    pub fn branch_if_bit(&mut self, src: Operand, bit: u8, label: Label) {
        self.fixups.push(Fixup { at: self.here(), label });
        self.push(Insn::BranchBit { src, bit, set: true, target: 0, defer: 0 });
    }

    /// Emits an instruction that loads the instruction index of a label into a register.
    pub fn address_of(&mut self, dst: Operand, label: Label) {
        self.fixups.push(Fixup { at: self.here(), label });
        self.push(Insn::Immed { dst, value: 0, shift: 0, both_banks: false });
    }
}

/// Represents a constant as 16 bits and a left shift; `None` if this is impossible (`pack_immed` of
/// the driver).
fn packed(value: u32) -> Option<(u16, u8)> {
    [0, 8, 16].into_iter().find_map(|shift| {
        let half = (value >> shift) as u16;
        (u32::from(half) << shift == value).then_some((half, shift))
    })
}

/// Represents the complement of a constant as 16 bits and a left shift; `None` if this is
/// impossible. The 16 bits are inverted again, as in listings.
fn packed_inverted(value: u32) -> Option<(u32, u8)> {
    packed(!value).map(|(half, shift)| (!u32::from(half), shift))
}

fn low_bytes(count: u8) -> u8 {
    ((1u16 << count.min(4)) - 1) as u8
}

/// Returns a shift by `count` whole bytes; `None` if `count` is zero.
pub(super) fn bytes(kind: ShiftKind, count: u8) -> Option<Shift> {
    (count > 0).then_some(Shift { kind, amount: ShiftAmount::Bits(8 * count) })
}
