//! Emits packet accesses: bounds checks, pointers, loads, stores and copies.

use slowpath_bpf::insn::{AluOp, Condition, Insn, Register, Size, Source, SwapKind, Width};

use super::{Emitter, pick};
use crate::state::{Kind, Pointer, Range, VerifierState};
use crate::statement::{Code, Comparison, Follow, Operand, Pick, Stmt, Variable};

/// Offsets in bytes of the fields `data` and `data_end` in `struct xdp_md`, which point to the
/// packet's start and end.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
/// Largest mask that generated programs apply to a variable packet offset.
const MASK: u16 = 0x3ff;

impl Emitter<'_> {
    /// Emits the check, at the start of a program, that the packet has at least `bytes` bytes.
    pub(super) fn first_check(&mut self, bytes: u16) {
        // The check is always possible: the context is available and all other registers are free.
        let _: Option<()> = self.check(bytes, Comparison::Greater, Code::Constant(1), false);
    }

    /// Returns a register that holds the address of the packet's start, and loads it if necessary.
    fn data(&mut self, avoid: &[Register]) -> Option<Register> {
        let start = |kind| matches!(kind, Kind::Packet(Pointer { id: 0, offset: 0, .. }));
        if let Some(known) = self.state.registers(start).first() {
            return Some(*known);
        }
        let base = self.context?;
        let dst = self.target(2, avoid)?;
        let kind = Kind::Packet(Pointer { id: 0, offset: 0, range: 0 });
        self.load_from(Size::W, dst, base, DATA, kind);
        Some(dst)
    }

    /// Returns a register that holds the address of the packet's end, and loads it if necessary.
    fn end(&mut self, avoid: &[Register]) -> Option<Register> {
        if let Some(known) = self.state.registers(|kind| kind == Kind::End).first() {
            return Some(*known);
        }
        let base = self.context?;
        let dst = self.target(1, avoid)?;
        self.load_from(Size::W, dst, base, DATA_END, Kind::End);
        Some(dst)
    }

    pub(super) fn check(
        &mut self,
        bytes: u16,
        by: Comparison,
        fail: Code,
        keep: bool,
    ) -> Option<()> {
        let bytes = bytes.clamp(1, self.features.packet_reach.max(1));
        let data = self.data(&[])?;
        let end = self.end(&[data])?;
        let limit = self.target(bytes, &[data, end])?;
        self.copy_register(limit, data);
        self.move_pointer(limit, bytes as i16)?;
        let (at, stays) = self.compare(limit, end, by);
        if stays {
            let before = self.state.clone();
            self.exit(fail)?;
            self.state = before;
            self.land(at);
        } else {
            let code = if let Code::Constant(code) = fail { code } else { 1 };
            self.pending_exits.push((at, code));
        }
        // The failing branch counts as a path; if `stays` is set, `exit` has already counted it.
        if !stays {
            self.ended = self.ended.saturating_add(self.state.paths);
        }
        self.state.checked(0, bytes);
        if !keep {
            self.state.set(limit, Kind::Nothing);
            self.state.set(end, Kind::Nothing);
        }
        Some(())
    }

    /// Emits a conditional jump that compares a packet pointer with the packet's end. Returns the
    /// slot of the jump, and true if packets that are long enough take it, false if they fall
    /// through.
    fn compare(&mut self, limit: Register, end: Register, by: Comparison) -> (usize, bool) {
        let (cond, dst, src, stays) = match by {
            Comparison::Greater => (Condition::Gt, limit, end, false),
            Comparison::EndLess => (Condition::Lt, end, limit, false),
            Comparison::LessEqual => (Condition::Le, limit, end, true),
            Comparison::EndGreaterEqual => (Condition::Ge, end, limit, true),
        };
        let src = Source::Reg(src);
        (self.jump(Insn::Branch { width: Width::W64, cond, dst, src, offset: 0 }), stays)
    }

    /// Emits the addition of a constant to a pointer into the packet.
    fn move_pointer(&mut self, register: Register, by: i16) -> Option<()> {
        let Kind::Packet(pointer) = self.state.get(register) else { return None };
        let offset = pointer.offset.checked_add_signed(by)?;
        if by != 0 {
            self.alu(AluOp::Add, Width::W64, register, Source::Imm(by.into()));
        }
        self.state.set(register, Kind::Packet(Pointer { offset, ..pointer }));
        Some(())
    }

    pub(super) fn point(&mut self, from: Pick, to: Pick, by: i16) -> Option<()> {
        let src = pick(&self.state.registers(|kind| matches!(kind, Kind::Packet(_))), from)?;
        let dst = self.target(to, &[src])?;
        self.copy_register(dst, src);
        self.move_pointer(dst, by)
    }

    /// Chooses a register with a packet pointer, and an offset from this pointer at which an
    /// earlier check ensures `bytes` packet bytes. Returns `None` if no check ensures so many
    /// bytes.
    pub(super) fn place(&self, bytes: u16, from: Pick, at: Pick) -> Option<(Register, i16)> {
        let reaches = |kind| matches!(kind, Kind::Packet(p) if p.range >= bytes);
        let base = pick(&self.state.registers(reaches), from)?;
        let Kind::Packet(pointer) = self.state.get(base) else { return None };
        let place = at.checked_rem(pointer.range.checked_sub(bytes)? + 1)?;
        Some((base, place as i16 - pointer.offset as i16))
    }

    pub(super) fn load(
        &mut self,
        size: Size,
        to: Pick,
        (from, at): (Pick, Pick),
        follow: Follow,
    ) -> Option<()> {
        let (base, offset) = self.place(size.bytes().into(), from, at)?;
        let dst = self.target(to, &[])?;
        self.load_from(size, dst, base, offset, Kind::Scalar(Range::of_bytes(size.bytes())));
        match follow {
            Follow::Nothing => Some(()),
            Follow::Mask(Size::B) => self.mask(dst, 0xff),
            Follow::Mask(Size::H) => self.mask(dst, 0xffff),
            Follow::Mask(_) => {
                self.alu(AluOp::And, Width::W32, dst, Source::Imm(-1));
                Some(())
            }
            Follow::Truncate => self.truncate_by_shifts(dst),
            Follow::Swap if size == Size::B => Some(()),
            Follow::Swap => self.swap_in(SwapKind::Be, size, dst),
        }
    }

    pub(super) fn store(
        &mut self,
        size: Size,
        (to, at): (Pick, Pick),
        value: Operand,
    ) -> Option<()> {
        if !self.features.packet_writes {
            return None;
        }
        let src = self.source(value)?;
        let src = self.stored(src, at)?;
        let (base, offset) = self.place(size.bytes().into(), to, at)?;
        self.code.push(Insn::Store { size, base, offset, src });
        Some(())
    }

    pub(super) fn copy(
        &mut self,
        (size, count): (Size, u8),
        from: (Pick, Pick),
        to: (Pick, Pick),
        (down, via): (bool, Pick),
    ) -> Option<()> {
        if !self.features.copies || !self.features.packet_writes {
            return None;
        }
        let (width, count) = (i16::from(size.bytes()), i16::from(count));
        let bytes = width * count;
        let (source, first) = self.place(bytes as u16, from.0, from.1)?;
        let (sink, second) = self.place(bytes as u16, to.0, to.1)?;
        if self.may_overlap((source, first), (sink, second), bytes)
            && !self.features.overlapping_copies
        {
            return None;
        }
        let dst = self.target(via, &[source, sink])?;
        for number in 0..count {
            let at = width * if down { count - 1 - number } else { number };
            let kind = Kind::Scalar(Range::of_bytes(size.bytes()));
            self.load_from(size, dst, source, first + at, kind);
            let src = Source::Reg(dst);
            self.code.push(Insn::Store { size, base: sink, offset: second + at, src });
        }
        Some(())
    }

    fn may_overlap(&self, a: (Register, i16), b: (Register, i16), bytes: i16) -> bool {
        let (Kind::Packet(p), Kind::Packet(q)) = (self.state.get(a.0), self.state.get(b.0)) else {
            return true;
        };
        let (p, q) = ((p.id, p.offset as i16 + a.1), (q.id, q.offset as i16 + b.1));
        p.0 != q.0 || (p.1 - q.1).abs() < bytes
    }

    pub(super) fn variable(
        &mut self,
        access: &Variable,
        inside: &[Stmt],
        outside: &[Stmt],
    ) -> Option<()> {
        if !self.features.variable_offsets {
            return None;
        }
        let index = self.scalar(access.index)?;
        let known = self.state.registers(|kind| matches!(kind, Kind::Packet(p) if p.id == 0));
        let from = match pick(&known, access.from) {
            Some(known) => known,
            None => self.data(&[index])?,
        };
        let Kind::Packet(from_pointer) = self.state.get(from) else { return None };
        let offset = self.target(access.bytes.into(), &[index, from])?;
        self.copy_register(offset, index);
        self.mask(offset, (access.mask & MASK).into())?;
        let pointer = if access.reverse {
            let copy = self.target(access.index, &[offset, from])?;
            self.copy_register(copy, from);
            self.alu(AluOp::Add, Width::W64, copy, Source::Reg(offset));
            copy
        } else {
            self.alu(AluOp::Add, Width::W64, offset, Source::Reg(from));
            offset
        };
        self.variable_offsets += 1;
        let place = Pointer { id: self.variable_offsets, offset: from_pointer.offset, range: 0 };
        self.state.set(pointer, Kind::Packet(place));
        let end = self.end(&[pointer])?;
        let limit = self.target(access.mask, &[pointer, end])?;
        self.copy_register(limit, pointer);
        self.move_pointer(limit, access.bytes.max(1).into())?;
        let (at, stays) = self.compare(limit, end, access.by);
        self.state.set(limit, Kind::Nothing);
        let unchecked = self.without(pointer);
        self.state.checked(place.id, place.offset + u16::from(access.bytes.max(1)));
        let checked = self.state.clone();
        if stays {
            self.emit_branches(at, (checked, inside), (unchecked, outside))
        } else {
            self.emit_branches(at, (unchecked, outside), (checked, inside))
        }
    }

    /// Returns a copy of the verifier state in which `register` is undefined.
    fn without(&self, register: Register) -> VerifierState {
        let mut state = self.state.clone();
        state.set(register, Kind::Nothing);
        state
    }
}
