//! Emits multiplications of 32-bit words or 16-bit half words, which take several steps
//! (`wrp_mul_u16`, `wrp_mul_u32` of the Linux NFP driver).

use slowpath_bpf::insn::{Register, Source, Width};

use super::assembler::{Assembler, Dst, IMM_B, a, b};
use super::pair::pair;
use crate::codegen::annotated::AnnotatedInsn;
use crate::{MulStep, Operand};

/// Returns true if both factors are known to have at most 16 bits.
pub(in crate::codegen) fn is_narrow(insn: &AnnotatedInsn, src: Source) -> bool {
    const HALF: u64 = u16::MAX as u64;
    let largest = match src {
        Source::Reg(_) => insn.bounds.src().1,
        Source::Imm(value) => u64::from(value as u32),
    };
    insn.bounds.dst_max() <= HALF && largest <= HALF
}

/// Emits `dst *= src`. Both factors have at most 32 bits.
pub(super) fn multiply(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    width: Width,
    dst: Register,
    src: Source,
) {
    let number = pair(dst);
    let factor = match src {
        Source::Reg(src) => b(pair(src)),
        Source::Imm(value) => asm.operand(value as u32, IMM_B),
    };
    let (high, low) = (Dst::Both(number + 1), Dst::Both(number));
    if !is_narrow(insn, src) {
        let high_word = (width == Width::W64).then_some(high);
        words(asm, high_word, low, a(number), factor);
        if width == Width::W32 {
            asm.constant(high, 0);
        }
    } else {
        half_words(asm, low, a(number), factor);
    }
}

/// Emits a multiplication of two 32-bit words. Stores the low word of the product to `low`, and the
/// high word to `high` if that is given.
pub(super) fn words(
    asm: &mut Assembler,
    high: Option<Dst>,
    low: Dst,
    left: Operand,
    right: Operand,
) {
    use MulStep::{Step32x32First, Step32x32Fourth, Step32x32Second, Step32x32Third};
    let steps = [MulStep::Start, Step32x32First, Step32x32Second, Step32x32Third, Step32x32Fourth];
    for step in steps {
        asm.mul_step(left, right, step);
    }
    asm.mul_step(low, Operand::None, MulStep::Last32x32);
    if let Some(high) = high {
        asm.mul_step(high, Operand::None, MulStep::Last32x32High);
    }
}

/// Emits a multiplication of two 16-bit numbers, and stores the 32-bit product to `low`. The high
/// word of the register pair is zero and stays zero.
fn half_words(asm: &mut Assembler, low: Dst, left: Operand, right: Operand) {
    for step in [MulStep::Start, MulStep::Step16x16First, MulStep::Step16x16Second] {
        asm.mul_step(left, right, step);
    }
    asm.mul_step(low, Operand::None, MulStep::Last16x16);
}
