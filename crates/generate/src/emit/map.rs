//! Emits accesses to the array map: look-ups with a check of their result, loads and atomic
//! additions. Programs use each word of the values either for loads or for additions, as the driver
//! requires.

use slowpath_bpf::insn::helper::MAP_LOOKUP_ELEM;
use slowpath_bpf::insn::{AluOp, AtomicOp, Condition, Imm64, Insn, Register, Size, Source, Width};

use super::{Emitter, pick, reg};
use crate::state::{Kind, Range};
use crate::statement::{Addend, Element, Operand, Pick, Stmt};

impl Emitter<'_> {
    pub(super) fn lookup(
        &mut self,
        element: &Element,
        found: &[Stmt],
        missing: &[Stmt],
    ) -> Option<()> {
        if !self.features.maps {
            return None;
        }
        let depth = self.depth(Size::W, element.slot)?;
        self.key(element, depth)?;
        let (map, key) = (reg(1), reg(2));
        self.before_call()?;
        self.code.push(Insn::LoadImm64 { dst: map, value: Imm64::MapFd(0) });
        self.code.push(Insn::SecondSlot);
        self.copy_register(key, Register::FRAME);
        self.alu(AluOp::Add, Width::W64, key, Source::Imm(-i32::from(depth)));
        self.helper(MAP_LOOKUP_ELEM);
        let mut present = self.state.clone();
        present.set(Register::R0, Kind::Value);
        let mut absent = self.state.clone();
        absent.set(Register::R0, Kind::Scalar(Range::exactly(0)));
        // The verifier tracks copies of the result as well.
        if let Some(copy) = element.copy_to.and_then(|keep| self.target(keep, &[Register::R0])) {
            self.code.push(Insn::Alu {
                width: Width::W64,
                op: AluOp::Mov,
                dst: copy,
                src: Source::Reg(Register::R0),
            });
            present.set(copy, Kind::Value);
            absent.set(copy, Kind::Nothing);
        }
        let cond = if element.jump_if_missing { Condition::Eq } else { Condition::Ne };
        let (width, dst, src) = (Width::W64, Register::R0, Source::Imm(0));
        let at = self.jump(Insn::Branch { width, cond, dst, src, offset: 0 });
        if element.jump_if_missing {
            self.emit_branches(at, (absent, missing), (present, found))
        } else {
            self.emit_branches(at, (present, found), (absent, missing))
        }
    }

    /// Emits a store of a map element's key on the stack, `depth` bytes below the frame pointer.
    fn key(&mut self, element: &Element, depth: u16) -> Option<()> {
        let last = (1i32 << self.map.log_entries) - 1;
        let masked = element.mask || !self.features.missing_elements;
        let key = match element.key {
            Operand::Constant(key) if masked => Source::Imm(key & last),
            Operand::Constant(key) => Source::Imm(key),
            Operand::Register(choice) if masked => {
                let index = self.scalar(choice)?;
                let dst = self.target(choice, &[index])?;
                self.copy_register(dst, index);
                self.mask(dst, last)?;
                Source::Reg(dst)
            }
            Operand::Register(choice) => Source::Reg(self.scalar(choice)?),
        };
        let key = self.stored(key, element.slot)?;
        self.push_at(Size::W, depth, key);
        Some(())
    }

    /// Returns true if programs may access `bytes` bytes of a map value from byte `at`. Each 4-byte
    /// word is used either by atomic additions (`added` is true) or by loads, never by both.
    fn usable(&self, at: u16, bytes: u16, added: bool) -> bool {
        let mut words = at / 4..=(at + bytes - 1) / 4;
        at + bytes <= 4 * u16::from(self.map.words)
            && words.all(|word| (self.map.added >> word & 1 == 1) == added)
    }

    fn element(
        &self,
        size: Size,
        added: bool,
        (from, at): (Pick, Pick),
    ) -> Option<(Register, i16)> {
        let base = pick(&self.state.registers(|kind| kind == Kind::Value), from)?;
        let bytes = u16::from(size.bytes());
        let places = (0..4 * u16::from(self.map.words)).step_by(bytes.into());
        let usable: Vec<u16> = places.filter(|at| self.usable(*at, bytes, added)).collect();
        Some((base, pick(&usable, at)? as i16))
    }

    pub(super) fn read(&mut self, size: Size, to: Pick, place: (Pick, Pick)) -> Option<()> {
        let (base, offset) = self.element(size, false, place)?;
        let dst = self.target(to, &[])?;
        self.load_from(size, dst, base, offset, Kind::Scalar(Range::of_bytes(size.bytes())));
        Some(())
    }

    pub(super) fn add(&mut self, width: Width, place: (Pick, Pick), value: Addend) -> Option<()> {
        if !self.features.atomics {
            return None;
        }
        let size = if width == Width::W64 { Size::DW } else { Size::W };
        let (base, offset) = self.element(size, true, place)?;
        let src = match value {
            Addend::Any(choice) => self.scalar(choice)?,
            Addend::Short(choice) => {
                let register = self.variable_scalar(choice, &[])?;
                self.mask(register, 0xffff)?;
                register
            }
            Addend::Long(choice) => {
                let register = self.variable_scalar(choice, &[])?;
                self.alu(AluOp::Or, self.width(Width::W64), register, Source::Imm(0x1_0000));
                register
            }
            Addend::Known(value) => {
                let register = self.target(place.1, &[base])?;
                self.set(register, value);
                register
            }
        };
        let op = AtomicOp::Add { fetch: false };
        self.code.push(Insn::Atomic { op, width, base, offset, src });
        Some(())
    }
}
