//! Helpers that move the ends of the packet and copy its bytes (`net/core/filter.c`).
//!
//! How much room there is around the packet is an option, see [`crate::lift::PacketRoom`].

use slowpath_ir::{BinaryOp, Emit, InputKind, Operand};

use crate::errno::{EACCES, EFAULT, EINVAL};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::ir::emit::{errno, word};
use crate::lift::ir::start::METADATA;
use crate::lift::ir::start::{DATA, DATA_END, DATA_META};
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

/// Bytes of an Ethernet header: no packet gets shorter.
const ETH_HLEN: u64 = 14;
/// Largest offset and length that the kernel looks at (`bpf_xdp_pointer`).
const OFFSET_MAX: u64 = 0xffff;

/// Farther than any end of a packet can be moved: half of what 15 bits count.
const NEAR: u64 = 1 << 14;

/// Added to distances, so that none is negative: as far as no end gets from where the packet was.
const PLACES: u64 = 1 << 20;

/// How far an end is to be moved.
struct Distance {
    /// Sign-extended to 64 bits; right if `small` is set.
    value: Operand,
    /// Whether it is in the range of any packet.
    small: Operand,
}

impl Lifter<'_> {
    /// How many bytes the packet has, 64 bits.
    pub(super) fn packet_length(&mut self) -> Operand {
        let data = self.context_pointer(DATA);
        let end = self.context_pointer(DATA_END);
        self.ir.emit.sub(end, data)
    }

    /// The signed 32-bit distance in `r2`.
    fn distance(&mut self) -> Distance {
        if let AbstractValue::Const(value) = self.state.regs[2] {
            let value = i64::from(value as u32 as i32);
            let near = NEAR as i64;
            let small = (-near..near).contains(&value);
            let value = if small { value } else { 0 };
            return Distance {
                value: word(value as u64),
                small: Operand::constant(1, small.into()),
            };
        }
        let r2 = self.ir.value(2);
        let emit = &mut self.ir.emit;
        let given = emit.extract(r2, 0, 32);
        // Few bits less a constant, so that the engine sees that the sum with an address cannot
        // leave the packet's surroundings.
        let above = emit.add(given, Operand::constant(32, NEAR));
        let small = emit.ult(above, Operand::constant(32, 2 * NEAR));
        let low = emit.extract(above, 0, 15);
        let low = emit.zero_extend(low, 64);
        Distance { value: emit.sub(low, word(NEAR)), small }
    }

    /// How many bytes a distance appends, none if the call fails; `None` if it never appends any.
    fn growth(&mut self, distance: Operand, ok: Operand) -> Option<Operand> {
        let emit = &mut self.ir.emit;
        if let Operand::Const { value, .. } = distance {
            return ((value as i64) > 0).then(|| emit.select(ok, distance, word(0)));
        }
        // The bits below the sign: less than `NEAR`.
        let sign = emit.extract(distance, 63, 1);
        let bytes = emit.extract(distance, 0, NEAR.ilog2() as u8);
        let bytes = emit.zero_extend(bytes, 64);
        let grows = emit.select(sign, word(0), bytes);
        Some(emit.select(ok, grows, word(0)))
    }

    /// How far the head can move in front of the packet as it arrived, 64 bits.
    fn room_before(&mut self) -> Operand {
        let room = self.options.room;
        if room.tail.is_none() {
            return word(room.before);
        }
        let around = self.surroundings();
        let (mut low, high) = (u64::from(around.head_room.0), u64::from(around.head_room.1));
        if low == high {
            return word(low);
        }
        // Metadata is part of it: where the range does not say so, it is what comes in front of that.
        let metadata = u64::from(around.metadata.1) > low;
        low = if metadata { 0 } else { low };
        let (least, most) = (self.options.min_packet.into(), self.options.max_packet.into());
        let frame = self.frame();
        let ir = &mut self.ir;
        let limit = frame.saturating_sub(least).min(high).max(low);
        let input = ir.input("head room of the packet", 64, low, limit, InputKind::Unknown);
        let mut input = ir.emit.unknown_input(input, 64);
        if high > room.before {
            // As much as the packet leaves, or as is known, however long the packet is.
            let length = ir.input("packet length", 64, least, most, InputKind::PacketLength);
            let length = ir.emit.unknown_input(length, 64);
            let longest = word(frame.saturating_sub(low));
            let long = ir.emit.ult(longest, length);
            let length = ir.emit.select(long, longest, length);
            let left = ir.emit.sub(word(frame), length);
            let above = ir.emit.ult(left, input);
            input = ir.emit.select(above, left, input);
        }
        if metadata {
            let bytes = ir.metadata(around.words());
            return ir.emit.add(input, bytes);
        }
        input
    }

    /// Whether an address is inside of the room in front of the packet, behind `metadata` where there
    /// may be any.
    fn in_front(&mut self, address: Operand, metadata: Option<Operand>) -> Operand {
        let packet = self.received();
        let before = self.room_before();
        let (first, place) = match before {
            Operand::Const { .. } => (self.ir.emit.sub(packet, before), address),
            _ => (self.ir.emit.sub(word(PLACES), before), self.place(address)),
        };
        let first = metadata.map_or(first, |bytes| self.ir.emit.add(first, bytes));
        self.at_most(first, place)
    }

    /// An address as a number that does not depend on where the packet is: ranges tell more of it.
    fn place(&mut self, address: Operand) -> Operand {
        let packet = self.received();
        let behind = self.ir.emit.sub(address, packet);
        self.ir.emit.add(behind, word(PLACES))
    }

    /// Bytes that head room, packet and tail room have together.
    fn frame(&self) -> u64 {
        let room = self.options.room;
        room.before + room.tail.unwrap_or(0)
    }

    fn at_most(&mut self, a: Operand, b: Operand) -> Operand {
        let above = self.ir.emit.ult(b, a);
        self.ir.emit.not(above)
    }

    fn error_unless(&mut self, ok: Operand, number: i64) {
        let result = self.ir.emit.select(ok, word(0), errno(number));
        self.result(result, AbstractValue::NotStack);
    }
}

/// `bpf_xdp_adjust_head(ctx, delta)` (`bpf_xdp_adjust_head` of `net/core/filter.c`): metadata moves
/// along; the packet keeps an Ethernet header.
pub(super) fn adjust_head(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let Distance { value, small } = lifter.distance();
    let data = lifter.context_pointer(DATA);
    let end = lifter.context_pointer(DATA_END);
    let packet = lifter.received();
    let moved = lifter.ir.emit.add(data, value);
    let room = lifter.options.room;
    let meta = lifter.context_pointer(DATA_META);
    let length = lifter.ir.emit.sub(data, meta);
    let metadata = lifter.may_have_metadata().then_some(length);
    let inside = lifter.in_front(moved, metadata);
    let last = lifter.ir.emit.sub(end, word(ETH_HLEN));
    let rest = lifter.at_most(moved, last);
    let ok = lifter.ir.emit.and(inside, rest);
    let mut ok = lifter.ir.emit.and(ok, small);
    if let Some(cut) = room.cut {
        let farthest = lifter.ir.emit.add(packet, word(cut));
        let near = lifter.at_most(moved, farthest);
        ok = lifter.ir.emit.and(ok, near);
    }
    // A choice of two addresses, each of which is seen to be one.
    let meta_moved = lifter.ir.emit.add(meta, value);
    let meta_moved = lifter.ir.emit.select(ok, meta_moved, meta);
    if lifter.moves_metadata() {
        move_metadata(lifter, meta, length, meta_moved);
    }
    let data = lifter.ir.emit.select(ok, moved, data);
    let meta = meta_moved;
    lifter.set_context_pointer(DATA, data);
    lifter.set_context_pointer(DATA_META, meta);
    lifter.state.forget_packet();
    lifter.error_unless(ok, EINVAL);
    Ok(())
}

/// Moves `length` bytes of metadata, which come in words of 4 bytes.
fn move_metadata(lifter: &mut Lifter<'_>, meta: Operand, length: Operand, to: Operand) {
    let emit = &mut lifter.ir.emit;
    let offsets = || (0..METADATA).step_by(4);
    // All of it is read before any is written: the places overlap.
    let words: Vec<Operand> = offsets()
        .map(|offset| {
            let address = emit.add(meta, word(offset));
            emit.load(address, 4)
        })
        .collect();
    for (offset, value) in offsets().zip(words) {
        let address = emit.add(to, word(offset));
        let inside = emit.ult(word(offset), length);
        emit.store_if(inside, address, value);
    }
}

/// `bpf_xdp_adjust_tail(ctx, delta)`. Bytes that the packet grows by are zero.
pub(super) fn adjust_tail(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.in_one_piece(at);
    let Distance { value, small } = lifter.distance();
    let data = lifter.context_pointer(DATA);
    let end = lifter.context_pointer(DATA_END);
    let moved = lifter.ir.emit.add(end, value);
    let room = match lifter.options.room.tail {
        Some(_) => {
            let before = lifter.room_before();
            let frame = lifter.frame();
            let (last, place) = match before {
                Operand::Const { value, .. } => {
                    let packet = lifter.received();
                    let behind = frame.saturating_sub(value);
                    (lifter.ir.emit.add(packet, word(behind)), moved)
                }
                _ => (lifter.ir.emit.sub(word(frame + PLACES), before), lifter.place(moved)),
            };
            lifter.at_most(place, last)
        }
        None => lifter.ir.emit.ult(moved, end),
    };
    let least = lifter.ir.emit.add(data, word(ETH_HLEN));
    let rest = lifter.at_most(least, moved);
    let ok = lifter.ir.emit.and(room, rest);
    let ok = lifter.ir.emit.and(ok, small);
    if lifter.options.room.tail.is_some()
        && let Some(bytes) = lifter.growth(value, ok)
    {
        lifter.ir.emit.clear(end, bytes);
    }
    let end = lifter.ir.emit.select(ok, moved, end);
    lifter.set_context_pointer(DATA_END, end);
    lifter.state.forget_packet();
    lifter.error_unless(ok, EINVAL);
    Ok(())
}

/// `bpf_xdp_adjust_meta(ctx, delta)` (`net/core/filter.c`): metadata has whole words, and at most
/// [`METADATA`] bytes (`xdp_metalen_invalid` of `include/net/xdp.h`).
pub(super) fn adjust_meta(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let Distance { value, small } = lifter.distance();
    let data = lifter.context_pointer(DATA);
    let meta = lifter.context_pointer(DATA_META);
    let moved = lifter.ir.emit.add(meta, value);
    let room = lifter.in_front(moved, None);
    let before = lifter.at_most(moved, data);
    // `-EINVAL` where the new start is outside of the room, `-EACCES` where the size is wrong: the
    // kernel looks at the room first.
    let inside = lifter.ir.emit.and(room, before);
    let inside = lifter.ir.emit.and(inside, small);
    let length = lifter.ir.emit.sub(data, moved);
    let short = lifter.at_most(length, word(METADATA));
    let odd = lifter.ir.emit.and(length, word(3));
    let aligned = lifter.ir.emit.eq(odd, word(0));
    let valid = lifter.ir.emit.and(short, aligned);
    let ok = lifter.ir.emit.and(inside, valid);
    let meta = lifter.ir.emit.select(ok, moved, meta);
    lifter.set_context_pointer(DATA_META, meta);
    let error = lifter.ir.emit.select(inside, errno(EACCES), errno(EINVAL));
    let result = lifter.ir.emit.select(ok, word(0), error);
    lifter.state.forget_packet();
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// `bpf_xdp_get_buff_len(ctx)`: of packets in one piece.
pub(super) fn length(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.in_one_piece(at);
    let length = lifter.packet_length();
    lifter.result(length, AbstractValue::NotStack);
    Ok(())
}

/// Where in the packet `r2` and a length lead, and the error if that is not inside.
fn span(lifter: &mut Lifter<'_>, bytes: Operand) -> (Operand, Operand) {
    let data = lifter.context_pointer(DATA);
    let end = lifter.context_pointer(DATA_END);
    let r2 = lifter.ir.value(2);
    let emit = &mut lifter.ir.emit;
    let offset = emit.extract(r2, 0, 32);
    let offset = emit.zero_extend(offset, 64);
    let address = emit.binary(BinaryOp::Add, data, offset);
    let length = emit.sub(end, data);
    let behind = emit.binary(BinaryOp::Add, offset, bytes);
    let inside = lifter.at_most(behind, length);
    let near = lifter.at_most(offset, word(OFFSET_MAX));
    let emit = &mut lifter.ir.emit;
    // `bpf_xdp_pointer` looks at the offset before anything else.
    let error = emit.select(inside, word(0), errno(EINVAL));
    (address, emit.select(near, error, errno(EFAULT)))
}

/// Copies bytes between the packet and the buffer in `r3`; their number in `r4` is a constant, or
/// bounded by the buffer. `direction` puts the places in packet and buffer in order: from, to.
fn transfer(
    lifter: &mut Lifter<'_>,
    direction: impl Fn(Operand, Operand) -> (Operand, Operand),
) -> Result<(), Cause> {
    /// Bytes that are looked at one by one.
    const SINGLE: u32 = 256;
    let buffer = lifter.ir.value(3);
    let error = match lifter.constant_size(4) {
        Ok(bytes) => {
            let (address, error) = span(lifter, word(bytes.into()));
            let ok = lifter.ir.emit.eq(error, word(0));
            let (from, to) = direction(address, buffer);
            lifter.copy_if(ok, to, from, bytes);
            error
        }
        Err(cause) => {
            let most = lifter.room_at(3).filter(|&most| most <= SINGLE).ok_or(cause)?;
            let bytes = lifter.ir.value(4);
            let (address, error) = span(lifter, bytes);
            let ok = lifter.ir.emit.eq(error, word(0));
            let (from, to) = direction(address, buffer);
            for offset in 0..u64::from(most) {
                let emit = &mut lifter.ir.emit;
                let inside = emit.ult(word(offset), bytes);
                let inside = emit.and(ok, inside);
                let source = emit.add(from, word(offset));
                let value = emit.load(source, 1);
                let destination = emit.add(to, word(offset));
                emit.store_if(inside, destination, value);
            }
            error
        }
    };
    lifter.result(error, AbstractValue::NotStack);
    Ok(())
}

/// `bpf_xdp_load_bytes(ctx, offset, buf, len)`.
pub(super) fn load_bytes(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.in_one_piece(at);
    let known = lifter.state.regs[3];
    transfer(lifter, |packet, buffer| (packet, buffer))?;
    lifter.state.clobber(known);
    Ok(())
}

/// `bpf_xdp_store_bytes(ctx, offset, buf, len)`.
pub(super) fn store_bytes(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.in_one_piece(at);
    transfer(lifter, |packet, buffer| (buffer, packet))
}
