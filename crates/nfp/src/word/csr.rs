//! Encodes and decodes `local_csr_rd` and `local_csr_wr`.

use super::error::WordError;
use super::field::{Class, common, csr, wide};
use super::operand::{Form, require_source};
use crate::csr::{local_base, name};
use crate::{Bank, Insn, Operand};

const FORM: Form = Form::Unrestricted;
/// Number of bytes of a control register.
const REGISTER: u16 = 4;

/// Returns true if a word of [`Class::MulOrCsr`] accesses a control register, false if it is a
/// multiplication step.
pub(super) fn is_csr(word: u64) -> bool {
    csr::IS_CSR.is_set(word)
}

fn address(csr: u16) -> Result<u64, WordError> {
    name(csr).ok_or(WordError::ControlRegister { csr })?;
    Ok(Class::MulOrCsr.bits()
        | csr::IS_CSR.flag(true)
        | csr::ADDRESS.put(u64::from(csr / REGISTER)))
}

/// Encodes `local_csr_rd[register]` as an instruction word. `csr` is the register's byte address.
pub(super) fn encode_read(csr: u16) -> Result<u64, WordError> {
    address(csr)
}

/// Encodes `local_csr_wr[ActLMAddrN, src]`. Both sources of the word encode a constant operand. For
/// any other operand, the second source is the constant zero.
pub(super) fn encode_write(index: u8, src: Operand) -> Result<u64, WordError> {
    let unknown = WordError::OutOfRange { kind: "ActLMAddr", value: index.into(), min: 0, max: 3 };
    let csr = local_base(index).ok_or(unknown)?;
    let sources = match require_source(src)? {
        Operand::Immediate(_) => {
            let mut sources = FORM.sources(src, Operand::None)?;
            sources.b = sources.a;
            sources
        }
        _ => FORM.sources(src, Operand::Immediate(0))?,
    };
    Ok(address(csr)?
        | csr::WRITE.flag(true)
        | wide::A.put(sources.a)
        | wide::B.put(sources.b)
        | common::SOURCE_LOCAL_HIGH.flag(sources.local_high))
}

pub(super) fn read(word: u64) -> Option<Insn> {
    let csr = csr::ADDRESS.get(word) as u16 * REGISTER;
    if !csr::WRITE.is_set(word) {
        return Some(Insn::LocalCsrRd { csr });
    }
    let index = (0..4).find(|&index| local_base(index) == Some(csr))?;
    let local_high = common::SOURCE_LOCAL_HIGH.is_set(word);
    let a = FORM.read(wide::A.get(word), Bank::A, local_high, false)?;
    let b = FORM.read(wide::B.get(word), Bank::B, local_high, false)?;
    let src = match (a, b) {
        (Operand::Immediate(_), Operand::Immediate(_)) => a,
        (Operand::Immediate(_), _) => b,
        _ => a,
    };
    Some(Insn::LocalCsrWr { index, src })
}
