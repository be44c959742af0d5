//! Lifts the helpers that read or change the bytes of a packet in a `struct sk_buff`
//! (`net/core/filter.c` of Linux 6.18).
//!
//! The packet's region has the bytes of the whole packet. Its linear part, which programs access
//! directly, ends at the field `data_end`; the field `len` is the length of the whole packet.
//! Helpers that write bytes first move them into the linear part (`skb_ensure_writable`).

use slowpath_ir::{BinaryOp, Emit, Operand, ValueFormat};

use crate::context::{Content, FirstByte};
use crate::errno::{EALREADY, EFAULT, EINVAL, ENOMEM, ENOTSUPP};
use crate::lift::bytes::{ConditionalCopy, Otherwise};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::ir::emit::{errno, word};
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;
use crate::lift::receive::METADATA_WORDS;
use crate::lift::state::value::AbstractValue;

type Lifted = Result<(), Cause>;

/// Maximum offset that helpers accept (`INT_MAX`).
const OFFSET_MAX: u64 = i32::MAX as u64;
/// Assumed maximum length of the headers in front of the network header, in bytes. Results that
/// depend on it list this assumption.
const LINK_MAX: u64 = 128;
/// Upper bound on the length of a packet after a helper has set it, for pages of 64 KiB
/// (`SKB_MAX_ALLOC`).
const LENGTH_MAX: u64 = 1 << 18;
/// Width in bits of a packet length, and of the number of inserted bytes.
const BITS: u8 = 18;
/// Maximum buffer size in bytes for which a copy of variable size copies each byte. For larger
/// buffers, the copy stores unknown values.
const SINGLE: u32 = 1024;
/// `BPF_F_INVALIDATE_HASH`: flag with which the helper clears the packet's hash.
const INVALIDATE_HASH: u64 = 2;
/// EtherTypes of VLAN tags, in the byte order of the field `protocol`.
const VLAN: [u64; 2] = [0x0081, 0xa888];
/// EtherTypes of IPv4 and IPv6, in the byte order of the field `protocol`.
const IPV4: u64 = 0x0008;
const IPV6: u64 = 0xdd86;
/// Size of a VLAN tag in bytes.
const TAG: u64 = 4;
/// Size in bytes of the two addresses at the start of an Ethernet header.
const ADDRESSES: u32 = 12;

impl Lifter<'_> {
    fn skb_data(&mut self) -> Operand {
        self.context_pointer(Content::PacketStart)
    }

    fn skb_end(&mut self) -> Operand {
        self.context_pointer(Content::PacketEnd)
    }

    /// Sets the length of the whole packet.
    fn set_skb_length(&mut self, length: Operand) {
        let low = self.ir.emit.extract(length, 0, 32);
        if let Some(field) = self.program_type.length() {
            let address = self.context_address(field);
            self.ir.emit.store(address, low);
        }
    }

    /// Models the common effects of all helpers that may change the packet. Pointers to the packet
    /// become invalid, and its metadata may be lost or get any value (`pskb_expand_head`).
    fn skb_changed(&mut self) {
        if self.reads_metadata() {
            let data = self.skb_data();
            self.new_bytes_in_front(data);
            let kind = ValueFormat::Number;
            let words = self.ir.emit.draw(METADATA_WORDS, kind, 6, 63);
            let words = self.ir.emit.zero_extend(words, 64);
            let bytes = self.ir.emit.binary(BinaryOp::Shl, words, word(2));
            let meta = self.ir.emit.sub(data, bytes);
            self.set_context_pointer(Content::Metadata, meta);
        }
        self.state.forget_packet();
    }

    /// If `wanted` is set, models `skb_ensure_writable` for the first `bytes` bytes of the packet.
    /// Returns the result: zero, -ENOMEM or -EFAULT. After a failure, bytes may have been moved
    /// into the linear part.
    fn ensure_writable(&mut self, wanted: Operand, bytes: Operand) -> Operand {
        let length = self.packet_length();
        let (data, end) = (self.skb_data(), self.skb_end());
        let error = self.error_of(&[0, -ENOMEM, -EFAULT]);
        let pulled = self.ir.emit.unknown_bit("bytes pulled before the failure", &["no", "yes"]);
        let inside = self.at_most(bytes, length);
        let emit = &mut self.ir.emit;
        let error = emit.select(inside, error, errno(ENOMEM));
        let fine = emit.eq(error, word(0));
        let pulled = emit.or(fine, pulled);
        let behind = emit.add(data, bytes);
        let outside = emit.ult(end, behind);
        let pulled = emit.and(pulled, outside);
        let pulled = emit.and(pulled, inside);
        let pulled = emit.and(pulled, wanted);
        let end = emit.select(pulled, behind, end);
        self.set_context_pointer(Content::PacketEnd, end);
        self.skb_changed();
        error
    }

    /// Sets `r0` to the result of a call, which is zero or an error. Also forgets all pointers to
    /// the packet, because the call may have moved it.
    fn skb_result(&mut self, result: Operand) -> Lifted {
        self.result(result, AbstractValue::NotStack);
        Ok(())
    }

    /// Returns -EINVAL if the flags in an argument register contain bits outside the mask `known`,
    /// otherwise `error`.
    fn check_flags(&mut self, register: u8, known: u64, error: Operand) -> Operand {
        let flags = self.ir.value(register);
        let emit = &mut self.ir.emit;
        let others = emit.and(flags, word(!known));
        let right = emit.eq(others, word(0));
        emit.select(right, error, errno(EINVAL))
    }

    /// Assigns unknown values to the first `bytes` bytes of the packet, if `cond` is set. The
    /// kernel computes the actual values from the packet and from the position of its headers.
    fn forget_first(&mut self, cond: Operand, bytes: u64) {
        let data = self.skb_data();
        self.forget_bytes(cond, data, bytes);
    }

    /// Like [`Lifter::forget_first`], for `bytes` bytes of the packet at an address.
    fn forget_bytes(&mut self, cond: Operand, address: Operand, bytes: u64) {
        self.ir.emit.computed = true;
        self.havoc_if(cond, address, bytes as u32, "the packet");
        self.ir.emit.computed = false;
    }

    fn assume_short_link_header(&mut self) {
        self.assume(format!(
            "headers in front of the network header have at most {LINK_MAX} bytes"
        ));
    }
}

fn yes() -> Operand {
    Operand::constant(1, 1)
}

/// Lifts `bpf_skb_load_bytes(skb, offset, to, len)`. Bytes behind the linear part may be
/// unreadable.
pub(super) fn load_bytes(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let size = lifter.argument_size(4, 3, SINGLE)?;
    let (buffer, known) = (lifter.ir.value(3), lifter.state.regs[3]);
    let (data, end) = (lifter.skb_data(), lifter.skb_end());
    let (offset, length) = (lifter.unsigned32(2), lifter.packet_length());
    let unreadable =
        lifter.ir.emit.unknown_bit("bytes behind the linear part", &["readable", "unreadable"]);
    let behind = lifter.ir.emit.add(offset, size.operand());
    let inside = lifter.at_most(behind, length);
    let small = lifter.at_most(offset, word(OFFSET_MAX));
    let emit = &mut lifter.ir.emit;
    let from = emit.binary(BinaryOp::Add, data, offset);
    let last = emit.add(from, size.operand());
    let beyond = emit.ult(end, last);
    let unreadable = emit.and(unreadable, beyond);
    let readable = emit.not(unreadable);
    let ok = emit.and(inside, small);
    let ok = emit.and(ok, readable);
    let copy = ConditionalCopy { cond: ok, otherwise: Otherwise::Clear };
    lifter.copy_size(buffer, from, size, copy);
    lifter.state.clobber(known);
    let result = lifter.ir.emit.select(ok, word(0), errno(EFAULT));
    lifter.skb_result(result)
}

/// Lifts `bpf_skb_load_bytes_relative(skb, offset, to, len, start_header)`, which reads the linear
/// part only.
pub(super) fn load_bytes_relative(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    /// Largest offset that the helper accepts.
    const MOST: u64 = 0xffff;
    lifter.call_cost(at, None);
    let bytes = lifter.constant_size(4)?;
    let (buffer, known) = (lifter.ir.value(3), lifter.state.regs[3]);
    let (data, end) = (lifter.skb_data(), lifter.skb_end());
    let (offset, header) = (lifter.unsigned32(2), lifter.low32(5));
    let error = lifter.error_of(&[0, -EFAULT]);
    let small = lifter.at_most(offset, word(MOST));
    let first = lifter.program_type.first;
    let emit = &mut lifter.ir.emit;
    let from = emit.binary(BinaryOp::Add, data, offset);
    let last = emit.add(from, word(bytes.into()));
    let inside = lifter.at_most(last, end);
    let emit = &mut lifter.ir.emit;
    let fine = emit.eq(error, word(0));
    // `BPF_HDR_START_MAC` or `BPF_HDR_START_NET`, if the packet starts with this header.
    let at_start = match first {
        FirstByte::Link => 0,
        FirstByte::Network => 1,
        FirstByte::Any => u64::from(u32::MAX),
    };
    let start = emit.eq(header, Operand::constant(32, at_start));
    let known_header = emit.ult(header, Operand::constant(32, 2));
    let (inside, fine) = match first {
        // The network header is never in front of the first byte.
        FirstByte::Link => (inside, fine),
        // The link layer header is in front of the first byte, or unknown.
        FirstByte::Network => {
            let elsewhere = emit.not(start);
            (emit.or(inside, elsewhere), emit.or(fine, start))
        }
        FirstByte::Any => (yes(), fine),
    };
    let ok = emit.and(inside, small);
    let ok = emit.and(ok, known_header);
    let ok = emit.and(ok, fine);
    for (offset, size) in chunks(bytes) {
        let emit = &mut lifter.ir.emit;
        let source = emit.add(from, word(offset));
        let value = emit.load(source, size);
        emit.computed = true;
        let name = format!("bytes from {offset} behind the network header");
        let most = u64::MAX >> (64 - 8 * u32::from(size));
        let other = emit.draw(&name, ValueFormat::Bytes, 8 * size, most);
        emit.computed = false;
        let value = emit.select(start, value, other);
        let value = emit.select(ok, value, Operand::constant(8 * size, 0));
        let destination = emit.add(buffer, word(offset));
        emit.store(destination, value);
    }
    lifter.ir.emit.computed = true;
    lifter.state.clobber(known);
    let result = lifter.ir.emit.select(ok, word(0), errno(EFAULT));
    lifter.skb_result(result)
}

/// Lifts `bpf_skb_store_bytes(skb, offset, from, len, flags)`.
pub(super) fn store_bytes(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let size = lifter.argument_size(4, 3, SINGLE)?;
    let buffer = lifter.ir.value(3);
    let offset = lifter.unsigned32(2);
    let small = lifter.at_most(offset, word(OFFSET_MAX));
    let flags = lifter.ir.value(5);
    let emit = &mut lifter.ir.emit;
    let others = emit.and(flags, word(!3));
    let right = emit.eq(others, word(0));
    let wanted = emit.and(right, small);
    let behind = emit.add(offset, size.operand());
    let error = lifter.ensure_writable(wanted, behind);
    let data = lifter.skb_data();
    let emit = &mut lifter.ir.emit;
    let fine = emit.eq(error, word(0));
    let ok = emit.and(fine, wanted);
    let to = emit.binary(BinaryOp::Add, data, offset);
    let copy = ConditionalCopy { cond: ok, otherwise: Otherwise::Keep };
    lifter.copy_size(to, buffer, size, copy);
    let emit = &mut lifter.ir.emit;
    let invalidates = emit.and(flags, word(INVALIDATE_HASH));
    let keeps = emit.eq(invalidates, word(0));
    let invalidates = emit.not(keeps);
    let invalidates = emit.and(invalidates, ok);
    lifter.store_field_if(invalidates, "hash", Operand::constant(32, 0));
    let emit = &mut lifter.ir.emit;
    let result = emit.select(ok, word(0), errno(EFAULT));
    let result = emit.select(right, result, errno(EINVAL));
    lifter.skb_result(result)
}

/// Lifts `bpf_skb_pull_data(skb, len)`. A `len` of 0 means the length of the linear part.
pub(super) fn pull_data(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let bytes = lifter.unsigned32(2);
    let (data, end) = (lifter.skb_data(), lifter.skb_end());
    let emit = &mut lifter.ir.emit;
    let linear = emit.sub(end, data);
    let none = emit.eq(bytes, word(0));
    let bytes = emit.select(none, linear, bytes);
    let result = lifter.ensure_writable(yes(), bytes);
    lifter.skb_result(result)
}

/// Lifts `bpf_l3_csum_replace(skb, offset, from, to, flags)`.
pub(super) fn l3_csum_replace(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    csum_replace(lifter, at, 0xf)
}

/// Lifts `bpf_l4_csum_replace(skb, offset, from, to, flags)`.
pub(super) fn l4_csum_replace(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    // BPF_F_PSEUDO_HDR, BPF_F_MARK_MANGLED_0, BPF_F_MARK_ENFORCE, BPF_F_IPV6.
    csum_replace(lifter, at, 0xf | 0xf0)
}

fn csum_replace(lifter: &mut Lifter<'_>, at: ProgramPoint, known_flags: u64) -> Lifted {
    /// Largest offset that the helper accepts.
    const MOST: u64 = 0xffff;
    /// Length of a checksum in bytes.
    const SUM: u64 = 2;
    lifter.call_cost(at, None);
    let offset = lifter.unsigned32(2);
    let (from, flags) = (lifter.ir.value(3), lifter.ir.value(5));
    let small = lifter.at_most(offset, word(MOST));
    let emit = &mut lifter.ir.emit;
    let odd = emit.extract(offset, 0, 1);
    let even = emit.not(odd);
    let placed = emit.and(small, even);
    let others = emit.and(flags, word(!known_flags));
    let right = emit.eq(others, word(0));
    // Kernels before 6.16 do not know this flag.
    let unknown = emit.unknown_bit("kernel knows BPF_F_IPV6", &["yes", "no"]);
    let ipv6 = emit.extract(flags, 7, 1);
    let unknown = emit.and(unknown, ipv6);
    let known = emit.not(unknown);
    let right = emit.and(right, known);
    let wanted = emit.and(right, placed);
    let behind = emit.add(offset, word(SUM));
    let error = lifter.ensure_writable(wanted, behind);
    let data = lifter.skb_data();
    let emit = &mut lifter.ir.emit;
    let fine = emit.eq(error, word(0));
    let ok = emit.and(fine, wanted);
    // The low bits of the flags are the size of the replaced field: 2, 4, or 0 for a difference.
    let size = emit.extract(flags, 0, 4);
    let [zero, two, four] = [0, 2, 4].map(|size_| emit.eq(size, Operand::constant(4, size_)));
    let no_from = emit.eq(from, word(0));
    let zero = emit.and(zero, no_from);
    let sizes = emit.or(two, four);
    let sizes = emit.or(sizes, zero);
    let place = emit.binary(BinaryOp::Add, data, offset);
    emit.computed = true;
    let sum = emit.draw("checksum", ValueFormat::Bytes, 16, 0xffff);
    let written = emit.and(ok, sizes);
    // With BPF_F_MARK_MANGLED_0, the helper accepts any size if the checksum is zero.
    let ignored = emit.draw("checksum is zero and stays", ValueFormat::Number, 1, 1);
    let marked = emit.extract(flags, 5, 1);
    let l4 = Operand::constant(1, u64::from(known_flags > 0xf));
    let ignored = emit.and(ignored, marked);
    let ignored = emit.and(ignored, l4);
    let accepted = emit.or(sizes, ignored);
    emit.store_if(written, place, sum);
    let done = emit.select(accepted, word(0), errno(EINVAL));
    let result = emit.select(ok, done, errno(EFAULT));
    let result = emit.select(right, result, errno(EINVAL));
    lifter.skb_result(result)
}

/// Lifts `bpf_clone_redirect(skb, ifindex, flags)`.
pub(super) fn clone_redirect(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let any = lifter.ir.emit.draw("return value", ValueFormat::Signed, 64, u64::MAX);
    let result = lifter.check_flags(3, 1, any);
    lifter.skb_changed();
    lifter.skb_result(result)
}

/// Lifts `bpf_skb_change_head(skb, len, flags)`, which inserts `len` zero bytes before the packet.
pub(super) fn change_head(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let bytes = lifter.constant_size(2)?;
    let error = lifter.error_of(&[0, -EINVAL, -ENOMEM]);
    let error = lifter.check_flags(3, 0, error);
    let (data, length) = (lifter.skb_data(), lifter.packet_length());
    let emit = &mut lifter.ir.emit;
    let ok = emit.eq(error, word(0));
    let start = emit.sub(data, word(bytes.into()));
    for (offset, size) in chunks(bytes) {
        let address = emit.add(start, word(offset));
        emit.store_if(ok, address, Operand::constant(8 * size, 0));
    }
    let longer = emit.add(length, word(bytes.into()));
    let start = emit.select(ok, start, data);
    let length = emit.select(ok, longer, length);
    lifter.set_context_pointer(Content::PacketStart, start);
    lifter.set_skb_length(length);
    lifter.skb_changed();
    lifter.skb_result(error)
}

/// Lifts `bpf_skb_change_tail(skb, len, flags)`, which makes the packet linear and appends zeros.
pub(super) fn change_tail(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let wanted = lifter.unsigned32(2);
    let error = lifter.error_of(&[0, -EINVAL, -ENOTSUPP, -ENOMEM, -EFAULT]);
    let error = lifter.check_flags(3, 0, error);
    let small = lifter.ir.emit.ult(wanted, word(LENGTH_MAX));
    let pulled = lifter.ir.emit.unknown_bit("bytes pulled before the failure", &["no", "yes"]);
    let (data, end, length) = (lifter.skb_data(), lifter.skb_end(), lifter.packet_length());
    let emit = &mut lifter.ir.emit;
    let error = emit.select(small, error, errno(EINVAL));
    let ok = emit.eq(error, word(0));
    let shrinks = emit.ult(wanted, length);
    let growth = emit.sub(wanted, length);
    let growth = emit.extract(growth, 0, BITS);
    let growth = emit.zero_extend(growth, 64);
    let growth = emit.select(shrinks, word(0), growth);
    let growth = emit.select(ok, growth, word(0));
    let whole = emit.binary(BinaryOp::Add, data, length);
    emit.clear(whole, growth);
    let low = emit.extract(wanted, 0, BITS);
    let low = emit.zero_extend(low, 64);
    let last = emit.binary(BinaryOp::Add, data, low);
    let failed = emit.select(pulled, whole, end);
    let end = emit.select(ok, last, failed);
    let length = emit.select(ok, low, length);
    lifter.set_context_pointer(Content::PacketEnd, end);
    lifter.set_skb_length(length);
    for field in ["gso_size", "gso_segs"] {
        lifter.forget_field_if(ok, field);
    }
    lifter.skb_changed();
    lifter.skb_result(error)
}

/// A change of the packet's length after its first headers.
#[derive(Clone, Copy)]
struct Resize {
    /// Number of inserted bytes as a signed 64-bit number; a negative number removes bytes.
    bytes: Operand,
    /// Range of `bytes`.
    range: (i64, i64),
}

impl Resize {
    fn by(bytes: i64) -> Resize {
        Resize { bytes: word(bytes as u64), range: (bytes, bytes) }
    }
}

/// If `ok` is set, makes the packet longer or shorter by inserting zeros or removing bytes after its
/// first headers (`bpf_skb_generic_push`, `bpf_skb_generic_pop`). These headers have at most `first`
/// bytes. Bytes whose values depend on the length of the headers get unknown values. `ok` must imply
/// that the packet has enough bytes.
fn resize_header(lifter: &mut Lifter<'_>, ok: Operand, resize: Resize, first: u64) {
    let Resize { bytes, range: (least, most) } = resize;
    let (data, end, length) = (lifter.skb_data(), lifter.skb_end(), lifter.packet_length());
    let emit = &mut lifter.ir.emit;
    let start = emit.sub(data, bytes);
    let longer = emit.add(length, bytes);
    let start = emit.select(ok, start, data);
    let new_length = emit.select(ok, longer, length);
    let negative = emit.extract(bytes, 63, 1);
    let mut last = end;
    if least < 0 {
        // The removed bytes, and those before them, are moved into the linear part.
        let name = "bytes that are pulled";
        let pulled = emit.draw(name, ValueFormat::Number, 64, first + least.unsigned_abs());
        let behind = emit.binary(BinaryOp::Add, data, pulled);
        let emit = &mut lifter.ir.emit;
        let whole = emit.binary(BinaryOp::Add, data, length);
        let outside = emit.ult(whole, behind);
        let behind = emit.select(outside, whole, behind);
        let before = emit.ult(behind, start);
        let behind = emit.select(before, start, behind);
        let more = emit.ult(end, behind);
        let mut more = emit.and(more, ok);
        if most >= 0 {
            more = emit.and(more, negative);
        }
        last = emit.select(more, behind, end);
    }
    lifter.set_context_pointer(Content::PacketStart, start);
    lifter.set_context_pointer(Content::PacketEnd, last);
    lifter.set_skb_length(new_length);
    if least == most {
        return lifter.forget_first(ok, first + most.max(0).unsigned_abs());
    }
    // The headers move to the new start, and the bytes that were after them stay. All bytes between
    // the longest headers and the old start are zero.
    lifter.forget_bytes(ok, data, first);
    lifter.forget_first(ok, first);
    let emit = &mut lifter.ir.emit;
    let long = emit.ult(word(first), bytes);
    let grows = emit.not(negative);
    let long = emit.and(long, grows);
    let long = emit.and(long, ok);
    let zeros = emit.sub(bytes, word(first));
    let zeros = emit.extract(zeros, 0, BITS);
    let zeros = emit.zero_extend(zeros, 64);
    let zeros = emit.select(long, zeros, word(0));
    let behind = emit.add(start, word(first));
    emit.clear(behind, zeros);
}

/// Returns the difference of lengths in `r2`, a signed 32-bit number, and a 1-bit operand that is
/// set if its absolute value is at most `most`; `None` if it always is. `most` plus one is a power
/// of two. If the operand is not set, the returned difference is meaningless.
fn difference(lifter: &mut Lifter<'_>, most: i64) -> (Resize, Option<Operand>) {
    if let AbstractValue::Const(value) = lifter.state.regs[2] {
        let value = i64::from(value as u32 as i32);
        return match value.abs() <= most {
            true => (Resize::by(value), None),
            false => (Resize::by(0), Some(Operand::constant(1, 0))),
        };
    }
    let requested = lifter.ir.value(2);
    let emit = &mut lifter.ir.emit;
    let requested = emit.extract(requested, 0, 32);
    // As a number of few bits minus a constant, the difference shows the engine that addresses stay
    // close to the packet.
    let above = emit.add(requested, Operand::constant(32, most.unsigned_abs()));
    let small = emit.ult(above, Operand::constant(32, 2 * most.unsigned_abs() + 1));
    let low = emit.extract(above, 0, most.unsigned_abs().count_ones() as u8 + 1);
    let low = emit.zero_extend(low, 64);
    let bytes = emit.sub(low, word(most.unsigned_abs()));
    (Resize { bytes, range: (-most, most) }, Some(small))
}

/// Lifts `bpf_skb_adjust_room(skb, len_diff, mode, flags)`.
pub(super) fn adjust_room(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    /// Largest absolute value of `len_diff` that the helper accepts.
    const MOST: i64 = 0xfff;
    /// Length in bytes of an IPv6 header, the longest network header that can precede the changed
    /// position.
    const NETWORK: u64 = 40;
    /// Flags that can change the protocol: `BPF_F_ADJ_ROOM_ENCAP_L3_*` and `_DECAP_L3_*`.
    const TUNNEL: u64 = 2 | 4 | 1 << 7 | 1 << 8;
    const PROTOCOLS: [&str; 3] = ["unchanged", "IPv4", "IPv6"];
    lifter.call_cost(at, None);
    lifter.assume_short_link_header();
    let (resize, small) = difference(lifter, MOST);
    let error = lifter.error_of(&[0, -EINVAL, -EFAULT, -ENOTSUPP, -ENOMEM, -EALREADY]);
    // The kernel checks flags before it looks at the protocol, and knows other flags in each version.
    let refused = lifter.one_of(&[-ENOTSUPP, -EINVAL]);
    let too_much = lifter.one_of(&[-EFAULT, -EINVAL]);
    let (length, protocol) = (lifter.packet_length(), lifter.load_field("protocol"));
    let emit = &mut lifter.ir.emit;
    let [v4, v6] = [IPV4, IPV6].map(|ty| emit.eq(protocol, Operand::constant(32, ty)));
    let network = emit.or(v4, v6);
    let enough = match resize.range {
        (0.., _) => yes(),
        (least, ..0) => emit.ult(word(least.unsigned_abs()), length),
        _ => {
            let removed = emit.sub(word(0), resize.bytes);
            let enough = emit.ult(removed, length);
            let negative = emit.extract(resize.bytes, 63, 1);
            let grows = emit.not(negative);
            emit.or(enough, grows)
        }
    };
    let possible = emit.and(network, enough);
    let error = emit.select(possible, error, refused);
    let error = match small {
        None => error,
        Some(Operand::Const { .. }) => too_much,
        Some(small) => emit.select(small, error, too_much),
    };
    let ok = emit.eq(error, word(0));
    resize_header(lifter, ok, resize, LINK_MAX + NETWORK);
    let new = lifter.ir.emit.draw("protocol", ValueFormat::Names(&PROTOCOLS), 64, 2);
    let flags = lifter.ir.value(4);
    let emit = &mut lifter.ir.emit;
    let flags = emit.and(flags, word(TUNNEL));
    let none = emit.eq(flags, word(0));
    let some = emit.not(none);
    let changes = emit.and(ok, some);
    for (number, ty) in [(1, IPV4), (2, IPV6)] {
        let emit = &mut lifter.ir.emit;
        let chosen = emit.eq(new, word(number));
        let chosen = emit.and(chosen, changes);
        lifter.store_field_if(chosen, "protocol", Operand::constant(32, ty));
    }
    for field in ["gso_size", "gso_segs"] {
        lifter.forget_field_if(ok, field);
    }
    lifter.skb_changed();
    lifter.ir.emit.computed = true;
    let result = match small {
        // The kernel checks flags before the difference.
        Some(Operand::Const { .. }) => lifter.one_of(&[-EFAULT, -EINVAL]),
        _ => error,
    };
    lifter.skb_result(result)
}

/// Lifts `bpf_skb_change_proto(skb, protocol, flags)`, which changes between IPv4 and IPv6.
pub(super) fn change_proto(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    /// Difference between the lengths of an IPv6 and an IPv4 header, in bytes.
    const DIFFERENCE: i64 = 20;
    lifter.call_cost(at, None);
    lifter.assume_short_link_header();
    let (old, wanted) = (lifter.load_field("protocol"), lifter.unsigned32(2));
    let length = lifter.packet_length();
    let error = lifter.error_of(&[0, -ENOMEM, -ENOTSUPP]);
    let emit = &mut lifter.ir.emit;
    let new = emit.extract(wanted, 0, 16);
    let new = emit.zero_extend(new, 32);
    let mut change = |from, to| {
        let from = emit.eq(old, Operand::constant(32, from));
        let to = emit.eq(new, Operand::constant(32, to));
        emit.and(from, to)
    };
    let (grows, shrinks) = (change(IPV4, IPV6), change(IPV6, IPV4));
    let enough = emit.ult(word(DIFFERENCE as u64), length);
    let shrinks = emit.and(shrinks, enough);
    let possible = emit.or(grows, shrinks);
    let error = emit.select(possible, error, errno(ENOTSUPP));
    let error = lifter.check_flags(3, 0, error);
    let emit = &mut lifter.ir.emit;
    let ok = emit.eq(error, word(0));
    let (grows, shrinks) = (emit.and(ok, grows), emit.and(ok, shrinks));
    resize_header(lifter, grows, Resize::by(DIFFERENCE), LINK_MAX);
    resize_header(lifter, shrinks, Resize::by(-DIFFERENCE), LINK_MAX);
    lifter.store_field_if(ok, "protocol", new);
    lifter.store_field_if(ok, "hash", Operand::constant(32, 0));
    // Kernels before 5.10 adapt the size of segments.
    for field in ["gso_size", "gso_segs"] {
        lifter.forget_field_if(ok, field);
    }
    lifter.skb_changed();
    lifter.ir.emit.computed = true;
    lifter.skb_result(error)
}

/// Lifts `bpf_skb_vlan_push(skb, protocol, tci)`. If the packet already has a tag in its metadata,
/// that tag is first inserted into the packet's bytes (`skb_vlan_push`).
pub(super) fn vlan_push(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let (wanted, tci) = (lifter.low32(2), lifter.low32(3));
    let present = lifter.load_field("vlan_present");
    let (old_protocol, old_tci) = (lifter.load_field("vlan_proto"), lifter.load_field("vlan_tci"));
    let error = lifter.error_of(&[0, -ENOMEM, -EINVAL]);
    let (data, length) = (lifter.skb_data(), lifter.packet_length());
    let emit = &mut lifter.ir.emit;
    let absent = emit.eq(present, Operand::constant(32, 0));
    let present = emit.not(absent);
    let error = emit.select(absent, word(0), error);
    let ok = emit.eq(error, word(0));
    let inserted = emit.and(ok, present);
    let start = emit.sub(data, word(TAG));
    lifter.copy_if(inserted, start, data, ADDRESSES);
    let emit = &mut lifter.ir.emit;
    let place = emit.add(start, word(ADDRESSES.into()));
    let protocol = emit.extract(old_protocol, 0, 16);
    emit.store_if(inserted, place, protocol);
    // The tag is in network byte order.
    for (offset, shift) in [(0, 8), (1, 0)] {
        let byte = emit.extract(old_tci, shift, 8);
        let place = emit.add(start, word(u64::from(ADDRESSES) + 2 + offset));
        emit.store_if(inserted, place, byte);
    }
    let longer = emit.add(length, word(TAG));
    let start = emit.select(inserted, start, data);
    let length = emit.select(inserted, longer, length);
    lifter.set_context_pointer(Content::PacketStart, start);
    lifter.set_skb_length(length);
    lifter.store_field_if(inserted, "protocol", old_protocol);
    let emit = &mut lifter.ir.emit;
    let mut low = |value| {
        let low = emit.extract(value, 0, 16);
        emit.zero_extend(low, 32)
    };
    let (wanted, tci) = (low(wanted), low(tci));
    let [q, ad] = VLAN.map(|ty| emit.eq(wanted, Operand::constant(32, ty)));
    let known = emit.or(q, ad);
    let wanted = emit.select(known, wanted, Operand::constant(32, VLAN[0]));
    lifter.store_field_if(ok, "vlan_present", Operand::constant(32, 1));
    lifter.store_field_if(ok, "vlan_proto", wanted);
    lifter.store_field_if(ok, "vlan_tci", tci);
    lifter.skb_changed();
    lifter.skb_result(error)
}

/// Returns a 1-bit operand that is set if `protocol` is the EtherType of a VLAN tag.
fn is_tag(lifter: &mut Lifter<'_>, protocol: Operand) -> Operand {
    let emit = &mut lifter.ir.emit;
    let [q, ad] = VLAN.map(|ty| emit.eq(protocol, Operand::constant(32, ty)));
    emit.or(q, ad)
}

/// If `wanted` is set, removes the VLAN tag from the bytes of the packet (`__skb_vlan_pop`).
/// Returns the error, a 1-bit operand that is set if the tag was removed, and the control
/// information (TCI) of the tag.
fn remove_tag(lifter: &mut Lifter<'_>, wanted: Operand) -> (Operand, Operand, Operand) {
    /// Number of bytes that the kernel needs in the linear part (`VLAN_ETH_HLEN`).
    const HEADER: u64 = 18;
    /// `ETH_P_802_3` and `ETH_P_802_2`, in the byte order of the field `protocol`.
    const RAW: u64 = 0x0100;
    const LLC: u64 = 0x0400;
    let writable = lifter.ensure_writable(wanted, word(HEADER));
    let misplaced = lifter.error_of(&[0, -EINVAL]);
    let (data, length) = (lifter.skb_data(), lifter.packet_length());
    let emit = &mut lifter.ir.emit;
    let placed = emit.eq(misplaced, word(0));
    let error = emit.select(placed, writable, misplaced);
    let fine = emit.eq(error, word(0));
    let done = emit.and(fine, wanted);
    let mut byte = |offset| {
        let address = emit.add(data, word(offset));
        let byte = emit.load(address, 1);
        emit.zero_extend(byte, 32)
    };
    let [high, low] = [14, 15].map(&mut byte);
    let [first, second] = [16, 17].map(&mut byte);
    let [raw_first, raw_second] = [18, 19].map(&mut byte);
    let mut join = |high, low| {
        let high = emit.binary(BinaryOp::Shl, high, Operand::constant(32, 8));
        emit.or(high, low)
    };
    let (tci, protocol) = (join(high, low), join(second, first));
    let raw = join(raw_first, raw_second);
    // Smaller numbers than 0x0600 in network byte order are lengths.
    let is_length = emit.ult(first, Operand::constant(32, 6));
    let is_raw = emit.eq(raw, Operand::constant(32, 0xffff));
    let kind = emit.select(is_raw, Operand::constant(32, RAW), Operand::constant(32, LLC));
    let protocol = emit.select(is_length, kind, protocol);
    // Source and destination overlap, so read all bytes first.
    let words: Vec<(u64, Operand)> = (0..u64::from(ADDRESSES))
        .step_by(4)
        .map(|offset| {
            let address = emit.add(data, word(offset));
            (offset, emit.load(address, 4))
        })
        .collect();
    let start = emit.add(data, word(TAG));
    for (offset, value) in words {
        let address = emit.add(start, word(offset));
        emit.store_if(done, address, value);
    }
    let shorter = emit.sub(length, word(TAG));
    let start = emit.select(done, start, data);
    let length = emit.select(done, shorter, length);
    lifter.set_context_pointer(Content::PacketStart, start);
    lifter.set_skb_length(length);
    lifter.store_field_if(done, "protocol", protocol);
    (error, done, tci)
}

/// Lifts `bpf_skb_vlan_pop(skb)`. If the bytes of the packet contain a further tag, it replaces the
/// removed one (`skb_vlan_pop`).
pub(super) fn vlan_pop(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    lifter.call_cost(at, None);
    let (present, protocol) = (lifter.load_field("vlan_present"), lifter.load_field("protocol"));
    let tagged = is_tag(lifter, protocol);
    let emit = &mut lifter.ir.emit;
    let absent = emit.eq(present, Operand::constant(32, 0));
    let present = emit.not(absent);
    let first = emit.and(absent, tagged);
    let (first_error, first_done, _) = remove_tag(lifter, first);
    lifter.store_field_if(present, "vlan_present", Operand::constant(32, 0));
    // Linux 5.0 to 6.1 keep the number and type of a tag that is not there.
    let kept = lifter.one_of(&[0, 1]);
    let emit = &mut lifter.ir.emit;
    let cleared = emit.eq(kept, word(0));
    let cleared = emit.and(present, cleared);
    for field in ["vlan_proto", "vlan_tci"] {
        lifter.store_field_if(cleared, field, Operand::constant(32, 0));
    }
    let protocol = lifter.load_field("protocol");
    let tagged = is_tag(lifter, protocol);
    let emit = &mut lifter.ir.emit;
    let goes_on = emit.or(present, first_done);
    let second = emit.and(goes_on, tagged);
    let (second_error, second_done, tci) = remove_tag(lifter, second);
    lifter.store_field_if(second_done, "vlan_present", Operand::constant(32, 1));
    lifter.store_field_if(second_done, "vlan_proto", protocol);
    lifter.store_field_if(second_done, "vlan_tci", tci);
    let emit = &mut lifter.ir.emit;
    let result = emit.select(second, second_error, word(0));
    let failed = emit.eq(first_error, word(0));
    let failed = emit.not(failed);
    let failed = emit.and(failed, first);
    let result = emit.select(failed, first_error, result);
    lifter.skb_changed();
    lifter.skb_result(result)
}

/// Lifts `bpf_skb_ecn_set_ce(skb)`, which sets the congestion bits in the IP header and adapts its
/// checksum.
pub(super) fn set_congestion(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Lifted {
    /// Number of bytes of an IP header that can change.
    const HEADER: u64 = 12;
    lifter.call_cost(at, None);
    lifter.assume_short_link_header();
    let result = lifter.one_of(&[0, 1]);
    let done = lifter.ir.emit.eq(result, word(1));
    lifter.forget_first(done, LINK_MAX + HEADER);
    lifter.ir.emit.computed = true;
    lifter.skb_result(result)
}
