//! Lifts the helpers that move the start or end of the packet or copy its bytes
//! (`net/core/filter.c`).
//!
//! The head room and tail room, which limit these moves, come from the options; see
//! [`crate::lift::Receive`].

use slowpath_ir::{BinaryOp, Emit, InputKind, Operand, ValueFormat};

use crate::context::Content;
use crate::errno::{EACCES, EFAULT, EINVAL, ENOTSUPP};
use crate::lift::bytes::{ConditionalCopy, Otherwise};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::ir::emit::{errno, word};
use crate::lift::ir::start::METADATA;
use crate::lift::lifter::Lifter;
use crate::lift::receive::{
    self, HEAD_ROOM, METADATA_SUPPORT, METADATA_WORDS, TAIL_ROOM, TailRoom,
};
use crate::lift::state::value::AbstractValue;

/// Size of an Ethernet header in bytes, the minimum length of a packet.
const ETH_HLEN: u64 = receive::ETH_HLEN as u64;
/// Maximum length of a packet in bytes.
const LONGEST: u64 = u16::MAX as u64;
/// Largest offset and length that the kernel accepts (`bpf_xdp_pointer`).
const OFFSET_MAX: u64 = 0xffff;

/// Upper bound on the distance by which one call can move the start or end of a packet: half the
/// range of [`NEAR_BITS`] bits.
const NEAR: u64 = 1 << (NEAR_BITS - 1);
const NEAR_BITS: u8 = 18;

/// Number that is added to offsets from the start of the received packet, to make them positive.
/// Neither the start nor the end of the packet can move this far.
const PLACES: u64 = 1 << 20;

/// Name of the register for the head room of a packet that was sent to another device. The register
/// contains the number of bytes plus one, or 0 if the packet was not sent.
const SENT_HEAD: &str = "head room behind the network, plus one";
/// Name of the register for the tail room of a packet that was sent to another device. The register
/// contains the number of bytes plus one, or 0 if the packet was not sent.
const SENT_TAIL: &str = "tail room behind the network, plus one";
/// Name of the register for the length of a packet that was sent to another device. The register
/// contains the number of bytes plus one, or 0 if the packet was not sent.
const SENT_LENGTH: &str = "length behind the network, plus one";

/// The distance by which a call asks to move the start or end of the packet.
struct Distance {
    /// Distance, sign-extended to 64 bits; meaningless unless `small` is set.
    value: Operand,
    /// Condition that a packet's start or end can move this far at all, as a 1-bit operand.
    small: Operand,
}

impl Lifter<'_> {
    /// Returns the length of the packet in bytes, as a 64-bit number.
    pub(in crate::lift) fn packet_length(&mut self) -> Operand {
        if let Some(field) = self.program_type.length() {
            let address = self.context_address(field);
            let length = self.ir.emit.load(address, 4);
            return self.ir.emit.zero_extend(length, 64);
        }
        let data = self.context_pointer(Content::PacketStart);
        let end = self.context_pointer(Content::PacketEnd);
        self.ir.emit.sub(end, data)
    }

    /// Returns the distance that the program passes in `r2`, a signed 32-bit number.
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
        let requested = emit.extract(r2, 0, 32);
        // Compute the distance as a value of few bits minus a constant, so that the engine sees
        // that the distance plus an address stays close to the packet.
        let above = emit.add(requested, Operand::constant(32, NEAR));
        let small = emit.ult(above, Operand::constant(32, 2 * NEAR));
        let low = emit.extract(above, 0, NEAR_BITS);
        let low = emit.zero_extend(low, 64);
        Distance { value: emit.sub(low, word(NEAR)), small }
    }

    /// Returns the number of bytes that a move of the packet's end by `distance` appends. The
    /// number is zero if the call fails (`ok` is not set). Returns `None` if the move cannot append
    /// bytes.
    fn growth(&mut self, distance: Operand, ok: Operand) -> Option<Operand> {
        let emit = &mut self.ir.emit;
        if let Operand::Const { value, .. } = distance {
            return ((value as i64) > 0).then(|| emit.select(ok, distance, word(0)));
        }
        // The bits below the sign bit are a number less than `NEAR`.
        let sign = emit.extract(distance, 63, 1);
        let bytes = emit.extract(distance, 0, NEAR.ilog2() as u8);
        let bytes = emit.zero_extend(bytes, 64);
        let grows = emit.select(sign, word(0), bytes);
        Some(emit.select(ok, grows, word(0)))
    }

    /// Returns the head room on the current device: the number of bytes in front of the packet when
    /// it arrived there.
    fn room_before(&mut self) -> Operand {
        let before = self.room_before_first();
        self.since_sent(SENT_HEAD, before)
    }

    /// Returns the head room, in bytes, on the first device that received the packet.
    fn room_before_first(&mut self) -> Operand {
        let receive = self.options.receive;
        let environment = self.packet_environment();
        let (mut low, high) =
            (u64::from(environment.head_room.0), u64::from(environment.head_room.1));
        if low == high {
            return word(low);
        }
        // Head room includes metadata. If the range does not guarantee this, the input is the room
        // before the metadata.
        let metadata = u64::from(environment.metadata.1) > low;
        low = if metadata { 0 } else { low };
        let input = match receive.tail {
            TailRoom::Buffer(bytes) => {
                // The packet's length and the known range limit the room.
                let (least, most) = (receive.length.0.into(), u64::from(receive.length.1));
                let buffer = u64::from(bytes);
                let limit = buffer.saturating_sub(least).min(high).max(low);
                let ir = &mut self.ir;
                let input = ir.input(HEAD_ROOM, 64, low, limit, InputKind::Unknown);
                let input = ir.emit.unknown_input(input, 64);
                if high + most <= buffer {
                    input
                } else {
                    let length = self.length_first();
                    let longest = word(buffer.saturating_sub(low));
                    let emit = &mut self.ir.emit;
                    let long = emit.ult(longest, length);
                    let length = emit.select(long, longest, length);
                    let room = emit.sub(word(buffer), length);
                    let above = emit.ult(room, input);
                    emit.select(above, room, input)
                }
            }
            TailRoom::Bytes(..) | TailRoom::TrimOnly => {
                let ir = &mut self.ir;
                let input = ir.input(HEAD_ROOM, 64, low, high, InputKind::Unknown);
                ir.emit.unknown_input(input, 64)
            }
        };
        if metadata {
            let bytes = self.ir.metadata(environment.words());
            return self.ir.emit.add(input, bytes);
        }
        input
    }

    /// Returns the length in bytes that the packet had on the first device that received it.
    fn length_first(&mut self) -> Operand {
        let (least, most) = self.options.receive.length;
        let ir = &mut self.ir;
        let kind = InputKind::PacketLength;
        let length = ir.input("packet length", 64, least.into(), most.into(), kind);
        ir.emit.unknown_input(length, 64)
    }

    /// Returns the tail room on the current device: the number of bytes behind the packet when it
    /// arrived there.
    fn room_behind(&mut self) -> Operand {
        let behind = match self.options.receive.tail {
            TailRoom::TrimOnly => word(0),
            TailRoom::Bytes(least, most) if least == most => word(least.into()),
            TailRoom::Bytes(least, most) => {
                let ir = &mut self.ir;
                let kind = InputKind::Unknown;
                let input = ir.input(TAIL_ROOM, 64, least.into(), most.into(), kind);
                ir.emit.unknown_input(input, 64)
            }
            TailRoom::Buffer(bytes) => {
                let (before, length) = (self.room_before_first(), self.length_first());
                self.left(bytes, before, length)
            }
        };
        self.since_sent(SENT_TAIL, behind)
    }

    /// Returns the number of bytes after the packet in a buffer of `buffer` bytes. `before` is the
    /// number of bytes before the packet, and `length` its length.
    fn left(&mut self, buffer: u16, before: Operand, length: Operand) -> Operand {
        let emit = &mut self.ir.emit;
        let taken = emit.add(before, length);
        let room = emit.sub(word(buffer.into()), taken);
        let full = emit.ult(word(buffer.into()), taken);
        emit.select(full, word(0), room)
    }

    /// Returns the value of a quantity, such as the head room, on the current device. If the packet
    /// was sent to this device, the register `name` contains the value plus one. Otherwise the
    /// value is `first`.
    fn since_sent(&mut self, name: &str, first: Operand) -> Operand {
        if !self.rooms_differ() {
            return first;
        }
        let sent = self.ir.start_zero(name, 64);
        let emit = &mut self.ir.emit;
        let never = emit.eq(sent, word(0));
        let number = emit.sub(sent, word(1));
        emit.select(never, first, number)
    }

    /// Returns true if a packet that is sent to another device may have different head or tail room
    /// there than on the first device.
    fn rooms_differ(&self) -> bool {
        let (first, after) = (self.options.receive, self.options.receive_after_network);
        let fixed = after.head.0 == after.head.1 && matches!(after.tail, TailRoom::Buffer(_));
        let same = fixed && (after.head, after.tail) == (first.head, first.tail);
        self.is_sent() && !same
    }

    /// Models the arrival of a packet that was sent to another device: its new buffer, and unknown
    /// metadata if the receiving device may add some.
    pub(in crate::lift) fn place_sent(&mut self) {
        let receive = self.options.receive_after_network;
        let data = self.context_pointer(Content::PacketStart);
        let end = self.context_pointer(Content::PacketEnd);
        let words = receive.packet_environment().words();
        let metadata = match words {
            (least, most) if least == most => word(4 * most),
            (least, most) => {
                let kind = ValueFormat::Number;
                let words = self.ir.emit.draw_between(METADATA_WORDS, kind, 6, (least, most));
                let words = self.ir.emit.zero_extend(words, 64);
                self.ir.emit.binary(BinaryOp::Shl, words, word(2))
            }
        };
        let meta = match metadata {
            Operand::Const { value: 0, .. } => data,
            bytes => self.ir.emit.sub(data, bytes),
        };
        let meta = if receive.supports_metadata {
            meta
        } else {
            let supported = self.ir.emit.unknown_bit(METADATA_SUPPORT, &["no", "yes"]);
            let behind = self.ir.emit.add(data, word(1));
            self.ir.emit.select(supported, meta, behind)
        };
        self.set_context_pointer(Content::Metadata, meta);
        if !self.rooms_differ() {
            return;
        }
        let (low, high) = (u64::from(receive.head.0), u64::from(receive.head.1));
        let before = if low == high {
            word(low)
        } else if u64::from(receive.metadata.1) > low {
            let room = self.ir.emit.draw_between(HEAD_ROOM, ValueFormat::Number, 64, (0, high));
            self.ir.emit.add(room, metadata)
        } else {
            self.ir.emit.draw_between(HEAD_ROOM, ValueFormat::Number, 64, (low, high))
        };
        let length = self.ir.emit.sub(end, data);
        let behind = match receive.tail {
            TailRoom::TrimOnly => word(0),
            TailRoom::Bytes(least, most) => {
                let range = (least.into(), most.into());
                self.ir.emit.draw_between(TAIL_ROOM, ValueFormat::Number, 64, range)
            }
            TailRoom::Buffer(bytes) => self.left(bytes, before, length),
        };
        for (name, number) in [(SENT_HEAD, before), (SENT_TAIL, behind), (SENT_LENGTH, length)] {
            let register = self.ir.start_zero(name, 64);
            let number = self.ir.emit.add(number, word(1));
            self.ir.emit.copy(register, number);
        }
    }

    /// Returns a 1-bit operand that is set if an address is in the head room. If `metadata` is
    /// given, the address must leave room for this number of bytes in front of it.
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

    /// Returns the length of the metadata in bytes (`xdp_get_metalen` of `include/net/xdp.h`).
    /// `data` is the start of the packet, and `meta` the start of the metadata.
    fn metadata_length(&mut self, data: Operand, meta: Operand) -> Operand {
        let length = self.ir.emit.sub(data, meta);
        if self.supports_metadata() {
            return length;
        }
        let unsupported = self.ir.emit.ult(data, meta);
        self.ir.emit.select(unsupported, word(0), length)
    }

    /// Returns true if the drivers of all devices that receive the packet support metadata.
    fn supports_metadata(&self) -> bool {
        let others = !self.is_sent() || self.options.receive_after_network.supports_metadata;
        self.options.receive.supports_metadata && others
    }

    /// Returns the offset of an address from the start of the received packet, plus [`PLACES`].
    /// Offsets have more precise ranges than addresses.
    fn place(&mut self, address: Operand) -> Operand {
        let packet = self.received();
        let behind = self.ir.emit.sub(address, packet);
        self.ir.emit.add(behind, word(PLACES))
    }

    pub(super) fn at_most(&mut self, a: Operand, b: Operand) -> Operand {
        let above = self.ir.emit.ult(b, a);
        self.ir.emit.not(above)
    }

    fn error_unless(&mut self, ok: Operand, number: i64) {
        let result = self.ir.emit.select(ok, word(0), errno(number));
        self.result(result, AbstractValue::NotStack);
    }
}

/// Lifts `bpf_xdp_adjust_head(ctx, delta)`. Metadata moves with the head; the packet keeps at least
/// an Ethernet header.
pub(super) fn adjust_head(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let Distance { value, small } = lifter.distance();
    let data = lifter.context_pointer(Content::PacketStart);
    let end = lifter.context_pointer(Content::PacketEnd);
    let packet = lifter.received();
    let moved = lifter.ir.emit.add(data, value);
    let receive = lifter.options.receive;
    let meta = lifter.context_pointer(Content::Metadata);
    let length = lifter.metadata_length(data, meta);
    let metadata = lifter.may_have_metadata().then_some(length);
    let bounded = matches!(receive.tail, TailRoom::Buffer(_) | TailRoom::TrimOnly);
    let outwards = !matches!(value, Operand::Const { value, .. } if value as i64 >= 0);
    // A move towards the tail needs no check: all drivers reserve room for `struct xdp_frame`.
    let mut inside = Operand::constant(1, 1);
    if bounded || outwards {
        inside = lifter.in_front(moved, metadata);
    }
    if !bounded && outwards {
        let longer = lifter.ir.emit.sub(end, moved);
        let short = lifter.at_most(longer, word(LONGEST));
        inside = lifter.ir.emit.and(inside, short);
    }
    let last = lifter.ir.emit.sub(end, word(ETH_HLEN));
    let rest = lifter.at_most(moved, last);
    let ok = lifter.ir.emit.and(inside, rest);
    let mut ok = lifter.ir.emit.and(ok, small);
    if let Some(max_trim) = receive.max_head_trim {
        let farthest = lifter.ir.emit.add(packet, word(max_trim.into()));
        let near = lifter.at_most(moved, farthest);
        ok = lifter.ir.emit.and(ok, near);
    }
    // The engine recognises a selection between two addresses as an address.
    let meta_moved = lifter.ir.emit.add(meta, value);
    let meta_moved = lifter.ir.emit.select(ok, meta_moved, meta);
    if lifter.moves_metadata() {
        move_metadata(lifter, meta, length, meta_moved);
    }
    let data = lifter.ir.emit.select(ok, moved, data);
    let meta = meta_moved;
    lifter.set_context_pointer(Content::PacketStart, data);
    lifter.set_context_pointer(Content::Metadata, meta);
    lifter.state.forget_packet();
    lifter.error_unless(ok, EINVAL);
    Ok(())
}

/// Moves `length` bytes of metadata from `meta` to `to`; `length` is a multiple of 4.
fn move_metadata(lifter: &mut Lifter<'_>, meta: Operand, length: Operand, to: Operand) {
    let emit = &mut lifter.ir.emit;
    let offsets = || (0..METADATA).step_by(4);
    // Read all words before writing any: source and destination overlap.
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

/// Lifts `bpf_xdp_adjust_tail(ctx, delta)`. Appended bytes are zero.
pub(super) fn adjust_tail(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.assume_unfragmented(at);
    let Distance { value, small } = lifter.distance();
    let data = lifter.context_pointer(Content::PacketStart);
    let end = lifter.context_pointer(Content::PacketEnd);
    let moved = lifter.ir.emit.add(end, value);
    let tail = lifter.options.receive.tail;
    let room = match tail {
        TailRoom::TrimOnly => lifter.ir.emit.ult(moved, end),
        TailRoom::Buffer(bytes) if !lifter.rooms_differ() => {
            let before = lifter.room_before();
            let buffer = u64::from(bytes);
            let (last, place) = match before {
                Operand::Const { value, .. } => {
                    let packet = lifter.received();
                    let behind = buffer.saturating_sub(value);
                    (lifter.ir.emit.add(packet, word(behind)), moved)
                }
                _ => (lifter.ir.emit.sub(word(buffer + PLACES), before), lifter.place(moved)),
            };
            lifter.at_most(place, last)
        }
        // A move towards the head stays inside the tail room.
        TailRoom::Bytes(..) if matches!(value, Operand::Const { value, .. } if value as i64 <= 0) => {
            Operand::constant(1, 1)
        }
        TailRoom::Bytes(..) | TailRoom::Buffer(_) => {
            let length = lifter.length_first();
            let length = lifter.since_sent(SENT_LENGTH, length);
            let behind = lifter.room_behind();
            let last = lifter.ir.emit.add(length, behind);
            let last = lifter.ir.emit.add(last, word(PLACES));
            let place = lifter.place(moved);
            let room = lifter.at_most(place, last);
            let longer = lifter.ir.emit.sub(moved, data);
            let short = lifter.at_most(longer, word(LONGEST));
            lifter.ir.emit.and(room, short)
        }
    };
    let least = lifter.ir.emit.add(data, word(ETH_HLEN));
    let rest = lifter.at_most(least, moved);
    let ok = lifter.ir.emit.and(room, rest);
    let ok = lifter.ir.emit.and(ok, small);
    if tail != TailRoom::TrimOnly
        && let Some(bytes) = lifter.growth(value, ok)
    {
        lifter.ir.emit.clear(end, bytes);
    }
    let end = lifter.ir.emit.select(ok, moved, end);
    lifter.set_context_pointer(Content::PacketEnd, end);
    lifter.state.forget_packet();
    lifter.error_unless(ok, EINVAL);
    Ok(())
}

/// Lifts `bpf_xdp_adjust_meta(ctx, delta)`. The length of metadata is a multiple of 4, at most
/// [`METADATA`] bytes (`xdp_metalen_invalid` of `include/net/xdp.h`).
pub(super) fn adjust_meta(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let Distance { value, small } = lifter.distance();
    let data = lifter.context_pointer(Content::PacketStart);
    let meta = lifter.context_pointer(Content::Metadata);
    let moved = lifter.ir.emit.add(meta, value);
    let room = lifter.in_front(moved, None);
    let before = lifter.at_most(moved, data);
    // The kernel first checks the room (`-EINVAL`), then the size (`-EACCES`).
    let inside = lifter.ir.emit.and(room, before);
    let inside = lifter.ir.emit.and(inside, small);
    let length = lifter.ir.emit.sub(data, moved);
    let short = lifter.at_most(length, word(METADATA));
    let remainder = lifter.ir.emit.and(length, word(3));
    let aligned = lifter.ir.emit.eq(remainder, word(0));
    let valid = lifter.ir.emit.and(short, aligned);
    let mut ok = lifter.ir.emit.and(inside, valid);
    let mut error = lifter.ir.emit.select(inside, errno(EACCES), errno(EINVAL));
    if !lifter.supports_metadata() {
        let unsupported = lifter.ir.emit.ult(data, meta);
        let supported = lifter.ir.emit.not(unsupported);
        ok = lifter.ir.emit.and(ok, supported);
        error = lifter.ir.emit.select(unsupported, errno(ENOTSUPP), error);
    }
    let meta = lifter.ir.emit.select(ok, moved, meta);
    lifter.set_context_pointer(Content::Metadata, meta);
    let result = lifter.ir.emit.select(ok, word(0), error);
    lifter.state.forget_packet();
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_xdp_get_buff_len(ctx)`, for packets in one buffer.
pub(super) fn length(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.assume_unfragmented(at);
    let length = lifter.packet_length();
    lifter.result(length, AbstractValue::NotStack);
    Ok(())
}

/// Returns the address of `bytes` bytes of the packet, which start at the offset in `r2`. Also
/// returns the result of the call: 0, or an error if the bytes are not inside the packet.
fn span(lifter: &mut Lifter<'_>, bytes: Operand) -> (Operand, Operand) {
    let data = lifter.context_pointer(Content::PacketStart);
    let end = lifter.context_pointer(Content::PacketEnd);
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
    // `bpf_xdp_pointer` checks the offset first.
    let error = emit.select(inside, word(0), errno(EINVAL));
    (address, emit.select(near, error, errno(EFAULT)))
}

/// Copies `r4` bytes between the packet and the buffer in `r3`. `r4` must be constant or bounded by
/// the buffer's size. `direction` orders the pair (packet, buffer) as (source, destination).
fn transfer(
    lifter: &mut Lifter<'_>,
    direction: impl Fn(Operand, Operand) -> (Operand, Operand),
) -> Result<(), Cause> {
    /// Maximum number of bytes to copy if `r4` is not constant. The bytes are then copied one by
    /// one.
    const SINGLE: u32 = 256;
    let size = lifter.argument_size(4, 3, SINGLE)?;
    let buffer = lifter.ir.value(3);
    let (address, error) = span(lifter, size.operand());
    let ok = lifter.ir.emit.eq(error, word(0));
    let (from, to) = direction(address, buffer);
    let copy = ConditionalCopy { cond: ok, otherwise: Otherwise::Keep };
    lifter.copy_size(to, from, size, copy);
    lifter.result(error, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_xdp_load_bytes(ctx, offset, buf, len)`.
pub(super) fn load_bytes(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.assume_unfragmented(at);
    let known = lifter.state.regs[3];
    transfer(lifter, |packet, buffer| (packet, buffer))?;
    lifter.state.clobber(known);
    Ok(())
}

/// Lifts `bpf_xdp_store_bytes(ctx, offset, buf, len)`.
pub(super) fn store_bytes(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.assume_unfragmented(at);
    transfer(lifter, |packet, buffer| (buffer, packet))
}
