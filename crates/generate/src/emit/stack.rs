//! Emits stack accesses of generated programs: stores and loads of numbers of all sizes at aligned
//! offsets, and of packet pointers.

use slowpath_bpf::insn::{Insn, Register, Size, Source};

use super::{Emitter, pick};
use crate::state::{Kind, Range};
use crate::statement::{Operand, Pick};

impl Emitter<'_> {
    pub(super) fn push(&mut self, size: Size, slot: Pick, value: Operand) -> Option<()> {
        let depth = self.depth(size, slot)?;
        let src = self.source(value)?;
        let src = self.stored(src, slot)?;
        self.push_at(size, depth, src);
        Some(())
    }

    /// Returns an operand through which a program can store `src`. If stores of constants are
    /// disabled, this is a register, to which the emitted code moves the constant.
    pub(super) fn stored(&mut self, src: Source, choice: Pick) -> Option<Source> {
        match src {
            Source::Imm(value) if !self.features.store_constants => {
                let register = self.target(choice, &[])?;
                self.set(register, value);
                Some(Source::Reg(register))
            }
            _ => Some(src),
        }
    }

    /// Emits a store of a number on the stack, `depth` bytes below the frame pointer, and records
    /// that these bytes hold a number.
    pub(super) fn push_at(&mut self, size: Size, depth: u16, src: Source) {
        let offset = -(depth as i16);
        self.code.push(Insn::Store { size, base: Register::FRAME, offset, src });
        self.state.write(depth, size.bytes().into());
    }

    /// Chooses a stack position for a value of this size. Returns its distance below the frame
    /// pointer in bytes, or `None` if programs must not use the stack.
    pub(super) fn depth(&self, size: Size, slot: Pick) -> Option<u16> {
        if !self.features.stack {
            return None;
        }
        let bytes = u16::from(size.bytes());
        let slots = self.features.stack_depth / bytes;
        Some(bytes * (slot.checked_rem(slots)? + 1))
    }

    pub(super) fn pop(&mut self, size: Size, slot: Pick, to: Pick) -> Option<()> {
        let bytes = u16::from(size.bytes());
        let depths = (1..=self.features.stack_depth / bytes).map(|n| n * bytes);
        let known: Vec<u16> = depths.filter(|depth| self.state.readable(*depth, bytes)).collect();
        let depth = pick(&known, slot)?;
        let dst = self.target(to, &[])?;
        let kind = Kind::Scalar(Range::of_bytes(size.bytes()));
        self.load_from(size, dst, Register::FRAME, -(depth as i16), kind);
        Some(())
    }

    pub(super) fn spill(&mut self, slot: Pick, pointer: Pick) -> Option<()> {
        let depth = self.depth(Size::DW, slot)?;
        let pointers = self.state.registers(|kind| matches!(kind, Kind::Packet(_)));
        let src = pick(&pointers, pointer)?;
        let (base, offset) = (Register::FRAME, -(depth as i16));
        self.code.push(Insn::Store { size: Size::DW, base, offset, src: Source::Reg(src) });
        self.state.spill(depth, self.state.get(src));
        Some(())
    }

    pub(super) fn fill(&mut self, slot: Pick, to: Pick) -> Option<()> {
        let (depth, kind) = pick(&self.state.spilled(), slot)?;
        let dst = self.target(to, &[])?;
        self.load_from(Size::DW, dst, Register::FRAME, -(depth as i16), kind);
        Some(())
    }
}
