//! Convenience for front ends: appending micro-operations without naming temporaries by hand.

use crate::op::mask;
use crate::{BinaryOp, DrawId, InputId, InsnIdx, Op, Operand, OriginOp, Reg, RegInfo, RelianceId};

/// Appends micro-operations of one instruction to a list, allocating registers for results.
///
/// Widths are the caller's duty; [`Program::validate`](crate::Program::validate) checks them.
pub struct BlockBuilder<'a> {
    regs: &'a mut Vec<RegInfo>,
    ops: &'a mut Vec<OriginOp>,
    insn: InsnIdx,
}

impl<'a> BlockBuilder<'a> {
    /// A builder that appends to `ops` on behalf of `insn`.
    pub fn new(regs: &'a mut Vec<RegInfo>, ops: &'a mut Vec<OriginOp>, insn: InsnIdx) -> Self {
        BlockBuilder { regs, ops, insn }
    }
}

impl Emit for BlockBuilder<'_> {
    fn push(&mut self, op: Op) {
        self.ops.push(OriginOp { op, insn: self.insn });
    }

    fn temp(&mut self, width: u8) -> Reg {
        let reg = Reg::from(self.regs.len());
        self.regs.push(RegInfo { name: format!("t{}", reg.0), width });
        reg
    }

    fn reg_width(&self, reg: Reg) -> u8 {
        self.regs[reg.index()].width
    }
}

/// Appending micro-operations: what a front end says how to do, and what follows from it.
///
/// Widths are the caller's duty; [`Program::validate`](crate::Program::validate) checks them.
pub trait Emit {
    /// Appends an operation.
    fn push(&mut self, op: Op);

    /// A register of `width` bits for a result.
    fn temp(&mut self, width: u8) -> Reg;

    /// The width of a register in bits.
    fn reg_width(&self, reg: Reg) -> u8;

    /// The width of an operand in bits.
    fn width(&self, operand: Operand) -> u8 {
        match operand {
            Operand::Reg(reg) => self.reg_width(reg),
            Operand::Const { width, .. } => width,
        }
    }

    /// `dst = src`.
    fn copy(&mut self, dst: Reg, src: impl Into<Operand>) {
        self.push(Op::Copy { dst, src: src.into() });
    }

    /// A new register with `a op b`.
    fn binary(&mut self, op: BinaryOp, a: impl Into<Operand>, b: impl Into<Operand>) -> Operand {
        let (a, b) = (a.into(), b.into());
        let width = match op {
            BinaryOp::Eq | BinaryOp::Ult | BinaryOp::Slt => 1,
            BinaryOp::Concat => self.width(a) + self.width(b),
            BinaryOp::Intern => 32,
            _ => self.width(a),
        };
        let dst = self.temp(width);
        self.push(Op::Binary { op, dst, a, b });
        dst.into()
    }

    /// A new register with `~src`; constants are folded.
    fn not(&mut self, src: impl Into<Operand>) -> Operand {
        let src = src.into();
        if let Operand::Const { value, width } = src {
            return Operand::constant(width, !value & mask(width));
        }
        let dst = self.temp(self.width(src));
        self.push(Op::Not { dst, src });
        dst.into()
    }

    /// A new register with bits `lo + width - 1 ..= lo` of `src`; constants are folded.
    fn extract(&mut self, src: impl Into<Operand>, lo: u8, width: u8) -> Operand {
        let src = src.into();
        match src {
            Operand::Const { value, .. } => Operand::constant(width, value >> lo),
            _ if lo == 0 && width == self.width(src) => src,
            _ => {
                let dst = self.temp(width);
                self.push(Op::Extract { dst, src, lo });
                dst.into()
            }
        }
    }

    /// A new register with `src` extended by zeros to `width`; constants are folded.
    fn zero_extend(&mut self, src: impl Into<Operand>, width: u8) -> Operand {
        let src = src.into();
        match src {
            Operand::Const { value, .. } => Operand::constant(width, value),
            _ if width == self.width(src) => src,
            _ => {
                let dst = self.temp(width);
                self.push(Op::ZeroExtend { dst, src });
                dst.into()
            }
        }
    }

    /// A new register with `src` extended by its sign to `width`.
    fn sign_extend(&mut self, src: impl Into<Operand>, width: u8) -> Operand {
        let src = src.into();
        if width == self.width(src) {
            return src;
        }
        let dst = self.temp(width);
        self.push(Op::SignExtend { dst, src });
        dst.into()
    }

    /// A new register with `if cond { then } else { other }`.
    fn select(
        &mut self,
        cond: impl Into<Operand>,
        then: impl Into<Operand>,
        other: impl Into<Operand>,
    ) -> Operand {
        let (cond, then, other) = (cond.into(), then.into(), other.into());
        let dst = self.temp(self.width(then));
        self.push(Op::Select { dst, cond, then, other });
        dst.into()
    }

    /// A new register with an unknown of the environment.
    fn input(&mut self, input: InputId, width: u8) -> Operand {
        let dst = self.temp(width);
        self.push(Op::Input { dst, input });
        dst.into()
    }

    /// A new register with any value from `min` to `max`, anew each time; `draw` is what it is called.
    fn unknown(&mut self, draw: DrawId, width: u8, min: u64, max: u64) -> Operand {
        let dst = self.temp(width);
        self.push(Op::Unknown { dst, min, max, draw });
        dst.into()
    }

    /// A new register with `bytes` bytes at `addr`, little-endian.
    fn load(&mut self, addr: impl Into<Operand>, bytes: u8) -> Operand {
        let dst = self.temp(8 * bytes);
        self.push(Op::Load { dst, addr: addr.into() });
        dst.into()
    }

    /// Stores `value` at `addr`, little-endian.
    fn store(&mut self, addr: impl Into<Operand>, value: impl Into<Operand>) {
        self.push(Op::Store { addr: addr.into(), value: value.into() });
    }

    /// Makes `bytes` bytes from `addr` on zero.
    fn clear(&mut self, addr: impl Into<Operand>, bytes: impl Into<Operand>) {
        self.push(Op::Clear { addr: addr.into(), bytes: bytes.into() });
    }

    /// Where `cond` is set, the run relies on something.
    fn rely(&mut self, cond: Operand, on: RelianceId) {
        self.push(Op::Rely { cond, on });
    }
}
