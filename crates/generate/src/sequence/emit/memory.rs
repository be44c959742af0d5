//! Emits reads and writes through pointers to map values and packet bytes, and calls of packet
//! helpers.

use slowpath_bpf::insn::helper::{
    CSUM_DIFF, REDIRECT, XDP_ADJUST_HEAD, XDP_ADJUST_META, XDP_ADJUST_TAIL, XDP_GET_BUFF_LEN,
    XDP_LOAD_BYTES, XDP_STORE_BYTES,
};
use slowpath_bpf::insn::{AluOp, Condition, Register, Size, Source};

use super::{AT_ARGUMENTS, AT_BUFFER, Emitter, pointer_at, reg};
use crate::sequence::statement::{End, Number};
use crate::statement::Pick;

/// Offsets of the pointer fields in `struct xdp_md`, in bytes.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const DATA_META: i16 = 8;

/// Returns the offset of an aligned access of this size, within the first 8 bytes of a map value.
fn aligned(size: Size, at: u8) -> i16 {
    i16::from(at % 8 / size.bytes() * size.bytes())
}

impl Emitter<'_> {
    pub(super) fn read(&mut self, pointer: Pick, size: Size, at: u8) -> Option<()> {
        let (number, _) = self.pointer(pointer, 8)?;
        self.load(Size::DW, reg(1), Register::FRAME, pointer_at(number));
        let end = self.branch(Condition::Eq, reg(1), Source::Imm(0));
        self.load(size, Register::R0, reg(1), aligned(size, at));
        self.result(Register::R0);
        self.land(end);
        Some(())
    }

    pub(super) fn write(&mut self, pointer: Pick, size: Size, at: u8, value: Number) -> Option<()> {
        let (number, _) = self.pointer(pointer, 8)?;
        self.number(reg(2), value);
        self.load(Size::DW, reg(1), Register::FRAME, pointer_at(number));
        let end = self.branch(Condition::Eq, reg(1), Source::Imm(0));
        self.store(size, reg(1), aligned(size, at), Source::Reg(reg(2)));
        self.land(end);
        Some(())
    }

    pub(super) fn adjust(&mut self, end: End, by: Number) -> Option<()> {
        let variable = !matches!(by, Number::Constant(_));
        if end == End::Tail && !self.abilities.variable_tails && variable {
            return None;
        }
        self.number(reg(2), by);
        self.mov(reg(1), Source::Reg(reg(6)));
        self.helper(match end {
            End::Head => XDP_ADJUST_HEAD,
            End::Tail => XDP_ADJUST_TAIL,
            End::Meta => XDP_ADJUST_META,
        });
        self.result(Register::R0);
        Some(())
    }

    /// Emits code that puts an address in the packet or its metadata in `r2`, and checks that it is
    /// in bounds. Returns the slot of the branch that skips the access if it is out of bounds.
    fn address(&mut self, metadata: bool, at: Number, size: Size) -> usize {
        let (start, end) = if metadata { (DATA_META, DATA) } else { (DATA, DATA_END) };
        self.number(reg(1), at);
        self.load(Size::W, reg(2), reg(6), start);
        self.load(Size::W, reg(3), reg(6), end);
        self.alu(AluOp::Add, reg(2), Source::Reg(reg(1)));
        self.mov(reg(4), Source::Reg(reg(2)));
        self.add(reg(4), size.bytes().into());
        self.branch(Condition::Gt, reg(4), Source::Reg(reg(3)))
    }

    pub(super) fn peek(&mut self, metadata: bool, at: Number, size: Size) -> Option<()> {
        let end = self.address(metadata, at, size);
        self.load(size, Register::R0, reg(2), 0);
        self.result(Register::R0);
        self.land(end);
        Some(())
    }

    pub(super) fn poke(
        &mut self,
        metadata: bool,
        at: Number,
        size: Size,
        value: Number,
    ) -> Option<()> {
        let end = self.address(metadata, at, size);
        self.number(reg(1), value);
        self.store(size, reg(2), 0, Source::Reg(reg(1)));
        self.land(end);
        Some(())
    }

    pub(super) fn bytes(&mut self, store: bool, offset: Number, length: u8) -> Option<()> {
        self.number(reg(2), offset);
        self.mov(reg(1), Source::Reg(reg(6)));
        self.stack(reg(3), AT_BUFFER);
        self.mov(reg(4), Source::Imm(length.clamp(1, 32).into()));
        self.helper(if store { XDP_STORE_BYTES } else { XDP_LOAD_BYTES });
        self.result(Register::R0);
        if !store {
            self.load(Size::DW, reg(1), Register::FRAME, AT_BUFFER);
            self.result(reg(1));
        }
        Some(())
    }

    pub(super) fn checksum(&mut self, from: Number, to: Number, seed: Number) -> Option<()> {
        self.number(reg(5), seed);
        self.number(reg(4), to);
        self.number(reg(2), from);
        self.stack(reg(1), AT_BUFFER);
        self.stack(reg(3), AT_ARGUMENTS);
        self.helper(CSUM_DIFF);
        self.result(Register::R0);
        Some(())
    }

    pub(super) fn redirect(&mut self, device: Number, flags: Number) -> Option<()> {
        self.number(reg(1), device);
        self.number(reg(2), flags);
        self.helper(REDIRECT);
        self.result(Register::R0);
        Some(())
    }

    pub(super) fn length(&mut self) -> Option<()> {
        self.mov(reg(1), Source::Reg(reg(6)));
        self.helper(XDP_GET_BUFF_LEN);
        self.result(Register::R0);
        Some(())
    }
}
