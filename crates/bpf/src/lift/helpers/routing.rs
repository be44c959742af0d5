//! Lifts the helpers that redirect packets and that query devices, routes and neighbours
//! (`net/core/filter.c` of Linux 6.18).

use slowpath_ir::{BinaryOp, Emit, Operand, ValueFormat};

use crate::errno::{EAFNOSUPPORT, EINVAL, ENODEV};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::call_results::{NUMBER, XDP_ABORTED, XDP_REDIRECT};
use crate::lift::ir::emit::{errno, word};
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

/// Upper bound on interface indices and on MTUs, which the kernel stores as `int`.
const INT_MAX: u64 = i32::MAX as u64;

/// Lifts `bpf_redirect(ifindex, flags)`, which accepts no flags in XDP programs.
pub(super) fn redirect(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let flags = lifter.ir.value(2);
    let emit = &mut lifter.ir.emit;
    let none = emit.eq(flags, word(0));
    let action = emit.select(none, word(XDP_REDIRECT), word(XDP_ABORTED));
    lifter.result(action, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_check_mtu(ctx, ifindex, mtu_len, len_diff, flags)` (`bpf_xdp_check_mtu`). It compares
/// the packet length, or `*mtu_len` if this is not zero, with the MTU of a device, and writes the
/// MTU to `*mtu_len`. The MTU and the length of the device's link layer header are unknown. Every
/// device except the receiving one (index 0) may be missing.
pub(super) fn check_mtu(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// Upper bound on `hard_header_len` of `struct net_device`, which has 16 bits.
    const HEADER_MAX: u64 = u16::MAX as u64;
    /// `BPF_MTU_CHK_RET_FRAG_NEEDED`: the result if the packet is longer than the MTU allows.
    const FRAG_NEEDED: u64 = 1;
    lifter.call_cost(at, None);
    let packet = lifter.packet_length();
    let (index, place) = (lifter.ir.value(2), lifter.ir.value(3));
    let (difference, flags) = (lifter.ir.value(4), lifter.ir.value(5));
    let known = lifter.state.regs[3];
    let missing = lifter.error_of(&[0, -ENODEV]);
    let emit = &mut lifter.ir.emit;
    let index = emit.extract(index, 0, 32);
    let receiving = emit.eq(index, Operand::constant(32, 0));
    let missing = emit.select(receiving, word(0), missing);
    let no_flags = emit.eq(flags, word(0));
    let error = emit.select(no_flags, missing, errno(EINVAL));
    let fine = emit.eq(error, word(0));
    let mtu = emit.draw("mtu_len", ValueFormat::Number, 32, INT_MAX);
    let header = emit.draw("length of the device's header", ValueFormat::Number, 32, HEADER_MAX);
    let most = emit.add(mtu, header);
    let requested = emit.load(place, 4);
    let with_header = emit.add(requested, header);
    let none_requested = emit.eq(requested, Operand::constant(32, 0));
    let packet = emit.extract(packet, 0, 32);
    let length = emit.select(none_requested, packet, with_header);
    let difference = emit.extract(difference, 0, 32);
    let length = emit.add(length, difference);
    let too_long = emit.binary(BinaryOp::Slt, most, length);
    let code = emit.select(too_long, word(FRAG_NEEDED), word(0));
    let result = emit.select(fine, code, error);
    emit.store_if(fine, place, mtu);
    lifter.state.clobber(known);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Offsets of fields in `struct bpf_fib_lookup` (`uapi/linux/bpf.h`), and its size, in bytes.
mod fib {
    pub const FAMILY: u64 = 0;
    pub const MTU_RESULT: u64 = 6;
    pub const IFINDEX: u64 = 8;
    pub const RT_METRIC: u64 = 12;
    pub const SRC: u64 = 16;
    pub const DST: u64 = 32;
    pub const VLAN: u64 = 48;
    pub const MACS: u64 = 52;
    pub const SIZE: u64 = 64;
}

const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;

/// Names of the result codes of `bpf_fib_lookup`, by number.
const CODES: [&str; 10] = [
    "BPF_FIB_LKUP_RET_SUCCESS",
    "BPF_FIB_LKUP_RET_BLACKHOLE",
    "BPF_FIB_LKUP_RET_UNREACHABLE",
    "BPF_FIB_LKUP_RET_PROHIBIT",
    "BPF_FIB_LKUP_RET_NOT_FWDED",
    "BPF_FIB_LKUP_RET_FWD_DISABLED",
    "BPF_FIB_LKUP_RET_UNSUPP_LWT",
    "BPF_FIB_LKUP_RET_NO_NEIGH",
    "BPF_FIB_LKUP_RET_FRAG_NEEDED",
    "BPF_FIB_LKUP_RET_NO_SRC_ADDR",
];
const SUCCESS: u64 = 0;
const NO_NEIGH: u64 = 7;
const FRAG_NEEDED: u64 = 8;
const NO_SRC_ADDR: u64 = 9;

/// Lifts `bpf_fib_lookup(ctx, params, plen, flags)` (`bpf_xdp_fib_lookup`), which returns one of
/// `BPF_FIB_LKUP_RET_*`, or an error. The routing table is unknown. The result code determines the
/// fields that the kernel writes.
pub(super) fn fib_lookup(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// `BPF_FIB_LOOKUP_MASK`: the flags that the helper accepts.
    const FLAGS: u64 = 0x3f;
    lifter.call_cost(at, None);
    let (params, known) = (lifter.ir.value(2), lifter.state.regs[2]);
    let (length, flags) = (lifter.ir.value(3), lifter.ir.value(4));
    let emit = &mut lifter.ir.emit;
    let length = emit.extract(length, 0, 32);
    let short = emit.binary(BinaryOp::Slt, length, Operand::constant(32, fib::SIZE));
    let flags = emit.extract(flags, 0, 32);
    let others = emit.and(flags, Operand::constant(32, !FLAGS));
    let no_others = emit.eq(others, Operand::constant(32, 0));
    let wrong_flags = emit.not(no_others);
    let invalid = emit.or(short, wrong_flags);
    let family = emit.add(params, word(fib::FAMILY));
    let family = emit.load(family, 1);
    let v4 = emit.eq(family, Operand::constant(8, AF_INET));
    let v6 = emit.eq(family, Operand::constant(8, AF_INET6));
    // The kernel may be built without IPv6.
    let missing = lifter.error_of(&[0, -ENODEV]);
    let missing6 = lifter.error_of(&[0, -ENODEV, -EAFNOSUPPORT]);
    let last = CODES.len() as u64 - 1;
    let emit = &mut lifter.ir.emit;
    let code = emit.draw(NUMBER, ValueFormat::Names(&CODES), 64, last);
    let error = emit.select(v6, missing6, errno(EAFNOSUPPORT));
    let error = emit.select(v4, missing, error);
    let error = emit.select(invalid, errno(EINVAL), error);
    let fine = emit.eq(error, word(0));
    let result = emit.select(fine, code, error);
    // For a smaller structure, the kernel always returns an error and writes nothing.
    let shorter = matches!(lifter.state.regs[3], AbstractValue::Const(size) if size < fib::SIZE);
    if !shorter {
        write_route(lifter, params, (fine, code), (v4, flags));
        lifter.state.clobber(known);
    }
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Writes the results of a route lookup to the parameter structure of the call. `fine` is set if
/// the call returns the result code `code`, and `v4` is set for IPv4 addresses.
fn write_route(
    lifter: &mut Lifter<'_>,
    params: Operand,
    (fine, code): (Operand, Operand),
    (v4, flags): (Operand, Operand),
) {
    const SKIP_NEIGH: u8 = 2;
    const TBID: u8 = 3;
    const SRC: u8 = 4;
    let skb = lifter.program_type.length().is_some();
    let emit = &mut lifter.ir.emit;
    let mut has_code = |number| {
        let same = emit.eq(code, word(number));
        emit.and(fine, same)
    };
    let (success, no_neighbour) = (has_code(SUCCESS), has_code(NO_NEIGH));
    let (too_long, no_source) = (has_code(FRAG_NEEDED), has_code(NO_SRC_ADDR));
    // With `struct sk_buff`, the kernel compares the packet with the MTU after a successful lookup.
    let success = match skb {
        true => {
            let compared = emit.unknown_bit("MTU compared after the lookup", &["no", "yes"]);
            let compared = emit.and(too_long, compared);
            emit.or(success, compared)
        }
        false => success,
    };
    let found = emit.or(success, no_neighbour);
    let found = emit.or(found, no_source);
    let writes_mtu = emit.or(success, too_long);
    let mut flag = |bit| emit.extract(flags, bit, 1);
    let (skip_neighbour, table, source) = (flag(SKIP_NEIGH), flag(TBID), flag(SRC));
    let place = |lifter: &mut Lifter<'_>, field| lifter.ir.emit.add(params, word(field));

    let at = place(lifter, fib::MTU_RESULT);
    lifter.number_if(writes_mtu, at, (2, u16::MAX.into()), "params->mtu_result");
    let at = place(lifter, fib::IFINDEX);
    lifter.number_if(found, at, (4, INT_MAX), "params->ifindex");
    let at = place(lifter, fib::RT_METRIC);
    lifter.havoc_if(found, at, 4, "params->rt_metric");
    // An IPv4 route can have a gateway with an IPv6 address.
    let gateway6 = lifter.ir.emit.unknown_bit("family of the gateway", &["the route's", "IPv6"]);
    let emit = &mut lifter.ir.emit;
    let change = emit.and(v4, gateway6);
    let change = emit.and(found, change);
    let at = place(lifter, fib::FAMILY);
    lifter.ir.emit.store_if(change, at, Operand::constant(8, AF_INET6));
    let long = {
        let emit = &mut lifter.ir.emit;
        let v4_only = emit.not(change);
        let short = emit.and(v4, v4_only);
        let long = emit.not(short);
        emit.and(found, long)
    };
    let at = place(lifter, fib::DST);
    lifter.havoc_if(found, at, 4, "params->ipv4_dst");
    let at = place(lifter, fib::DST + 4);
    lifter.havoc_if(long, at, 12, "params->ipv6_dst");
    let emit = &mut lifter.ir.emit;
    let has_source = emit.and(found, source);
    let v6 = emit.not(v4);
    let has_source6 = emit.and(has_source, v6);
    let at = place(lifter, fib::SRC);
    lifter.havoc_if(has_source, at, 4, "params->ipv4_src");
    let at = place(lifter, fib::SRC + 4);
    lifter.havoc_if(has_source6, at, 12, "params->ipv6_src");
    // The kernel clears the table number before the lookup. On success, it clears the VLAN fields,
    // which share the bytes of the table number.
    let at = place(lifter, fib::VLAN);
    let table_queried = lifter.ir.emit.unknown_bit("whether a table was asked", &["no", "yes"]);
    let emit = &mut lifter.ir.emit;
    let taken = emit.and(fine, table);
    let taken = emit.and(taken, table_queried);
    let cleared = emit.or(success, taken);
    emit.store_if(cleared, at, Operand::constant(32, 0));
    let emit = &mut lifter.ir.emit;
    let neighbour = emit.not(skip_neighbour);
    let neighbour = emit.and(success, neighbour);
    let at = place(lifter, fib::MACS);
    lifter.havoc_if(neighbour, at, 12, "params->smac and dmac");
}
