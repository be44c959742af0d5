//! Emits arithmetic instructions, with operands in the ranges that the SmartNIC's driver accepts.

use slowpath_bpf::insn::{AluOp, Imm64, Insn, Register, Size, Source, SwapKind, Width};

use super::Emitter;
use crate::state::{Kind, Range};
use crate::statement::{Amount, Divisor, Operand, Pick};

impl Emitter<'_> {
    pub(super) fn arithmetic(
        &mut self,
        op: AluOp,
        width: Width,
        dst: Pick,
        src: Operand,
    ) -> Option<()> {
        // Compilers copy registers with 64-bit moves, even without 64-bit arithmetic.
        let width = if op == AluOp::Mov { width } else { self.width(width) };
        let dst = match op {
            AluOp::Mov => self.target(dst, &[])?,
            _ => self.variable_scalar(dst, &[])?,
        };
        let src = self.source_beside(dst, src)?;
        self.alu(op, width, dst, src);
        Some(())
    }

    pub(super) fn negation(&mut self, width: Width, dst: Pick) -> Option<()> {
        let (width, dst) = (self.width(width), self.variable_scalar(dst, &[])?);
        self.code.push(Insn::Neg { width, dst });
        let range = if width == Width::W64 { Range::ANY } else { Range::WORD };
        self.state.set(dst, Kind::Scalar(range));
        Some(())
    }

    pub(super) fn swap(&mut self, kind: SwapKind, size: Size, dst: Pick) -> Option<()> {
        let dst = self.variable_scalar(dst, &[])?;
        self.swap_in(kind, size, dst)
    }

    pub(super) fn swap_in(&mut self, kind: SwapKind, size: Size, dst: Register) -> Option<()> {
        let enabled = match kind {
            SwapKind::Be => self.features.swaps,
            SwapKind::Le => self.features.little_endian,
            SwapKind::Always => false,
        };
        if !enabled {
            return None;
        }
        self.code.push(Insn::Swap { kind, size, dst });
        // Most versions of the verifier assume nothing about the result, for any size.
        self.state.set(dst, Kind::Scalar(Range::ANY));
        Some(())
    }

    pub(super) fn constant(&mut self, dst: Pick, value: u64) -> Option<()> {
        let dst = self.target(dst, &[])?;
        self.set_wide(dst, value);
        Some(())
    }

    fn set_wide(&mut self, dst: Register, value: u64) {
        self.code.push(Insn::LoadImm64 { dst, value: Imm64::Value(value) });
        self.code.push(Insn::SecondSlot);
        self.state.set(dst, Kind::Scalar(Range::exactly(value)));
    }

    pub(super) fn truncation(&mut self, dst: Pick) -> Option<()> {
        let dst = self.variable_scalar(dst, &[])?;
        self.truncate_by_shifts(dst)
    }

    /// Emits two shifts that truncate a register to 32 bits, as compilers did before 32-bit moves
    /// existed.
    pub(super) fn truncate_by_shifts(&mut self, dst: Register) -> Option<()> {
        if !self.features.wide {
            return None;
        }
        self.alu(AluOp::Lsh, Width::W64, dst, Source::Imm(32));
        self.alu(AluOp::Rsh, Width::W64, dst, Source::Imm(32));
        Some(())
    }

    pub(super) fn shift(
        &mut self,
        op: AluOp,
        width: Width,
        dst: Pick,
        amount: Amount,
    ) -> Option<()> {
        let width = self.width(width);
        let bits = width.bits();
        if let Amount::Constant(by) = amount {
            let dst = self.variable_scalar(dst, &[])?;
            self.alu(op, width, dst, Source::Imm((by % bits).into()));
            return Some(());
        }
        if !self.features.variable_shifts {
            return None;
        }
        let by = match amount {
            Amount::Constant(_) => return None,
            Amount::Known(by) => {
                let register = self.target(dst.wrapping_add(1), &[])?;
                self.set(register, (by % bits).into());
                register
            }
            Amount::Any(choice) => {
                let register = self.scalar(choice)?;
                let fits = |range: Range| range.max < bits.into();
                if !self.state.range(register).is_some_and(fits) {
                    self.mask(register, i32::from(bits) - 1)?;
                }
                register
            }
            Amount::Low(choice) => {
                let register = self.variable_scalar(choice, &[])?;
                self.mask(register, 31)?;
                register
            }
            Amount::High(choice) => {
                let register = self.variable_scalar(choice, &[])?;
                self.mask(register, i32::from(bits) / 2 - 1)?;
                let half = Source::Imm(i32::from(bits) / 2);
                self.alu(AluOp::Or, self.width(Width::W64), register, half);
                register
            }
        };
        let dst = self.variable_scalar(dst, &[])?;
        self.alu(op, width, dst, Source::Reg(by));
        Some(())
    }

    /// Emits an instruction that clears the bits of a register that are not in `mask`. Returns
    /// `None` if the value of the register must not change.
    pub(super) fn mask(&mut self, register: Register, mask: i32) -> Option<()> {
        if self.reserved.contains(&register) {
            return None;
        }
        self.alu(AluOp::And, self.width(Width::W64), register, Source::Imm(mask));
        Some(())
    }

    /// Emits a truncation of a register to 32 bits, unless its value already fits in 32 bits.
    /// Returns `None` if the value of the register must not change.
    fn fit_word(&mut self, register: Register) -> Option<()> {
        if self.state.range(register)?.is_word() {
            return Some(());
        }
        if self.reserved.contains(&register) {
            return None;
        }
        self.alu(AluOp::Mov, Width::W32, register, Source::Reg(register));
        Some(())
    }

    pub(super) fn multiplication(&mut self, width: Width, dst: Pick, src: Operand) -> Option<()> {
        if !self.features.multiply {
            return None;
        }
        let width = self.width(width);
        let dst = self.variable_scalar(dst, &[])?;
        let src = match self.source_beside(dst, src)? {
            Source::Reg(register) => {
                self.fit_word(register)?;
                Source::Reg(register)
            }
            Source::Imm(value) if width == Width::W64 => Source::Imm(value & i32::MAX),
            Source::Imm(value) => Source::Imm(value),
        };
        self.fit_word(dst)?;
        self.alu(AluOp::Mul, width, dst, src);
        Some(())
    }

    pub(super) fn division(&mut self, width: Width, dst: Pick, by: Divisor) -> Option<()> {
        if !self.features.divide {
            return None;
        }
        let width = self.width(width);
        let src = match by {
            Divisor::Immediate(value) => Source::Imm((value & i32::MAX).max(1)),
            Divisor::Known(value) => {
                let register = self.target(dst.wrapping_add(1), &[])?;
                match i32::try_from(value) {
                    Ok(value) => self.set(register, value.max(1)),
                    Err(_) => self.set_wide(register, value.into()),
                }
                Source::Reg(register)
            }
        };
        let avoid = match src {
            Source::Reg(register) => vec![register],
            Source::Imm(_) => Vec::new(),
        };
        let dst = self.variable_scalar(dst, &avoid)?;
        self.fit_word(dst)?;
        self.alu(AluOp::Div, width, dst, src);
        Some(())
    }
}
