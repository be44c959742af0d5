//! Helps front ends to append micro-operations to a block without naming temporary registers.

use crate::op::mask;
use crate::{BinaryOp, DrawId, InputId, InsnIdx, Op, Operand, OriginOp, Reg, RegInfo, RelianceId};

/// Appends the micro-operations of one instruction to a list, and allocates registers for their
/// results.
///
/// The caller must choose correct widths; [`Program::validate`](crate::Program::validate) checks
/// them.
pub struct BlockBuilder<'a> {
    regs: &'a mut Vec<RegInfo>,
    ops: &'a mut Vec<OriginOp>,
    insn: InsnIdx,
}

impl<'a> BlockBuilder<'a> {
    /// Returns a builder that appends operations of the instruction `insn` to `ops`.
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

/// Receiver of micro-operations. A front end implements the three required methods, on which the
/// other methods build.
///
/// The caller must choose correct widths; [`Program::validate`](crate::Program::validate) checks
/// them.
pub trait Emit {
    /// Appends a micro-operation.
    fn push(&mut self, op: Op);

    /// Allocates a register of `width` bits for a result.
    fn temp(&mut self, width: u8) -> Reg;

    /// Returns the width of a register in bits.
    fn reg_width(&self, reg: Reg) -> u8;

    /// Returns the width of an operand in bits.
    fn width(&self, operand: Operand) -> u8 {
        match operand {
            Operand::Reg(reg) => self.reg_width(reg),
            Operand::Const { width, .. } => width,
        }
    }

    /// Appends `dst = src`.
    fn copy(&mut self, dst: Reg, src: impl Into<Operand>) {
        self.push(Op::Copy { dst, src: src.into() });
    }

    /// Appends `a op b` and returns the new register that holds the result.
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

    /// Appends `~src` and returns the new register that holds the result. If `src` is a constant,
    /// returns the constant result and appends nothing.
    fn not(&mut self, src: impl Into<Operand>) -> Operand {
        let src = src.into();
        if let Operand::Const { value, width } = src {
            return Operand::constant(width, !value & mask(width));
        }
        let dst = self.temp(self.width(src));
        self.push(Op::Not { dst, src });
        dst.into()
    }

    /// Appends the extraction of bits `lo + width - 1 ..= lo` of `src` and returns the new register
    /// that holds the result. If `src` is a constant, appends nothing and returns the constant
    /// result. If `src` consists of exactly these bits, appends nothing and returns `src`.
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

    /// Appends the zero extension of `src` to `width` bits and returns the new register that holds
    /// the result. If `src` is a constant, appends nothing and returns the constant result. If
    /// `src` already has this width, appends nothing and returns `src`.
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

    /// Appends the sign extension of `src` to `width` bits and returns the new register that holds
    /// the result.
    fn sign_extend(&mut self, src: impl Into<Operand>, width: u8) -> Operand {
        let src = src.into();
        if width == self.width(src) {
            return src;
        }
        let dst = self.temp(width);
        self.push(Op::SignExtend { dst, src });
        dst.into()
    }

    /// Appends `if cond { then } else { other }` and returns the new register that holds the
    /// result.
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

    /// Appends a read of an input and returns the new register that holds its value.
    fn input(&mut self, input: InputId, width: u8) -> Operand {
        let dst = self.temp(width);
        self.push(Op::Input { dst, input });
        dst.into()
    }

    /// Appends an operation that yields any value from `min` to `max` (unsigned, both included),
    /// and returns the new register that holds the value. `draw` is the number of the value's
    /// description in [`Program::draws`](crate::Program::draws), for reports.
    fn unknown(&mut self, draw: DrawId, width: u8, min: u64, max: u64) -> Operand {
        let dst = self.temp(width);
        self.push(Op::Unknown { dst, min, max, draw });
        dst.into()
    }

    /// Appends a little-endian load of `bytes` bytes at `addr` and returns the new register that
    /// holds the value.
    fn load(&mut self, addr: impl Into<Operand>, bytes: u8) -> Operand {
        let dst = self.temp(8 * bytes);
        self.push(Op::Load { dst, addr: addr.into() });
        dst.into()
    }

    /// Appends a little-endian store of `value` at `addr`.
    fn store(&mut self, addr: impl Into<Operand>, value: impl Into<Operand>) {
        self.push(Op::Store { addr: addr.into(), value: value.into() });
    }

    /// Appends an operation that sets the `bytes` bytes at `addr` to zero.
    fn clear(&mut self, addr: impl Into<Operand>, bytes: impl Into<Operand>) {
        self.push(Op::Clear { addr: addr.into(), bytes: bytes.into() });
    }

    /// Appends an operation that records an assumption: if the 1-bit operand `cond` is 1, the run
    /// relies on the assumption `on`. Results for such a path mention the assumption.
    fn rely(&mut self, cond: Operand, on: RelianceId) {
        self.push(Op::Rely { cond, on });
    }
}
