//! Writes a relocated number into an instruction: into the immediate of arithmetic and 64-bit
//! loads, or into the offset of loads and stores.

use super::value::{Sizes, Value};
use crate::insn::{Imm64, Insn, Size, Source};

const UNEXPECTED: &str = "the instruction holds another value than the object's types give";
const TOO_LARGE: &str = "the kernel's value does not fit into the instruction";
const NO_PLACE: &str = "the instruction has no place for a relocation";

pub(super) fn apply(
    insns: &mut [Insn],
    at: usize,
    original: &Value,
    resolved: &Value,
    sizes: Option<Sizes>,
) -> Result<(), &'static str> {
    let insn = insns.get_mut(at).ok_or(NO_PLACE)?;
    let expected = |found: i64| !original.checked || found as u64 == original.number;
    match insn {
        Insn::Alu { src: Source::Imm(imm), .. } => {
            if !expected((*imm).into()) && u64::from(*imm as u32) != original.number {
                return Err(UNEXPECTED);
            }
            let signed = i32::try_from(resolved.number as i64).ok();
            let unsigned = || u32::try_from(resolved.number).ok().map(|n| n as i32);
            *imm = signed.or_else(unsigned).ok_or(TOO_LARGE)?;
        }
        Insn::LoadImm64 { value: Imm64::Value(value), .. } => {
            if !expected(*value as i64) {
                return Err(UNEXPECTED);
            }
            *value = resolved.number;
        }
        Insn::Load { size, offset, .. } | Insn::Store { size, offset, .. } => {
            access(offset, resolved, expected((*offset).into()))?;
            if let Some(sizes) = sizes {
                *size = adapted(*size, sizes)?;
            }
        }
        Insn::Atomic { offset, .. }
        | Insn::LoadAcquire { offset, .. }
        | Insn::StoreRelease { offset, .. } => {
            access(offset, resolved, expected((*offset).into()))?;
            if sizes.is_some() {
                return Err("the field has a different size in the kernel");
            }
        }
        _ => return Err(NO_PLACE),
    }
    Ok(())
}

fn access(offset: &mut i16, resolved: &Value, expected: bool) -> Result<(), &'static str> {
    if !expected {
        return Err(UNEXPECTED);
    }
    *offset = i16::try_from(resolved.number).map_err(|_| TOO_LARGE)?;
    Ok(())
}

/// Returns the access size for a field whose size in the kernel differs from its size in the
/// object. Fails if a load or store of the new size would not have the same effect.
fn adapted(size: Size, sizes: Sizes) -> Result<Size, &'static str> {
    if !sizes.adaptable {
        return Err("the field has a different size in the kernel, and is not an unsigned number");
    }
    if u32::from(size.bytes()) != sizes.local {
        return Err("the field has a different size in the kernel, and is not accessed as a whole");
    }
    Size::from_bytes(sizes.kernel).ok_or("the field has no size that can be loaded at once")
}
