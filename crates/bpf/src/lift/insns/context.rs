//! Checks and lifts accesses to the context, by the rules of the program's type
//! ([`crate::context`]).

use slowpath_codes as codes;
use slowpath_ir::{Emit, Operand};

use crate::context::{Access, Content, Field};
use crate::insn::Source;
use crate::lift::error::{Cause, VERIFIER};
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

/// Smallest number for which the kernel ignores a store to `queue_mapping` (`NO_QUEUE_MAPPING`).
const NO_QUEUE: u64 = 0xffff;

impl Lifter<'_> {
    /// Checks a load of `bytes` bytes from the context. The address has the given abstract value.
    ///
    /// # Errors
    /// If the verifier rejects the access, or slowpath does not model the field.
    pub(super) fn check_context_load(
        &self,
        known: AbstractValue,
        bytes: u8,
        signed: bool,
    ) -> Result<(), Cause> {
        let AbstractValue::Context { offset } = known else { return Ok(()) };
        let Some(field) = self.checked_field(offset, bytes)? else { return Ok(()) };
        if field.content == Content::Unsupported && self.program_type.access(field) != Access::Never
        {
            return Err(self.unsupported_field(field));
        }
        let whole = bytes == field.bytes;
        let accepted = match self.program_type.access(field) {
            Access::Whole => whole && !(signed && is_pointer(field)),
            Access::WholeStores => whole,
            Access::Never => false,
            _ => true,
        };
        if accepted { Ok(()) } else { Err(self.wrong_access(offset, bytes)) }
    }

    /// Returns the number that a context field contains after a store of `value`. Some fields keep
    /// only the low bits of a stored number.
    ///
    /// # Errors
    /// If the verifier rejects the access.
    pub(super) fn stored_in_context(
        &mut self,
        (address, known): (Operand, AbstractValue),
        (source, value): (Source, Operand),
        offset: i16,
    ) -> Result<Operand, Cause> {
        let bytes = self.ir.emit.width(value) / 8;
        // The verifier accepts no other pointer into the context than its address, so the offset
        // in the instruction selects the field, even if the pointer is not known.
        let maybe = match known {
            AbstractValue::Context { .. } => None,
            AbstractValue::Unknown | AbstractValue::NotStack | AbstractValue::MaybeMapValue => {
                let context = self.ir.base(self.ir.context);
                let start = self.ir.emit.add(context, word(i64::from(offset) as u64));
                Some(start)
            }
            AbstractValue::Packet { .. } if !self.program_type.writes_packets => {
                let kind = self.program_type.kind;
                let text = format!("a store to the packet in a program of type {kind}");
                return Err(Cause::new(codes::REJECTED_BY_VERIFIER, text, VERIFIER));
            }
            _ => return Ok(value),
        };
        let at = if let AbstractValue::Context { offset } = known { offset } else { offset.into() };
        let field = match (self.checked_field(at, bytes), maybe) {
            (Ok(Some(field)), _) => field,
            (Ok(None), _) | (Err(_), Some(_)) => return Ok(value),
            (Err(cause), None) => return Err(cause),
        };
        let whole = bytes == field.bytes;
        let access = self.program_type.access(field);
        let accepted = match access {
            Access::Stores(_) | Access::StoresQueue | Access::WholeStores => whole,
            Access::Bytes => true,
            _ => false,
        };
        if !accepted {
            return if maybe.is_some() { Ok(value) } else { Err(self.wrong_access(at, bytes)) };
        }
        let kept = match access {
            Access::Stores(bits) if bits < 8 * field.bytes => {
                let low = self.ir.emit.extract(value, 0, bits);
                self.ir.emit.zero_extend(low, 8 * field.bytes)
            }
            Access::StoresQueue => self.stored_queue(source, value, address),
            _ => return Ok(value),
        };
        let Some(context) = maybe else { return Ok(kept) };
        let same = self.ir.emit.eq(address, context);
        Ok(self.ir.emit.select(same, kept, value))
    }

    /// Returns the number that the field `queue_mapping` contains after a store
    /// (`bpf_convert_ctx_access`). The kernel ignores stores of numbers from [`NO_QUEUE`] on. It
    /// compares a register with this limit as an unsigned 64-bit number, and a constant as a signed
    /// number.
    fn stored_queue(&mut self, source: Source, value: Operand, address: Operand) -> Operand {
        let low = self.ir.emit.extract(value, 0, 16);
        let low = self.ir.emit.zero_extend(low, 32);
        let ignored = match source {
            Source::Imm(imm) => Operand::constant(1, (i64::from(imm) >= NO_QUEUE as i64).into()),
            Source::Reg(register) => {
                let whole = self.ir.value(register.number());
                let fits = self.ir.emit.ult(whole, word(NO_QUEUE));
                self.ir.emit.not(fits)
            }
        };
        let old = self.ir.emit.load(address, 4);
        self.ir.emit.select(ignored, old, low)
    }

    /// Returns the context field that an access of `bytes` bytes at `offset` touches. Returns
    /// `None` if slowpath has no access rules for this context; the access then stays inside the
    /// structure.
    fn checked_field(&self, offset: i64, bytes: u8) -> Result<Option<&'static Field>, Cause> {
        if self.program_type.fields.iter().all(|field| field.access == Access::Unchecked) {
            let end = offset.checked_add(bytes.into()).and_then(|end| u64::try_from(end).ok());
            return match end {
                Some(end) if offset >= 0 && end <= self.program_type.size => Ok(None),
                _ => Err(self.wrong_access(offset, bytes)),
            };
        }
        let size = i64::from(bytes);
        let field = self.program_type.field_at(offset);
        let field = field.filter(|_| offset % size == 0);
        let field = field.ok_or_else(|| self.wrong_access(offset, bytes))?;
        let last = self.program_type.field_at(offset + size - 1);
        let across =
            field.access == Access::Bytes && last.is_some_and(|last| last.access == Access::Bytes);
        if last != Some(field) && !across {
            return Err(self.wrong_access(offset, bytes));
        }
        Ok(Some(field))
    }

    fn wrong_access(&self, offset: i64, bytes: u8) -> Cause {
        let structure = self.program_type.structure;
        let text = match self.program_type.field_at(offset) {
            Some(field) => {
                format!("an access of {bytes} bytes to {} of struct {structure}", field.name)
            }
            None => format!("an access of {bytes} bytes at offset {offset} of struct {structure}"),
        };
        Cause::new(codes::REJECTED_BY_VERIFIER, text, VERIFIER)
    }

    fn unsupported_field(&self, field: &Field) -> Cause {
        let text = format!("the field {} of struct {}", field.name, self.program_type.structure);
        Cause::new(codes::UNSUPPORTED_INSTRUCTION, text, "slowpath does not model this field yet")
    }
}

fn is_pointer(field: &Field) -> bool {
    matches!(field.content, Content::PacketStart | Content::PacketEnd | Content::Metadata)
}

#[cfg(test)]
mod tests;
