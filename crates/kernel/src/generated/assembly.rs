//! Assembles generated programs, instruction by instruction. A forward jump is added first, and
//! gets its target later.

use std::os::fd::{AsRawFd, BorrowedFd};

use slowpath_bpf::insn::{
    AluOp, AtomicOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width, encode,
};

/// The instructions of a program that is being generated.
#[derive(Default)]
pub struct Assembly {
    insns: Vec<Insn>,
}

/// A forward jump in generated code whose target [`Assembly::land`] still has to set.
#[must_use]
pub struct Hole(usize);

impl Assembly {
    /// `dst = src` with all 64 bits.
    pub fn mov(&mut self, dst: Register, src: Source) {
        self.alu(AluOp::Mov, dst, src);
    }

    /// `dst = value`; the value is sign-extended.
    pub fn set(&mut self, dst: Register, value: i32) {
        self.mov(dst, Source::Imm(value));
    }

    /// `dst op= src` with all 64 bits.
    pub fn alu(&mut self, op: AluOp, dst: Register, src: Source) {
        self.insns.push(Insn::Alu { width: Width::W64, op, dst, src });
    }

    /// `dst = *(size *)(base + offset)`.
    pub fn load(&mut self, size: Size, dst: Register, base: Register, offset: i16) {
        self.insns.push(Insn::Load { size, signed: false, dst, base, offset });
    }

    /// `*(size *)(base + offset) = src`.
    pub fn store(&mut self, size: Size, base: Register, offset: i16, src: Source) {
        self.insns.push(Insn::Store { size, base, offset, src });
    }

    /// `dst = map`, a pointer to the map with this file descriptor.
    pub fn map(&mut self, dst: Register, map: BorrowedFd) {
        self.address(dst, Imm64::MapFd(map.as_raw_fd()));
    }

    /// `dst = address` of the byte at `offset` in the value of a map with one element. `map` is the
    /// map's file descriptor.
    pub fn map_value(&mut self, dst: Register, map: BorrowedFd, offset: u32) {
        self.address(dst, Imm64::MapFdValue { fd: map.as_raw_fd(), offset });
    }

    /// `dst = value`, with all 64 bits.
    pub fn number(&mut self, dst: Register, value: u64) {
        self.address(dst, Imm64::Value(value));
    }

    fn address(&mut self, dst: Register, value: Imm64) {
        self.insns.extend([Insn::LoadImm64 { dst, value }, Insn::SecondSlot]);
    }

    /// Atomically adds `src` to the 8-byte word at `base + offset`.
    pub fn count(&mut self, base: Register, offset: i16, src: Register) {
        let op = AtomicOp::Add { fetch: false };
        self.insns.push(Insn::Atomic { op, width: Width::W64, base, offset, src });
    }

    /// Calls the helper with this number.
    pub fn call(&mut self, helper: i32) {
        self.insns.push(Insn::Call(Call::Helper(helper)));
    }

    /// `return value`.
    pub fn exit(&mut self, value: i32) {
        self.set(Register::R0, value);
        self.leave();
    }

    /// `return r0`.
    pub fn leave(&mut self) {
        self.insns.push(Insn::Exit);
    }

    /// Adds a forward jump that is taken if `dst cond src` holds. [`Assembly::land`] sets its
    /// target.
    pub fn jump_if(&mut self, cond: Condition, dst: Register, src: Source) -> Hole {
        let width = Width::W64;
        self.insns.push(Insn::Branch { width, cond, dst, src, offset: 0 });
        Hole(self.insns.len() - 1)
    }

    /// Makes the next instruction the target of a forward jump. Returns false if the jump would be
    /// too long.
    #[must_use]
    pub fn land(&mut self, hole: Hole) -> bool {
        let distance = i16::try_from(self.insns.len() - hole.0 - 1);
        match (self.insns.get_mut(hole.0), distance) {
            (Some(Insn::Branch { offset, .. }), Ok(distance)) => {
                *offset = distance;
                true
            }
            _ => false,
        }
    }

    pub fn into_insns(self) -> Vec<Insn> {
        self.insns
    }

    /// Encodes the generated instructions, with 8 bytes for each.
    pub fn code(&self) -> Vec<u8> {
        encode(&self.insns)
    }
}
