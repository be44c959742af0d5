//! Ring buffers (`kernel/bpf/ringbuf.c`). How full one is is up to who reads it; what is larger than
//! it never fits.

use slowpath_ir::{BinaryOp, Emit, InputKind, Operand, Reading};

use crate::errno::{EAGAIN, EINVAL};
use crate::lift::error::{Cause, VERIFIER};
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::outcome::RETURNED;
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
        Err(Cause::new(format!("{} is no ring buffer", map.def.name), VERIFIER))
    }

    /// How many bytes a ring has: a power of two, and no less than a page, whose size is the machine's.
    fn ring_size(&mut self, map: &MapOperand) -> Operand {
        /// The exponents of sizes of pages.
        const PAGES: (u32, u32) = (12, 16);
        /// No ring is larger (`RINGBUF_MAX_DATA_SZ` of 64-bit machines).
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

    /// Whether there is no room for a record of so many bytes (`__bpf_ringbuf_reserve`).
    fn no_room_for(&mut self, map: &MapOperand, size: Operand) -> Operand {
        /// Loaders make rings as large as a page, whose size is the machine's.
        const LARGEST_PAGE: u64 = 1 << 16;
        /// Bytes that a record has beside its content: its header, and one word always stays free.
        const MORE: u64 = 16;
        let room = format!("room in {}", map.def.name);
        let full = self.ir.emit.coin(&room, &["yes", "no"]);
        if map.def.max_entries == 0 {
            return full;
        }
        let ring = u64::from(map.def.max_entries).next_power_of_two().max(LARGEST_PAGE);
        let emit = &mut self.ir.emit;
        let too_large = emit.ult(word(ring - MORE), size);
        emit.or(full, too_large)
    }
}

/// `bpf_ringbuf_query(map, flags)`: what a reader and other CPUs change is anything; the size is not.
pub(super) fn query(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// `BPF_RB_AVAIL_DATA` and `BPF_RB_RING_SIZE`; behind them the positions of reader and writers.
    const AVAIL_DATA: u64 = 0;
    const RING_SIZE: u64 = 1;
    const POSITIONS: [u64; 2] = [2, 3];
    let map = lifter.ring()?;
    lifter.call_cost(at, None);
    let flags = lifter.ir.value(2);
    let size = lifter.ring_size(&map);
    let emit = &mut lifter.ir.emit;
    let any = emit.draw(RETURNED, Reading::Number, 64, u64::MAX);
    let more = emit.ult(size, any);
    let data = emit.select(more, size, any);
    let mut result = word(0);
    for position in POSITIONS {
        let this = emit.eq(flags, word(position));
        result = emit.select(this, any, result);
    }
    for (what, value) in [(RING_SIZE, size), (AVAIL_DATA, data)] {
        let this = emit.eq(flags, word(what));
        result = emit.select(this, value, result);
    }
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// `bpf_ringbuf_reserve(map, size, flags)`: null, or room for a record with any content.
pub(super) fn reserve(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// Distance between records: more than the kernel hands out at once.
    const RECORD_BITS: u64 = 26;
    let map = lifter.ring()?;
    lifter.call_cost(at, None);
    let (size, flags) = (lifter.ir.value(2), lifter.ir.value(3));
    let base = lifter.ir.base(map.layout.values);
    let count = lifter.ir.start_zero(&format!("{}.records", map.def.name), 16);
    let emit = &mut lifter.ir.emit;
    let number = emit.zero_extend(count, 64);
    let offset = emit.binary(BinaryOp::Shl, number, word(RECORD_BITS));
    let address = emit.add(base, offset);
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

/// `bpf_ringbuf_output(map, data, size, flags)`: 0, or an error for want of room or for flags.
pub(super) fn output(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// `BPF_RB_NO_WAKEUP` and `BPF_RB_FORCE_WAKEUP`.
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
