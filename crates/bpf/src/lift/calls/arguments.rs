//! Handles the tasks that all calls of helpers and of kernel functions share: adding costs, and
//! finding the sizes of buffers that arguments point to.

use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;
use crate::maps::MapKind;
use slowpath_codes as codes;
use slowpath_ir::Operand;

/// Maximum size in bytes of a buffer that a program passes to a call. It is limited because the
/// lifted program needs an operation for every 8 bytes.
const LARGEST: u32 = 4096;
/// Size of a stack frame in bytes (`MAX_BPF_STACK`).
const FRAME_SIZE: u32 = 512;

/// Size in bytes of a buffer, as passed in an argument register of a call.
#[derive(Clone, Copy)]
pub(in crate::lift) enum ArgumentSize {
    Constant(u32),
    /// The size is known only at run time: the operand contains it, and the number is its maximum.
    UpTo(Operand, u32),
    /// As `UpTo`, but the maximum is too large for copying the bytes one by one.
    Large(Operand, u32),
}

impl ArgumentSize {
    /// Returns the size as an operand of 64 bits.
    pub fn operand(self) -> Operand {
        match self {
            ArgumentSize::Constant(bytes) => word(bytes.into()),
            ArgumentSize::UpTo(bytes, _) | ArgumentSize::Large(bytes, _) => bytes,
        }
    }
}

impl Lifter<'_> {
    /// Records the memory that a call may read or write through its arguments.
    pub(in crate::lift) fn note_arguments(&mut self) {
        for number in 1..6 {
            self.note_pointer(self.state.regs[number]);
        }
    }

    /// Adds the cost of a call, and returns the name of the called helper. This name and the type
    /// of `map`, if any, form the cost class.
    pub(in crate::lift) fn call_cost(&mut self, at: ProgramPoint, map: Option<MapKind>) -> String {
        let name = self.code.called(self.unit(at), at.slot);
        let short = name.strip_prefix("bpf_").unwrap_or(&name).to_owned();
        let class = match map {
            Some(kind) => format!("call.{short}.{kind}"),
            None => format!("call.{short}"),
        };
        self.cost(at, &class);
        name
    }

    /// Returns the number of bytes from the address in an argument register to the end of the stack
    /// frame or map value. Returns `None` if the address is unknown. The verifier checks that the
    /// helper accesses no bytes after this end.
    pub(in crate::lift) fn room_at(&self, register: u8) -> Option<u32> {
        let value = |map: u32| self.object.maps.get(map as usize).map(|map| map.value_size);
        match self.state.regs[usize::from(register)] {
            AbstractValue::Const(0) => Some(0),
            AbstractValue::Frame { offset: Some(offset), .. } => u32::try_from(-offset).ok(),
            AbstractValue::Data { map, offset: Some(offset) }
            | AbstractValue::MapValue { map, offset: Some(offset), .. } => {
                value(map)?.checked_sub(u32::try_from(offset).ok()?)
            }
            _ => None,
        }
    }

    /// Returns an upper bound on the number of bytes from the address in an argument register to the
    /// end of the stack frame or map value; `None` if the memory is unknown and has no known limit.
    fn most_room_at(&self, register: u8) -> Option<u32> {
        let value = |map: u32| self.object.maps.get(map as usize).map(|map| map.value_size);
        match self.state.regs[usize::from(register)] {
            AbstractValue::Frame { offset: None, .. } => Some(FRAME_SIZE),
            AbstractValue::Data { map, offset: None }
            | AbstractValue::MapValue { map, offset: None, .. } => value(map),
            AbstractValue::Unknown | AbstractValue::NotStack | AbstractValue::MaybeMapValue => {
                self.largest_buffer()
            }
            _ => self.room_at(register),
        }
    }

    /// Returns the largest number of bytes behind any argument of a helper that the verifier
    /// accepts: in a stack frame, or in a key or value of a map that the program uses. Returns
    /// `None` if the program can have records of a ring buffer, which have any size.
    ///
    /// Source: `check_helper_mem_access` of `kernel/bpf/verifier.c`. The helpers that copy packet
    /// bytes take no addresses in the packet, because they do not set `pkt_access`.
    fn largest_buffer(&self) -> Option<u32> {
        let mut largest = FRAME_SIZE;
        for number in self.code.maps_and_variables(self.unit(self.at)) {
            let map = self.object.maps.get(number as usize)?;
            for map in [Some(map), map.inner.as_deref()].into_iter().flatten() {
                if matches!(map.kind, MapKind::RINGBUF | MapKind::USER_RINGBUF) {
                    return None;
                }
                largest = largest.max(map.key_size).max(map.value_size);
            }
        }
        Some(largest)
    }

    /// Returns the size in argument register `register`, for the buffer to which register `buffer`
    /// points. A variable size is limited by the buffer. If the buffer has at most `single` bytes,
    /// callers copy single bytes ([`ArgumentSize::UpTo`]).
    ///
    /// # Errors
    /// If the size is variable, and the buffer is unknown or too large.
    pub(in crate::lift) fn argument_size(
        &mut self,
        register: u8,
        buffer: u8,
        single: u32,
    ) -> Result<ArgumentSize, Cause> {
        let cause = match self.constant_size(register) {
            Ok(bytes) => return Ok(ArgumentSize::Constant(bytes)),
            Err(cause) => cause,
        };
        let size = self.ir.value(register);
        match self.room_at(buffer) {
            Some(room) if room <= single => Ok(ArgumentSize::UpTo(size, room)),
            _ => match self.most_room_at(buffer) {
                Some(room) if room <= LARGEST => Ok(ArgumentSize::Large(size, room)),
                _ => Err(cause),
            },
        }
    }

    /// Returns the constant size that an argument register contains. Fails if the size is not a
    /// constant, or is too large.
    pub(in crate::lift) fn constant_size(&self, register: u8) -> Result<u32, Cause> {
        match self.state.regs[usize::from(register)] {
            AbstractValue::Const(size) if size <= LARGEST.into() => Ok(size as u32),
            AbstractValue::Const(size) => {
                let text = format!("a size of {size} bytes in r{register}");
                Err(Cause::new(
                    codes::UNSUPPORTED_ARGUMENT_SIZE,
                    text,
                    format!("slowpath supports sizes up to {LARGEST}"),
                ))
            }
            _ => {
                let text = format!("the size in r{register} is not a constant");
                Err(Cause::new(
                    codes::UNSUPPORTED_ARGUMENT_SIZE,
                    text,
                    format!(
                        "sizes that depend on the packet are supported for buffers of at most \
                         {LARGEST} bytes on the stack or in a map"
                    ),
                ))
            }
        }
    }
}
