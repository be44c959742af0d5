//! Lifts arithmetic, moves and byte swaps, as defined by RFC 9669 section 4.1 and the kernel's
//! `kernel/bpf/core.c`.

use slowpath_codes as codes;
use slowpath_ir::{BinaryOp, Emit, Operand};

use crate::insn::{AluOp, Insn, Register, Size, Source, SwapKind, Width};
use crate::lift::error::{Cause, INTERNAL, VERIFIER};
use crate::lift::ir::emit::Emitter;
use crate::lift::lifter::Lifter;
use crate::lift::state::origin::Origin;
use crate::lift::state::value::AbstractValue;

impl Lifter<'_> {
    /// Lifts an arithmetic instruction and returns its cost class; `None` for other instructions.
    pub(in crate::lift) fn arithmetic(
        &mut self,
        insn: Insn,
    ) -> Option<Result<&'static str, Cause>> {
        Some(match insn {
            Insn::Alu { width, op, dst, src } => self.alu(width, op, dst, src),
            Insn::Neg { width, dst } => {
                let value = self.low(dst, width.bits());
                let zero = Operand::constant(width.bits(), 0);
                let value = self.ir.emit.sub(zero, value);
                self.set_extended(dst, value, AbstractValue::NotStack)
            }
            Insn::MoveSigned { width, from, dst, src } => {
                let value = self.low(src, from.bits());
                let value = self.ir.emit.sign_extend(value, width.bits());
                self.set_extended(dst, value, AbstractValue::NotStack)
            }
            Insn::Swap { kind, size, dst } => {
                let value = self.low(dst, size.bits());
                let value = match kind {
                    // Programs run on little-endian machines, so the bytes stay in place.
                    SwapKind::Le => value,
                    SwapKind::Be | SwapKind::Always => swap_bytes(&mut self.ir.emit, value, size),
                };
                self.set_extended(dst, value, AbstractValue::NotStack)
            }
            _ => return None,
        })
    }

    fn alu(
        &mut self,
        width: Width,
        op: AluOp,
        dst: Register,
        src: Source,
    ) -> Result<&'static str, Cause> {
        let bits = width.bits();
        let known = self.alu_known(width, op, dst, src);
        let b = self.source(src, bits);
        let emit = &mut self.ir.emit;
        if op == AluOp::Mov {
            self.set_extended(dst, b, known)?;
            return Ok("alu");
        }
        if let (AluOp::Div | AluOp::Sdiv | AluOp::Mod | AluOp::Smod, Source::Imm(0)) = (op, src) {
            return Err(Cause::new(
                codes::REJECTED_BY_VERIFIER,
                "division by the constant zero",
                VERIFIER,
            ));
        }
        let zero = Operand::constant(bits, 0);
        let b = match op {
            AluOp::Lsh | AluOp::Rsh | AluOp::Arsh => match b {
                Operand::Const { value, .. } => {
                    Operand::constant(bits, value & u64::from(bits - 1))
                }
                Operand::Reg(_) => emit.and(b, Operand::constant(bits, u64::from(bits - 1))),
            },
            _ => b,
        };
        let a = self.low(dst, bits);
        let emit = &mut self.ir.emit;
        let (op, divides, class) = match op {
            AluOp::Add => (BinaryOp::Add, false, "alu"),
            AluOp::Sub => (BinaryOp::Sub, false, "alu"),
            AluOp::Mul => (BinaryOp::Mul, false, "alu.mul"),
            AluOp::Div => (BinaryOp::Udiv, true, "alu.div"),
            AluOp::Sdiv => (BinaryOp::Sdiv, true, "alu.div"),
            // A remainder by zero is the dividend in the IR as well.
            AluOp::Mod => (BinaryOp::Urem, false, "alu.div"),
            AluOp::Smod => (BinaryOp::Srem, false, "alu.div"),
            AluOp::Or => (BinaryOp::Or, false, "alu"),
            AluOp::And => (BinaryOp::And, false, "alu"),
            AluOp::Xor => (BinaryOp::Xor, false, "alu"),
            AluOp::Lsh => (BinaryOp::Shl, false, "alu"),
            AluOp::Rsh => (BinaryOp::Lshr, false, "alu"),
            AluOp::Arsh => (BinaryOp::Ashr, false, "alu"),
            AluOp::Mov => {
                return Err(Cause::new(
                    codes::INTERNAL_ERROR,
                    "a move is not an operation",
                    INTERNAL,
                ));
            }
        };
        let mut value = emit.binary(op, a, b);
        if divides && let Operand::Reg(_) = b {
            let by_zero = emit.eq(b, zero);
            value = emit.select(by_zero, zero, value);
        }
        self.set_extended(dst, value, known)?;
        Ok(class)
    }

    /// Returns the abstract value of an operation's result, computed from the abstract values of
    /// the operands.
    fn alu_known(&self, width: Width, op: AluOp, dst: Register, src: Source) -> AbstractValue {
        let a = self.known(dst);
        let b = self.known_source(src);
        let constant = || match (a, b) {
            (AbstractValue::Const(a), AbstractValue::Const(b)) => fold(width, op, a, b),
            (_, AbstractValue::Const(b)) if op == AluOp::Mov => fold(width, op, 0, b),
            _ => None,
        };
        if width == Width::W32 {
            return constant().map_or(AbstractValue::NotStack, AbstractValue::Const);
        }
        let sum = Origin::Sum(self.at.frame, self.at.slot);
        match (op, a, b) {
            (AluOp::Mov, _, _) => b,
            (AluOp::Add, _, AbstractValue::Const(distance)) => a.plus(distance as i64),
            (AluOp::Add, AbstractValue::Const(distance), _) => b.plus(distance as i64),
            (AluOp::Sub, _, AbstractValue::Const(distance)) => {
                a.plus((distance as i64).wrapping_neg())
            }
            (AluOp::Add, AbstractValue::Unknown, _) | (AluOp::Add, _, AbstractValue::Unknown) => {
                AbstractValue::Unknown
            }
            (AluOp::Add, _, _) if b.is_pointer() => b.moved(sum),
            (AluOp::Sub, AbstractValue::Unknown, _) => AbstractValue::Unknown,
            (AluOp::Add | AluOp::Sub, AbstractValue::MaybeMapValue, _)
            | (AluOp::Add, _, AbstractValue::MaybeMapValue) => AbstractValue::MaybeMapValue,
            // The difference of two pointers is a number.
            (AluOp::Sub, AbstractValue::Packet { .. } | AbstractValue::Data { .. }, _)
                if b.is_pointer() =>
            {
                AbstractValue::NotStack
            }
            (AluOp::Add | AluOp::Sub, _, _) if a.is_pointer() => a.moved(sum),
            _ => constant().map_or(AbstractValue::NotStack, AbstractValue::Const),
        }
    }

    /// Returns the low `bits` bits of a register as an operand.
    pub(in crate::lift) fn low(&mut self, reg: Register, bits: u8) -> Operand {
        let value = self.ir.value(reg.number());
        self.ir.emit.extract(value, 0, bits)
    }

    /// Returns the low `bits` bits of an instruction's source operand, which is a register or a
    /// sign-extended immediate.
    pub(in crate::lift) fn source(&mut self, src: Source, bits: u8) -> Operand {
        match src {
            Source::Reg(reg) => self.low(reg, bits),
            Source::Imm(value) => Operand::constant(bits, i64::from(value) as u64),
        }
    }

    /// Sets a register to a value, which is zero-extended to 64 bits.
    fn set_extended(
        &mut self,
        dst: Register,
        value: Operand,
        known: AbstractValue,
    ) -> Result<&'static str, Cause> {
        let value = self.ir.emit.zero_extend(value, 64);
        self.set(dst, value, known)?;
        Ok("alu")
    }

    /// Returns the abstract value of a register: the knowledge about its content at this point.
    pub(in crate::lift) fn known(&self, reg: Register) -> AbstractValue {
        self.state.regs[usize::from(reg.number())]
    }

    /// Returns the abstract value of an operand: the knowledge about its content at this point.
    pub(in crate::lift) fn known_source(&self, src: Source) -> AbstractValue {
        match src {
            Source::Reg(reg) => self.known(reg),
            Source::Imm(value) => AbstractValue::Const(i64::from(value) as u64),
        }
    }

    /// Sets a register to a value, and its abstract value to `known`.
    pub(in crate::lift) fn set(
        &mut self,
        dst: Register,
        value: Operand,
        known: AbstractValue,
    ) -> Result<(), Cause> {
        if dst == Register::FRAME {
            return Err(Cause::new(
                codes::REJECTED_BY_VERIFIER,
                "a write to the frame pointer r10",
                VERIFIER,
            ));
        }
        self.state.regs[usize::from(dst.number())] = known;
        // A constant that is written as a constant needs no data flow analysis later.
        let value = match known {
            AbstractValue::Const(constant) => Operand::constant(64, constant),
            _ => value,
        };
        let reg = self.ir.reg(dst.number());
        self.ir.emit.copy(reg, value);
        Ok(())
    }
}

/// Returns the result of an operation on two constants; `None` for divisions. Compilers evaluate
/// divisions of constants themselves.
fn fold(width: Width, op: AluOp, a: u64, b: u64) -> Option<u64> {
    let mask = u64::MAX >> (64 - u32::from(width.bits()));
    let (a, b) = (a & mask, b & mask);
    let amount = (b & u64::from(width.bits() - 1)) as u32;
    let unused = 64 - u32::from(width.bits());
    let value = match op {
        AluOp::Mov => b,
        AluOp::Add => a.wrapping_add(b),
        AluOp::Sub => a.wrapping_sub(b),
        AluOp::Mul => a.wrapping_mul(b),
        AluOp::And => a & b,
        AluOp::Or => a | b,
        AluOp::Xor => a ^ b,
        AluOp::Lsh => a << amount,
        AluOp::Rsh => a >> amount,
        AluOp::Arsh => (((a << unused) as i64 >> unused) >> amount) as u64,
        AluOp::Div | AluOp::Sdiv | AluOp::Mod | AluOp::Smod => return None,
    };
    Some(value & mask)
}

/// Returns `value` with its bytes in reverse order; `size` is its size.
pub(in crate::lift) fn swap_bytes(emit: &mut Emitter, value: Operand, size: Size) -> Operand {
    let mut swapped = emit.extract(value, 0, 8);
    for byte in 1..size.bytes() {
        let next = emit.extract(value, 8 * byte, 8);
        swapped = emit.binary(BinaryOp::Concat, swapped, next);
    }
    swapped
}
