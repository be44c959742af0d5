//! Instruction words: 45 bits per instruction, as the device loads them. The driver adds seven
//! check bits above these 45 bits, and relocation marks. The words of this module contain neither.
//!
//! Instructions that no word can express are errors that name the operand. Words that the encoder
//! does not produce are errors too. The order of instructions is not checked here.
//!
//! Sources: the public driver (`nfp_asm.h`, `nfp_asm.c`, the emitters of `bpf/jit.c`) for the
//! layout; the BFD disassembler for the decoding.

mod alu;
mod branch;
mod csr;
mod error;
mod field;
mod immed;
mod mem;
mod operand;
mod shift;

pub use error::WordError;

use crate::Insn;
use field::{CLASS, CLASS_NO_MEMORY, Class};

/// Encodes an instruction as a word.
///
/// # Errors
/// [`WordError`] for operands that the device cannot read or write together, and for values that
/// do not fit.
pub fn encode(insn: &Insn) -> Result<u64, WordError> {
    match *insn {
        Insn::Alu { dst, a, op, b, both_banks } => alu::encode((dst, both_banks), (a, op, b)),
        Insn::MulStep { a, b, step, both_banks } => alu::encode_mul_step((a, b), step, both_banks),
        Insn::AluShf { dst, a, op, b, shift, both_banks } => {
            shift::encode_alu_shf((dst, both_banks), (a, op, b), shift)
        }
        Insn::Asr { dst, b, amount, both_banks } => shift::encode_asr((dst, both_banks), b, amount),
        Insn::DblShf { dst, a, b, amount, both_banks } => {
            shift::encode_dbl_shf((dst, both_banks), (a, b), amount)
        }
        Insn::LdField { dst, mask, src, shift, clear, both_banks } => {
            shift::encode_ld_field((dst, both_banks), (mask, clear), (src, shift))
        }
        Insn::Immed { dst, value, shift, both_banks } => {
            immed::encode((dst, both_banks), value, shift)
        }
        Insn::ImmedW1 { dst, value, both_banks } => immed::encode_w1((dst, both_banks), value),
        Insn::Nop => Ok(immed::nop()),
        Insn::LocalCsrRd { csr } => csr::encode_read(csr),
        Insn::LocalCsrWr { index, src } => csr::encode_write(index, src),
        Insn::Mem { command, xfer, address, count, indirect, signal, defer } => {
            mem::encode(command, xfer, address, (count, indirect), (signal, defer))
        }
        Insn::Branch { condition, target, defer } => branch::encode(condition, target, defer),
        Insn::BranchBit { src, bit, set, target, defer } => {
            branch::encode_bit(src, (bit, set), target, defer)
        }
        Insn::Return { src, defer } => branch::encode_return(src, defer),
    }
}

/// Decodes a word.
///
/// # Errors
/// [`WordError::Unknown`] for words that [`encode`] does not produce, including those with check
/// bits or relocation marks.
pub fn decode(word: u64) -> Result<Insn, WordError> {
    let unknown = WordError::Unknown { word };
    let insn = read(word).ok_or(unknown)?;
    // `read` ignores some bits. They must have the values that the encoder writes.
    if encode(&insn) == Ok(word) { Ok(insn) } else { Err(unknown) }
}

fn read(word: u64) -> Option<Insn> {
    if CLASS_NO_MEMORY.get(word) == 0 {
        return mem::read(word);
    }
    match Class::of(CLASS.get(word)) {
        Class::Shift => shift::read(word),
        Class::Alu => alu::read(word),
        Class::LdField => shift::read_ld_field(word),
        Class::BranchBit => branch::read_bit(word),
        Class::Branch => branch::read(word),
        Class::Return => branch::read_return(word),
        Class::Immed => immed::read(word),
        Class::MulOrCsr if csr::is_csr(word) => csr::read(word),
        Class::MulOrCsr => alu::read_mul_step(word),
        Class::Other => None,
    }
}

#[cfg(test)]
mod tests;
