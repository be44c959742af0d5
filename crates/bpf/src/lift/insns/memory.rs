//! Lifts loads, stores, atomic operations and 64-bit immediates (RFC 9669, sections 5.1 to 5.4).

use slowpath_codes as codes;
use slowpath_ir::{BinaryOp, Emit, Operand};

use crate::context::Content;
use crate::insn::{AtomicOp, Imm64, Insn, Register, Width};
use crate::lift::error::{Cause, VERIFIER};
use crate::lift::frame::{ProgramPoint, STACK_BYTES};
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::state::origin::Origin;
use crate::lift::state::value::AbstractValue;

impl Lifter<'_> {
    /// Lifts an instruction other than a jump, a call or an exit.
    pub(in crate::lift) fn plain(&mut self, at: ProgramPoint, insn: Insn) -> Result<(), Cause> {
        if let Some(done) = self.arithmetic(insn) {
            let class = done?;
            self.cost(at, class);
            return Ok(());
        }
        let class = match insn {
            Insn::Load { size, signed, dst, base, offset } => {
                let (address, known) = self.address(base, offset, size.bytes())?;
                self.check_context_load(known, size.bytes(), signed)?;
                self.note_load(known, offset, size);
                self.note_read(known, size.bytes().into());
                let (value, result) = self.read_from(address, known, size.bytes(), signed);
                self.set(dst, value, result)?;
                "load"
            }
            // Acquire semantics order accesses of several CPUs; the model executes one CPU at a
            // time.
            Insn::LoadAcquire { size, dst, base, offset } => {
                let (address, known) = self.address(base, offset, size.bytes())?;
                self.note_read(known, size.bytes().into());
                let (value, result) = self.read_from(address, known, size.bytes(), false);
                self.set(dst, value, result)?;
                "atomic"
            }
            Insn::Store { size, base, offset, src } => {
                let value = self.source(src, size.bits());
                let known = self.known_source(src);
                let (address, place) = self.address(base, offset, size.bytes())?;
                let value = self.stored_in_context((address, place), (src, value), offset)?;
                self.ir.emit.store(address, value);
                self.note_shared(place, size.bytes());
                self.state.store(place, size.bytes(), known);
                "store"
            }
            Insn::StoreRelease { size, base, offset, src } => {
                let value = self.low(src, size.bits());
                let (address, place) = self.address(base, offset, size.bytes())?;
                self.ir.emit.store(address, value);
                self.note_shared(place, size.bytes());
                self.state.store(place, size.bytes(), AbstractValue::Unknown);
                "atomic"
            }
            Insn::Atomic { op, width, base, offset, src } => {
                self.atomic((op, width), base, offset, src, insn)?;
                "atomic"
            }
            Insn::LoadImm64 { dst, value } => {
                let (value, known) = self.immediate(at, insn, value)?;
                self.set(dst, value, known)?;
                "alu"
            }
            _ => {
                return Err(Cause::new(
                    codes::REJECTED_BY_VERIFIER,
                    "control runs into the middle of an instruction",
                    VERIFIER,
                ));
            }
        };
        self.cost(at, class);
        Ok(())
    }

    /// Loads bytes from an address with the abstract value `known`. The result is an unknown value
    /// if another CPU may have changed the bytes.
    fn shared_load(&mut self, address: Operand, known: AbstractValue, bytes: u8) -> Operand {
        let interfered = self.interfered_load(known, bytes);
        self.note_shared(known, bytes);
        interfered.unwrap_or_else(|| self.ir.emit.load(address, bytes))
    }

    /// Returns the address `base + offset` of an access to `bytes` bytes, and the abstract value of
    /// the address.
    fn address(
        &mut self,
        base: Register,
        offset: i16,
        bytes: u8,
    ) -> Result<(Operand, AbstractValue), Cause> {
        let known = self.known(base).plus(offset.into());
        // The verifier checks accesses at variable offsets into the frame
        // (`check_stack_access_within_bounds`). Constant offsets can be checked here.
        let constant = |known| matches!(known, AbstractValue::Frame { offset: Some(_), .. });
        if constant(self.known(base)) && !constant(known) {
            return Err(Cause::new(
                codes::REJECTED_BY_VERIFIER,
                "an address far outside of the stack frame",
                VERIFIER,
            ));
        }
        if let AbstractValue::Frame { offset: Some(start), .. } = known
            && (start < -(STACK_BYTES as i64) || start > -i64::from(bytes))
        {
            let text = format!(
                "{bytes} bytes at r10{start:+} are not in the stack frame of {STACK_BYTES} bytes"
            );
            return Err(Cause::new(codes::REJECTED_BY_VERIFIER, text, VERIFIER));
        }
        self.note_pointer(known);
        let base = self.ir.value(base.number());
        let address = self.ir.emit.add(base, word(i64::from(offset) as u64));
        Ok((address, known))
    }

    /// Lifts a load from an address with the abstract value `known`. Returns the result, extended
    /// to 64 bits, and its abstract value.
    fn read_from(
        &mut self,
        address: Operand,
        known: AbstractValue,
        bytes: u8,
        signed: bool,
    ) -> (Operand, AbstractValue) {
        if let Some(probed) = self.probe(known, bytes) {
            return (probed, AbstractValue::NotStack);
        }
        let result = self.loaded(known, bytes, signed);
        if let (AbstractValue::Data { .. }, AbstractValue::Const(value)) = (known, result)
            && !self.options.probed_variables.is_empty()
        {
            // Only probed variables are unknown; other constant data becomes a constant.
            return (word(value), result);
        }
        let value = self.shared_load(address, known, bytes);
        let emit = &mut self.ir.emit;
        let value = if signed { emit.sign_extend(value, 64) } else { emit.zero_extend(value, 64) };
        (value, result)
    }

    /// Returns the abstract value of a load's result. It is more precise than "unknown" for packet
    /// pointers in the context, registers that were spilled to the stack, and read-only data.
    fn loaded(&self, address: AbstractValue, bytes: u8, signed: bool) -> AbstractValue {
        // Both fields are 32 bits wide; the kernel rewrites the accesses to loads of pointers
        // (`*_convert_ctx_access` of `net/core/filter.c`).
        if let AbstractValue::Context { offset } = address
            && let Some(field) = self.program_type.field_at(offset)
            && (field.offset.cast_signed(), field.bytes) == (offset, bytes)
        {
            match field.content {
                Content::PacketStart => {
                    return AbstractValue::Packet { origin: Origin::First, offset: 0 };
                }
                Content::PacketEnd => return AbstractValue::PacketEnd,
                _ => {}
            }
        }
        let AbstractValue::Data { map, offset } = address else {
            return match self.state.load(address, bytes) {
                AbstractValue::Const(value) if signed && bytes < 8 => AbstractValue::Const(value),
                known => known,
            };
        };
        let constant = || {
            let map = self.object.maps.get(map as usize)?;
            let content = map.constant_bytes(u64::try_from(offset?).ok()?, bytes.into())?;
            let mut value = [0; 8];
            value[..content.len()].copy_from_slice(content);
            let value = u64::from_le_bytes(value);
            let unused = 64 - 8 * u32::from(bytes);
            Some(if signed { ((value << unused) as i64 >> unused) as u64 } else { value })
        };
        constant().map_or(AbstractValue::NotStack, AbstractValue::Const)
    }

    fn immediate(
        &mut self,
        at: ProgramPoint,
        insn: Insn,
        value: Imm64,
    ) -> Result<(Operand, AbstractValue), Cause> {
        let loader = "pass the object as the compiler wrote it, before a loader fills in numbers";
        match value {
            Imm64::Value(value) => Ok((word(value), AbstractValue::Const(value))),
            Imm64::Map(map) => Ok((word(map_handle(map)), AbstractValue::Map(map))),
            Imm64::MapValue { map, offset } => {
                let base = self.map_data(map)?;
                let address = self.ir.emit.add(base, word(offset.into()));
                Ok((address, AbstractValue::Data { map, offset: Some(offset.into()) }))
            }
            Imm64::Function { .. } => {
                let slot = insn.function_target(at.slot);
                let slot = slot.ok_or_else(|| {
                    Cause::new(
                        codes::REJECTED_BY_VERIFIER,
                        "a function before the program",
                        VERIFIER,
                    )
                })?;
                let number = self.code.callback_number(self.unit(at), slot);
                Ok((
                    word(slot as u64),
                    number.map_or(AbstractValue::NotStack, AbstractValue::Function),
                ))
            }
            Imm64::MapFd(_) | Imm64::MapFdValue { .. } => {
                Err(Cause::new(codes::UNSUPPORTED_INSTRUCTION, "a map by file descriptor", loader))
            }
            Imm64::Variable { .. } => {
                let hint = "kernel variables are not supported yet";
                Err(Cause::new(
                    codes::UNSUPPORTED_INSTRUCTION,
                    "the address of a kernel variable",
                    hint,
                ))
            }
        }
    }

    fn atomic(
        &mut self,
        (op, width): (AtomicOp, Width),
        base: Register,
        offset: i16,
        src: Register,
        insn: Insn,
    ) -> Result<(), Cause> {
        let bits = width.bits();
        let (address, place) = self.address(base, offset, bits / 8)?;
        self.record_atomic(insn, address, place);
        self.note_read(place, u64::from(bits / 8));
        let operand = self.low(src, bits);
        let old = self.shared_load(address, place, bits / 8);
        let expected = self.low(Register::R0, bits);
        let emit = &mut self.ir.emit;
        let new = match op {
            AtomicOp::Add { .. } => emit.binary(BinaryOp::Add, old, operand),
            AtomicOp::Or { .. } => emit.binary(BinaryOp::Or, old, operand),
            AtomicOp::And { .. } => emit.binary(BinaryOp::And, old, operand),
            AtomicOp::Xor { .. } => emit.binary(BinaryOp::Xor, old, operand),
            AtomicOp::Xchg => operand,
            AtomicOp::Cmpxchg => {
                let same = emit.eq(old, expected);
                emit.select(same, operand, old)
            }
        };
        emit.store(address, new);
        // The write destroys a pointer that was spilled at this address.
        self.state.store(place, bits / 8, AbstractValue::Unknown);
        if op.fetches() {
            let reg = if op == AtomicOp::Cmpxchg { Register::R0 } else { src };
            let old = self.ir.emit.zero_extend(old, 64);
            self.set(reg, old, AbstractValue::NotStack)?;
        }
        Ok(())
    }
}

/// Returns the number that represents the address of a map in the model. It is not zero, and lies
/// outside all packets and stacks.
pub(in crate::lift) fn map_handle(map: u32) -> u64 {
    0x4d41_5000_0000_0000 | u64::from(map) << 8
}
