//! Lifts the helpers for ring buffers (`kernel/bpf/ringbuf.c`). The fill level is unknown, because
//! it depends on the reader in user space. Records larger than the ring never fit.

use slowpath_codes as codes;
use slowpath_ir::{BinaryOp, Emit, InputKind, Operand, ValueFormat};

use crate::errno::{EAGAIN, EINVAL};
use crate::lift::error::{Cause, VERIFIER};
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::call_results::RETURNED;
use crate::lift::ir::emit::{errno, word};
use crate::lift::lifter::Lifter;
use crate::lift::maps::operand::MapOperand;
use crate::lift::state::value::AbstractValue;
use crate::maps::MapKind;

impl Lifter<'_> {
    fn ring(&mut self) -> Result<MapOperand, Cause> {
        let map = self.map_in(1)?;
        if map.def.kind == MapKind::RINGBUF {
            return Ok(map);
        }
        Err(Cause::new(
            codes::REJECTED_BY_VERIFIER,
            format!("{} is not a ring buffer", map.def.name),
            VERIFIER,
        ))
    }

    /// Returns the size of a ring in bytes. It is a power of two and at least one page; the page
    /// size depends on the machine.
    fn ring_size(&mut self, map: &MapOperand) -> Operand {
        /// Binary logarithms of the smallest and of the largest page size.
        const PAGES: (u32, u32) = (12, 16);
        /// Binary logarithm of the maximum ring size (`RINGBUF_MAX_DATA_SZ` of 64-bit machines).
        const LARGEST: u32 = 36;
        let least = match map.def.max_entries {
            0 => 0,
            bytes => u64::from(bytes).next_power_of_two().trailing_zeros(),
        };
        let (least, most) = match least {
            0 => (PAGES.0, LARGEST),
            _ => (least.max(PAGES.0), least.max(PAGES.1)),
        };
        if least == most {
            return word(1 << least);
        }
        let name = format!("binary logarithm of the size of {}", map.def.name);
        let (min, max) = (least.into(), most.into());
        let exponent = self.ir.input(&name, 64, min, max, InputKind::Unknown);
        let exponent = self.ir.emit.unknown_input(exponent, 64);
        self.ir.emit.binary(BinaryOp::Shl, word(1), exponent)
    }

    /// Returns a 1-bit operand that is set if the ring has no room for a record of `size` bytes
    /// (`__bpf_ringbuf_reserve`).
    fn no_room_for(&mut self, map: &MapOperand, size: Operand) -> Operand {
        /// Largest page size in bytes; loaders round rings up to a page.
        const LARGEST_PAGE: u64 = 1 << 16;
        /// Number of bytes that a record needs besides its content: its header, and one word that
        /// always stays free.
        const OVERHEAD: u64 = 16;
        let room = format!("room in {}", map.def.name);
        let full = self.ir.emit.unknown_bit(&room, &["yes", "no"]);
        if map.def.max_entries == 0 {
            return full;
        }
        let ring = u64::from(map.def.max_entries).next_power_of_two().max(LARGEST_PAGE);
        let emit = &mut self.ir.emit;
        let too_large = emit.ult(word(ring - OVERHEAD), size);
        emit.or(full, too_large)
    }
}

/// Lifts `bpf_ringbuf_query(map, flags)`. The result is the size of the ring, or a position or fill
/// level. Positions and fill levels are unknown because the reader and other CPUs change them.
pub(super) fn query(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// `BPF_RB_AVAIL_DATA`: asks for the number of unread bytes.
    const AVAIL_DATA: u64 = 0;
    /// `BPF_RB_RING_SIZE`: asks for the size of the ring.
    const RING_SIZE: u64 = 1;
    /// `BPF_RB_CONS_POS` and `BPF_RB_PROD_POS`: ask for the positions of consumer and producer.
    const POSITIONS: [u64; 2] = [2, 3];
    let map = lifter.ring()?;
    lifter.call_cost(at, None);
    let flags = lifter.ir.value(2);
    let size = lifter.ring_size(&map);
    let emit = &mut lifter.ir.emit;
    let any = emit.draw(RETURNED, ValueFormat::Number, 64, u64::MAX);
    let too_large = emit.ult(size, any);
    let data = emit.select(too_large, size, any);
    let mut result = word(0);
    for position in POSITIONS {
        let queried = emit.eq(flags, word(position));
        result = emit.select(queried, any, result);
    }
    for (flag, value) in [(RING_SIZE, size), (AVAIL_DATA, data)] {
        let queried = emit.eq(flags, word(flag));
        result = emit.select(queried, value, result);
    }
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_ringbuf_reserve(map, size, flags)`, which returns null, or a record with unknown
/// content.
pub(super) fn reserve(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// Binary logarithm of the distance between modelled records. The distance exceeds the size of
    /// the largest record of the kernel.
    const RECORD_BITS: u64 = 26;
    let map = lifter.ring()?;
    lifter.call_cost(at, None);
    let (size, flags) = (lifter.ir.value(2), lifter.ir.value(3));
    let count = lifter.ir.start_zero(&format!("{}.records", map.def.name), 16);
    let address = lifter.ir.item(map.layout.values, count, RECORD_BITS);
    let no_room = lifter.no_room_for(&map, size);
    let emit = &mut lifter.ir.emit;
    let none = emit.eq(flags, word(0));
    let wrong = emit.not(none);
    let fails = emit.or(no_room, wrong);
    let record = emit.select(fails, word(0), address);
    lifter.result(record, AbstractValue::NotStack);
    let next = lifter.ir.emit.add(count, Operand::constant(16, 1));
    lifter.ir.emit.copy(count, next);
    Ok(())
}

/// Lifts `bpf_ringbuf_output(map, data, size, flags)`, which returns 0, or an error if the ring is
/// full or the flags are invalid.
pub(super) fn output(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// The flags that the helper accepts: `BPF_RB_NO_WAKEUP` and `BPF_RB_FORCE_WAKEUP`.
    const FLAGS: u64 = 3;
    let map = lifter.ring()?;
    lifter.call_cost(at, None);
    let (size, flags) = (lifter.ir.value(3), lifter.ir.value(4));
    let no_room = lifter.no_room_for(&map, size);
    let emit = &mut lifter.ir.emit;
    let wrong = emit.ult(word(FLAGS), flags);
    let error = emit.select(no_room, errno(EAGAIN), word(0));
    let error = emit.select(wrong, errno(EINVAL), error);
    lifter.result(error, AbstractValue::NotStack);
    Ok(())
}
