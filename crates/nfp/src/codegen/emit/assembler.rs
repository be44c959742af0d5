//! Emission of NFP instructions: the registers that the driver's ABI fixes, constants, moves, and
//! branches whose targets are known later.
//!
//! Which registers these are: `abi.rs` of this crate.

use crate::abi;
use crate::{
    Address, AluOp, Bank, BranchCondition, Insn, LocalAccess, MemCommand, MulStep, Operand, Shift,
    ShiftAmount, ShiftKind,
};

/// Largest constant in an operand of `alu`, `mul_step`, `local_csr_wr`.
const UNRESTRICTED_MAX: u32 = 0xff;
/// Largest constant in an operand of the other instructions.
const RESTRICTED_MAX: u32 = 0x7f;

/// The register of bank A with this number.
pub(super) fn a(number: u8) -> Operand {
    Operand::Gpr(Bank::A, number)
}

/// The register of bank B with this number.
pub(super) fn b(number: u8) -> Operand {
    Operand::Gpr(Bank::B, number)
}

/// A constant.
pub(super) fn imm(value: u32) -> Operand {
    Operand::Immediate(value)
}

/// A transfer register.
pub(super) fn xfer(number: u8) -> Operand {
    Operand::Xfer(number)
}

/// A word of local memory behind a base register.
pub(super) fn local(index: u8, word: u8) -> Operand {
    Operand::Local { index, access: LocalAccess::Word(word) }
}

/// The word at local memory's base register 3, which then advances.
pub(super) const LOCAL_INCREMENT: Operand =
    Operand::Local { index: 3, access: LocalAccess::Increment };

/// Scratch registers.
pub(super) const IMM_A: Operand = Operand::Gpr(Bank::A, abi::SCRATCH[1]);
pub(super) const IMM_B: Operand = Operand::Gpr(Bank::B, abi::SCRATCH[1]);
pub(super) const IMM_BOTH: Dst = Dst::Both(abi::SCRATCH[1]);
/// Scratch registers for addresses.
pub(super) const ADDRESS_A: Operand = Operand::Gpr(Bank::A, abi::SCRATCH[0]);
pub(super) const ADDRESS_B: Operand = Operand::Gpr(Bank::B, abi::SCRATCH[0]);
/// Where a function finds the address to return to.
pub(super) const RETURN: Operand = abi::RETURN_ADDRESS;
/// First byte of the stack.
pub(super) const STACK: Operand = abi::STACK;
/// The packet's length in bytes.
pub(super) const LENGTH: Operand = abi::PACKET_LENGTH;
/// Address of the array map in units of 256 bytes (the paper's firmware).
pub(super) const MAP: Operand = abi::ARRAY;
/// What the firmware knows of the packet: its length in word 0, its address in word 2.
pub(super) const VECTOR_LENGTH: Operand =
    Operand::Local { index: abi::PACKET_BASE, access: LocalAccess::Word(0) };
pub(super) const VECTOR_POINTER: Operand =
    Operand::Local { index: abi::PACKET_BASE, access: LocalAccess::Word(2) };
pub(super) const VECTOR_QUEUE_SET: Operand =
    Operand::Local { index: abi::PACKET_BASE, access: LocalAccess::Word(4) };
pub(super) const VECTOR_QUEUE: Operand =
    Operand::Local { index: abi::PACKET_BASE, access: LocalAccess::Word(6) };

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dst {
    /// The result is dropped.
    None,
    /// One register or word of local memory.
    One(Operand),
    /// The register of this number in both banks.
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

    fn both(self) -> bool {
        matches!(self, Dst::Both(_))
    }
}

impl From<Operand> for Dst {
    fn from(operand: Operand) -> Self {
        Dst::One(operand)
    }
}

/// Where a branch leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// To this instruction of the listing.
    Insn(usize),
    /// To what a slot of the BPF program becomes.
    Slot(usize),
    /// To the subroutine that saves `r6` to `r9`.
    SaveRegisters,
    /// To the subroutine that restores them and returns.
    RestoreRegisters,
}

/// Which numbers of the listing a constant or branch is to be replaced by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixup {
    /// The instruction to change.
    pub at: usize,
    pub label: Label,
}

/// The listing so far.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    pub insns: Vec<Insn>,
    /// The BPF slot that each instruction is for; `None` for what surrounds the program.
    pub origins: Vec<Option<usize>>,
    /// The slot that instructions are emitted for.
    pub origin: Option<usize>,
    pub fixups: Vec<Fixup>,
}

impl Assembler {
    /// The number of the next instruction.
    pub fn here(&self) -> usize {
        self.insns.len()
    }

    pub fn push(&mut self, insn: Insn) {
        self.insns.push(insn);
        self.origins.push(self.origin);
    }

    pub fn alu(&mut self, dst: impl Into<Dst>, a: Operand, op: AluOp, b: Operand) {
        let dst = dst.into();
        self.push(Insn::Alu { dst: dst.operand(), a, op, b, both: dst.both() });
    }

    pub fn mov(&mut self, dst: impl Into<Dst>, src: Operand) {
        self.alu(dst, Operand::None, AluOp::B, src);
    }

    /// Both banks of a register get bank B of another.
    pub fn mov_reg(&mut self, dst: u8, src: u8) {
        self.mov(Dst::Both(dst), b(src));
    }

    /// Sets the previous ALU result, whose low bits an indirect shift by `amount` uses.
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
        self.push(Insn::AluShf { dst: dst.operand(), a, op, b, shift, both: dst.both() });
    }

    /// Both banks of `dst` get bank B of `src`, shifted.
    pub fn shifted(&mut self, dst: u8, src: u8, kind: ShiftKind, amount: ShiftAmount) {
        self.shift(Dst::Both(dst), Operand::None, AluOp::B, b(src), kind, amount);
    }

    /// Both banks of `dst` get the low word of (bank A of `high` : bank B of `low`) shifted right.
    pub fn double_shift(&mut self, dst: u8, high: u8, low: u8, amount: ShiftAmount) {
        self.push(Insn::DblShf { dst: a(dst), a: a(high), b: b(low), amount, both: true });
    }

    /// Both banks of `dst` get bank B of `src` shifted right, with copies of the sign of the previous
    /// ALU result.
    pub fn arithmetic_shift(&mut self, dst: u8, src: u8, amount: ShiftAmount) {
        self.push(Insn::Asr { dst: a(dst), b: b(src), amount, both: true });
    }

    /// Loads a constant, in two instructions if need be (`wrp_immed` of the driver).
    pub fn constant(&mut self, dst: impl Into<Dst>, value: u32) {
        let dst = dst.into();
        let packed = packed(value).map(|(half, shift)| (u32::from(half), shift));
        let inverted = || packed_inverted(value);
        if let Some((value, shift)) = packed.or_else(inverted) {
            self.push(Insn::Immed { dst: dst.operand(), value, shift, both: dst.both() });
        } else {
            let low = value & 0xffff;
            self.push(Insn::Immed { dst: dst.operand(), value: low, shift: 0, both: dst.both() });
            let high = (value >> 16) as u16;
            self.push(Insn::ImmedW1 { dst: dst.operand(), value: high, both: dst.both() });
        }
    }

    /// A constant as an operand of `alu`, through a scratch register if it is too large.
    pub fn operand(&mut self, value: u32, scratch: Operand) -> Operand {
        self.within(value, UNRESTRICTED_MAX, scratch)
    }

    /// A constant as an operand of the other instructions.
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

    /// Replaces the bytes of `dst` that `mask` names by those of `src`, shifted.
    pub fn field(&mut self, dst: impl Into<Dst>, mask: u8, src: Operand, shift: Option<Shift>) {
        self.load_field(dst.into(), mask, src, shift, false);
    }

    /// The same; the other bytes become zero.
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
        // The destination is read as well: from the bank that the source does not occupy.
        let operand = match (dst, src) {
            (Dst::Both(number), Operand::Gpr(Bank::A, _)) => b(number),
            _ => dst.operand(),
        };
        let both = dst.both();
        self.push(Insn::LdField { dst: operand, mask, src, shift, clear, both });
    }

    /// `count` bytes of `src` from byte `from` on become the low bytes of `dst`; the others zero.
    pub fn subpart(&mut self, dst: impl Into<Dst>, src: Operand, count: u8, from: u8) {
        self.field_clear(dst, low_bytes(count), src, bytes(ShiftKind::Right, from));
    }

    /// The low `count` bytes of `src` become those of `dst` from byte `to` on; the others stay.
    pub fn or_subpart(&mut self, dst: impl Into<Dst>, src: Operand, count: u8, to: u8) {
        self.field(dst, (low_bytes(count) << to) & 0xf, src, bytes(ShiftKind::Left, to));
    }

    /// A memory command. `count` is what the field of three bits keeps of it.
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
        self.push(Insn::MulStep { a: dst.operand(), b, step, both: dst.both() });
    }

    pub fn nops(&mut self, count: usize) {
        for _ in 0..count {
            self.push(Insn::Nop);
        }
    }

    /// Sets a base register of local memory, which takes three cycles to hold.
    pub fn local_base(&mut self, index: u8, src: Operand) {
        self.push(Insn::LocalCsrWr { index, src });
    }

    pub fn branch(&mut self, condition: BranchCondition, label: Label, defer: u8) {
        self.fixups.push(Fixup { at: self.here(), label });
        self.push(Insn::Branch { condition, target: 0, defer });
    }

    /// A branch out of the listing.
    pub fn leave(&mut self, condition: BranchCondition, target: u32, defer: u8) {
        self.push(Insn::Branch { condition, target, defer });
    }

    pub fn branch_if_bit(&mut self, src: Operand, bit: u8, label: Label) {
        self.fixups.push(Fixup { at: self.here(), label });
        self.push(Insn::BranchBit { src, bit, set: true, target: 0, defer: 0 });
    }

    /// Loads the number of an instruction.
    pub fn address_of(&mut self, dst: Operand, label: Label) {
        self.fixups.push(Fixup { at: self.here(), label });
        self.push(Insn::Immed { dst, value: 0, shift: 0, both: false });
    }
}

/// The half word and the left shift that a constant consists of (`pack_immed` of the driver).
fn packed(value: u32) -> Option<(u16, u8)> {
    [0, 8, 16].into_iter().find_map(|shift| {
        let half = (value >> shift) as u16;
        (u32::from(half) << shift == value).then_some((half, shift))
    })
}

/// The same with all bits inverted before the shift, which lets ones in: as listings show it.
fn packed_inverted(value: u32) -> Option<(u32, u8)> {
    packed(!value).map(|(half, shift)| (!u32::from(half), shift))
}

fn low_bytes(count: u8) -> u8 {
    ((1u16 << count.min(4)) - 1) as u8
}

/// A shift by whole bytes; none for zero.
pub(super) fn bytes(kind: ShiftKind, count: u8) -> Option<Shift> {
    (count > 0).then_some(Shift { kind, amount: ShiftAmount::Bits(8 * count) })
}
