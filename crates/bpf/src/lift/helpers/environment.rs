//! Helpers whose results come from outside: clocks, random numbers, the processor, the routing
//! table, user space.

use slowpath_ir::{Emit, InputKind, Op, Operand, Reading};

use crate::lift::emit::word;
use crate::lift::error::Cause;
use crate::lift::frame::Place;
use crate::lift::lifter::Lifter;
use crate::lift::value::Known;
use crate::maps::MapKind;

/// What a witness calls the result of a helper.
const RETURNED: &str = "return value";

/// Largest error number.
const MAX_ERRNO: u64 = 4095;

/// `bpf_ktime_get_ns()` and its relatives: later than, or the same as, the last time asked.
pub(super) fn clock(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    /// Nanoseconds since boot: more than a century.
    const START_MAX: u64 = (1 << 62) - 1;
    /// Nanoseconds between two calls of a run: more than a second.
    const STEP_MAX: u64 = u32::MAX as u64;
    let name = lifter.call_cost(at, None);
    let (now, start) = lifter.machine.start_unknown(&name, 64, START_MAX);
    let step = lifter.machine.emit.draw(RETURNED, Reading::Time(start), 64, STEP_MAX);
    let later = lifter.machine.emit.add(now, step);
    lifter.machine.emit.copy(now, later);
    lifter.result(now.into(), Known::NoStack);
    Ok(())
}

/// `bpf_get_prandom_u32()`.
pub(super) fn random(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let value = lifter.machine.emit.draw(RETURNED, Reading::Number, 64, u32::MAX.into());
    lifter.result(value, Known::NoStack);
    Ok(())
}

/// A number that is the same throughout a run.
fn constant(lifter: &mut Lifter<'_>, at: Place, max: u64) -> Result<(), Cause> {
    let name = lifter.call_cost(at, None);
    let input = lifter.machine.input(&name, 64, 0, max, InputKind::Unknown);
    let dst = lifter.machine.extra(&name, 64);
    lifter.machine.emit.push(Op::Input { dst, input });
    lifter.result(dst.into(), Known::NoStack);
    Ok(())
}

/// `bpf_get_smp_processor_id()`, below the largest `CONFIG_NR_CPUS`.
pub(super) fn processor(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    constant(lifter, at, 8191)
}

/// `bpf_get_numa_node_id()`, below the largest `MAX_NUMNODES`.
pub(super) fn numa_node(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    constant(lifter, at, 1023)
}

/// A helper that returns 0 or an error and changes nothing that the program sees.
pub(super) fn zero_or_error(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    may_fail(lifter);
    Ok(())
}

fn may_fail(lifter: &mut Lifter<'_>) {
    let error = lifter.machine.emit.draw(RETURNED, Reading::Error, 64, MAX_ERRNO);
    let result = lifter.machine.emit.sub(word(0), error);
    lifter.result(result, Known::NoStack);
}

/// A helper that returns anything and changes nothing that the program sees.
pub(super) fn any(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let value = lifter.machine.emit.draw(RETURNED, Reading::Signed, 64, u64::MAX);
    lifter.result(value, Known::NoStack);
    Ok(())
}

/// A helper without result that changes nothing that the program sees.
pub(super) fn nothing(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.result(word(0), Known::NoStack);
    Ok(())
}

/// `bpf_perf_event_output(ctx, map, flags, data, size)`: 0 or an error.
pub(super) fn perf_output(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    let map = lifter.map_in(2)?;
    if map.def.kind != MapKind::PERF_EVENT_ARRAY {
        let what = format!("{} is no perf event array", map.def.name);
        return Err(Cause::new(what, crate::lift::error::VERIFIER));
    }
    lifter.call_cost(at, None);
    may_fail(lifter);
    Ok(())
}

/// `bpf_snprintf(str, size, fmt, data, len)`: the text and its length are anything.
pub(super) fn snprintf(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    if lifter.state.regs[2] != Known::Const(0) {
        let bytes = lifter.constant_size(2)?;
        let (buffer, known) = (lifter.machine.value(1), lifter.state.regs[1]);
        lifter.havoc(buffer, bytes, "str");
        lifter.state.clobber(known);
    }
    let value = lifter.machine.emit.draw(RETURNED, Reading::Signed, 64, u64::MAX);
    lifter.result(value, Known::NoStack);
    Ok(())
}

/// `bpf_probe_read_kernel(dst, size, address)`: 0 or an error; what is read is anything.
pub(super) fn probe_read(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let bytes = lifter.constant_size(2)?;
    let (buffer, known) = (lifter.machine.value(1), lifter.state.regs[1]);
    lifter.havoc(buffer, bytes, "dst");
    lifter.state.clobber(known);
    may_fail(lifter);
    Ok(())
}

/// `bpf_check_mtu(ctx, ifindex, mtu_len, len_diff, flags)`: fits or not, or an error; writes the
/// MTU.
pub(super) fn check_mtu(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    const CODES: [&str; 3] =
        ["BPF_MTU_CHK_RET_SUCCESS", "BPF_MTU_CHK_RET_FRAG_NEEDED", "BPF_MTU_CHK_RET_SEGS_TOOBIG"];
    lifter.call_cost(at, None);
    let (length, known) = (lifter.machine.value(3), lifter.state.regs[3]);
    lifter.havoc_as(length, 4, "mtu_len", Reading::Number);
    lifter.state.clobber(known);
    either_or_error(lifter, &CODES);
    Ok(())
}

/// `bpf_fib_lookup(ctx, params, plen, flags)`: one of `BPF_FIB_LKUP_RET_*` or an error. What it may
/// write in `struct bpf_fib_lookup` is anything: whether there is a route is not the program's to
/// know.
pub(super) fn fib_lookup(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
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
    /// Offset and size in bytes, and the fields.
    const NUMBERS: [(u64, u8, &str); 2] = [(6, 2, "params->mtu_result"), (8, 4, "params->ifindex")];
    const OTHERS: [(u64, u32, &str); 2] = [
        (12, 4, "params->tos, flowinfo or rt_metric"),
        (16, 48, "params from offset 16: addresses, VLAN, MAC addresses"),
    ];
    lifter.call_cost(at, None);
    let (parameters, known) = (lifter.machine.value(2), lifter.state.regs[2]);
    for (offset, size, field) in NUMBERS {
        let address = lifter.machine.emit.add(parameters, word(offset));
        lifter.havoc_as(address, size, field, Reading::Number);
    }
    for (offset, bytes, fields) in OTHERS {
        let address = lifter.machine.emit.add(parameters, word(offset));
        lifter.havoc(address, bytes, fields);
    }
    lifter.state.clobber(known);
    either_or_error(lifter, &CODES);
    Ok(())
}

/// One of the codes, or any error: for what is asked, and for devices that are not there.
fn either_or_error(lifter: &mut Lifter<'_>, codes: &'static [&'static str]) {
    let emit = &mut lifter.machine.emit;
    let last = codes.len() as u64 - 1;
    let code = emit.draw("return value, if it is no error", Reading::Names(codes), 64, last);
    let error = emit.draw("return value, if it is an error", Reading::Error, 64, MAX_ERRNO);
    let fine = emit.eq(error, word(0));
    let error = emit.sub(word(0), error);
    let result = emit.select(fine, code, error);
    lifter.result(result, Known::NoStack);
}

/// `bpf_redirect(ifindex, flags)`: no flag is known to XDP.
pub(super) fn redirect(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let flags = lifter.machine.value(2);
    let emit = &mut lifter.machine.emit;
    let none = emit.eq(flags, word(0));
    let action = emit.select(none, word(super::XDP_REDIRECT), word(super::XDP_ABORTED));
    lifter.result(action, Known::NoStack);
    Ok(())
}

/// `bpf_ringbuf_reserve(map, size, flags)`: null, or room for a record with any content.
pub(super) fn ringbuf_reserve(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    /// Distance between records: more than the kernel hands out at once.
    const RECORD_BITS: u64 = 26;
    let map = lifter.map_in(1)?;
    if map.def.kind != MapKind::RINGBUF {
        let what = format!("{} is no ring buffer", map.def.name);
        return Err(Cause::new(what, crate::lift::error::VERIFIER));
    }
    lifter.call_cost(at, None);
    let base = lifter.machine.base(map.layout.values);
    let count = lifter.machine.start_zero(&format!("{}.records", map.def.name), 16);
    let emit = &mut lifter.machine.emit;
    let number = emit.zero_extend(count, 64);
    let offset =
        emit.binary(slowpath_ir::BinaryOp::Shl, number, Operand::constant(64, RECORD_BITS));
    let address = emit.add(base, offset);
    let full = emit.coin(RETURNED, &["a record", "null"]);
    let record = emit.select(full, word(0), address);
    lifter.result(record, Known::NoStack);
    let next = lifter.machine.emit.add(count, Operand::constant(16, 1));
    lifter.machine.emit.copy(count, next);
    Ok(())
}

/// `bpf_ringbuf_output(map, data, size, flags)`: 0 or an error.
pub(super) fn ringbuf_output(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.map_in(1)?;
    zero_or_error(lifter, at)
}
