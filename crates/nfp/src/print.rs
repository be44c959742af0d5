//! Prints instructions and listings, byte for byte as the BFD disassembler does.

use std::fmt::{Display, Formatter, Result};

use crate::csr;
use crate::{
    Address, AluOp, Bank, Insn, Listing, LocalAccess, Operand, Shift, ShiftAmount, ShiftKind,
};

/// Number of bytes by which addresses in a listing grow with each instruction.
pub(crate) const INSN_BYTES: usize = 8;

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match *self {
            Operand::None => f.write_str("--"),
            Operand::Gpr(Bank::A, number) => write!(f, "gprA_{number}"),
            Operand::Gpr(Bank::B, number) => write!(f, "gprB_{number}"),
            Operand::Xfer(number) => write!(f, "$xfer_{number}"),
            Operand::Local { index, access: LocalAccess::Word(0) } => write!(f, "*l$index{index}"),
            Operand::Local { index, access: LocalAccess::Word(word) } => {
                write!(f, "*l$index{index}[{word}]")
            }
            Operand::Local { index, access: LocalAccess::Increment } => {
                write!(f, "*l$index{index}++")
            }
            Operand::Local { index, access: LocalAccess::Decrement } => {
                write!(f, "*l$index{index}--")
            }
            Operand::Immediate(value) => write!(f, "{value:#x}"),
        }
    }
}

impl Display for AluOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.text())
    }
}

impl Display for Shift {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self.kind {
            ShiftKind::Left => "<<",
            ShiftKind::Right => ">>",
            ShiftKind::RotateLeft => "<<rot",
            ShiftKind::RotateRight => ">>rot",
        })?;
        match self.amount {
            ShiftAmount::Bits(bits) => write!(f, "{bits}"),
            ShiftAmount::Indirect => f.write_str("indirect"),
        }
    }
}

/// Prints an optional shift operand, with a comma before it.
struct OptionalShift(Option<Shift>);

impl Display for OptionalShift {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0.map_or(Ok(()), |shift| write!(f, ", {shift}"))
    }
}

/// Prints the attribute `defer[n]`. Prints nothing if there are no delay slots.
struct Defer(u8);

impl Display for Defer {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            0 => Ok(()),
            slots => write!(f, ", defer[{slots}]"),
        }
    }
}

fn right(amount: ShiftAmount) -> Shift {
    Shift { kind: ShiftKind::Right, amount }
}

impl Display for Insn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let wrboth = |both_banks: bool| if both_banks { ", gpr_wrboth" } else { "" };
        match *self {
            Insn::Alu { dst, a, op, b, both_banks } => {
                write!(f, "alu[{dst}, {a}, {op}, {b}]{}", wrboth(both_banks))
            }
            Insn::AluShf { dst, a, op, b, shift, both_banks } => {
                write!(
                    f,
                    "alu_shf[{dst}, {a}, {op}, {b}{}]{}",
                    OptionalShift(shift),
                    wrboth(both_banks)
                )
            }
            Insn::Asr { dst, b, amount, both_banks } => {
                write!(f, "asr[{dst}, {b}, {}]{}", right(amount), wrboth(both_banks))
            }
            Insn::DblShf { dst, a, b, amount, both_banks } => {
                write!(f, "dbl_shf[{dst}, {a}, {b}, {}]{}", right(amount), wrboth(both_banks))
            }
            Insn::Immed { dst, value, shift: 0, both_banks } => {
                write!(f, "immed[{dst}, {value:#x}]{}", wrboth(both_banks))
            }
            Insn::Immed { dst, value, shift, both_banks } => {
                write!(f, "immed[{dst}, {value:#x}, <<{shift}]{}", wrboth(both_banks))
            }
            Insn::ImmedW1 { dst, value, both_banks } => {
                write!(f, "immed_w1[{dst}, {value:#x}]{}", wrboth(both_banks))
            }
            Insn::LdField { dst, mask, src, shift, clear, both_banks } => {
                let name = if clear { "ld_field_w_clr" } else { "ld_field" };
                write!(
                    f,
                    "{name}[{dst}, {mask:04b}, {src}{}]{}",
                    OptionalShift(shift),
                    wrboth(both_banks)
                )
            }
            Insn::LocalCsrWr { index, src } => write!(f, "local_csr_wr[ActLMAddr{index}, {src}]"),
            Insn::LocalCsrRd { csr } => match csr::name(csr) {
                Some(name) => write!(f, "local_csr_rd[{name}]"),
                None => write!(f, "local_csr_rd[{csr:#x}]"),
            },
            Insn::Mem { command, xfer, address, count, indirect, signal, defer } => {
                write!(f, "mem[{}, $xfer_{xfer}, ", command.text_with_count(count))?;
                match address {
                    Address::Sram(x, y) => write!(f, "{x}, {y}, {count}]")?,
                    Address::Dram(x, y) => write!(f, "{x}, <<8, {y}, {count}]")?,
                }
                if indirect {
                    f.write_str(", indirect_ref")?;
                }
                signal.map_or(Ok(()), |signal| write!(f, ", ctx_swap[sig{signal}]"))?;
                write!(f, "{}", Defer(defer))
            }
            // The disassembler reads the code of a missing result as a constant.
            Insn::MulStep { a: Operand::None, b, step, both_banks } if step.writes_result() => {
                write!(f, "mul_step[0x0, {b}], {}{}", step.text(), wrboth(both_banks))
            }
            Insn::MulStep { a, b, step, both_banks } => {
                write!(f, "mul_step[{a}, {b}], {}{}", step.text(), wrboth(both_banks))
            }
            Insn::Nop => f.write_str("nop"),
            Insn::Branch { condition, target, defer } => {
                write!(f, "{}[.{target}]{}", condition.text(), Defer(defer))
            }
            Insn::BranchBit { src, bit, set, target, defer } => {
                let name = if set { "br_bset" } else { "br_bclr" };
                write!(f, "{name}[{src}, {bit}, .{target}]{}", Defer(defer))
            }
            Insn::Return { src, defer } => write!(f, "rtn[{src}]{}", Defer(defer)),
        }
    }
}

impl Display for Listing {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let last = self.len().saturating_sub(1);
        let width = format!(".{last}").len();
        for (number, insn) in self.insns().enumerate() {
            let address = number * INSN_BYTES;
            let label = format!(".{number}");
            writeln!(f, "{address:4x}:\t{label:>width$}  {insn}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
