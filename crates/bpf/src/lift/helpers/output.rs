//! Lifts the helpers that write text and events for user space, or that read kernel memory
//! (`kernel/trace/bpf_trace.c`, `kernel/bpf/helpers.c`, `net/core/filter.c`,
//! `kernel/events/ring_buffer.c` of Linux 6.18).

use slowpath_codes as codes;
use slowpath_ir::{BinaryOp, Emit, Operand, ValueFormat};

use crate::errno::{E2BIG, EBUSY, EFAULT, EINVAL, ENOENT, ENOSPC, EOPNOTSUPP, EPERM, ERANGE};
use crate::lift::error::{Cause, VERIFIER};
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::call_results::NUMBER;
use crate::lift::ir::emit::{errno, word};
use crate::lift::layout::memory::chunks;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;
use crate::maps::MapKind;

/// Upper bound on the length of the text that a helper prints, in bytes.
const INT_MAX: u64 = i32::MAX as u64;

/// Lifts `bpf_perf_event_output(ctx, map, flags, data, size)` (`bpf_xdp_event_output`). Fails for
/// invalid flags, for a length beyond the packet, and for an index beyond the map. Otherwise the
/// result depends on user space: a reader must exist, and its buffer must have room.
pub(super) fn perf_output(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// `BPF_F_INDEX_MASK`; as an index, this value means `BPF_F_CURRENT_CPU`.
    const INDEX: u64 = 0xffff_ffff;
    /// `BPF_F_CTXLEN_MASK`: the bits of the flags that hold the number of packet bytes to copy.
    const LENGTH: u64 = 0xf_ffff << 32;
    let map = lifter.map_in(2)?;
    if map.def.kind != MapKind::PERF_EVENT_ARRAY {
        let text = format!("{} is not a perf event array", map.def.name);
        return Err(Cause::new(codes::REJECTED_BY_VERIFIER, text, VERIFIER));
    }
    lifter.call_cost(at, None);
    lifter.assume_unfragmented(at);
    let user_space = lifter.one_of(&[0, -ENOENT, -E2BIG, -EBUSY, -EINVAL, -ENOSPC, -EOPNOTSUPP]);
    let packet = lifter.packet_length();
    let flags = lifter.ir.value(3);
    let emit = &mut lifter.ir.emit;
    let others = emit.and(flags, word(!(INDEX | LENGTH)));
    let known_flags = emit.eq(others, word(0));
    let bytes = emit.and(flags, word(LENGTH));
    let bytes = emit.binary(BinaryOp::Lshr, bytes, word(32));
    let too_many = emit.ult(packet, bytes);
    let index = emit.extract(flags, 0, 32);
    let this_cpu = emit.eq(index, Operand::constant(32, INDEX));
    let mut result = user_space;
    if let Some(size) = map.fixed_size() {
        let inside = emit.ult(index, Operand::constant(32, size.into()));
        let inside = emit.or(inside, this_cpu);
        result = emit.select(inside, result, errno(E2BIG));
    }
    let result = emit.select(too_many, errno(EFAULT), result);
    let result = emit.select(known_flags, result, errno(EINVAL));
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_trace_printk(fmt, size, ...)` and `bpf_trace_vprintk(fmt, size, data, len)`. The
/// result is the length of the text, or an error if the format does not fit its arguments or
/// buffers are exhausted.
pub(super) fn printed(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    // The length is a function of the arguments.
    lifter.ir.emit.computed = true;
    let length = lifter.ir.emit.draw(NUMBER, ValueFormat::Number, 64, INT_MAX);
    lifter.ir.emit.computed = false;
    let result = lifter.number_or_error(length, &[0, -EINVAL, -EBUSY, -ENOSPC]);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_snprintf(str, size, fmt, data, len)`. The text is unknown. The result is the length
/// of the text before truncation, with the final NUL, or an error. After an error, the buffer is
/// unchanged.
pub(super) fn snprintf(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let buffer = match lifter.state.regs[2] {
        AbstractValue::Const(0) => None,
        _ => Some(lifter.constant_size(2)?),
    };
    let error = lifter.error_of(&[0, -EINVAL, -EBUSY, -ENOSPC]);
    let fine = lifter.ir.emit.eq(error, word(0));
    // The text is a function of the arguments.
    lifter.ir.emit.computed = true;
    let length = lifter.ir.emit.draw_between(NUMBER, ValueFormat::Number, 64, (1, INT_MAX));
    if let Some(bytes) = buffer {
        let (buffer, known) = (lifter.ir.value(1), lifter.state.regs[1]);
        lifter.havoc_if(fine, buffer, bytes, "str");
        lifter.state.clobber(known);
    }
    lifter.ir.emit.computed = false;
    let result = lifter.ir.emit.select(fine, length, error);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_probe_read_kernel(dst, size, address)`, which reads unknown values, or zeros if the
/// memory is not readable.
pub(super) fn probe_read(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let bytes = lifter.constant_size(2)?;
    let (buffer, known) = (lifter.ir.value(1), lifter.state.regs[1]);
    let result = lifter.one_of(&[0, -EFAULT, -ERANGE, -EPERM]);
    let fine = lifter.ir.emit.eq(result, word(0));
    for (offset, size) in chunks(bytes) {
        let address = lifter.ir.emit.add(buffer, word(offset));
        lifter.ir.emit.store(address, Operand::constant(8 * size, 0));
    }
    lifter.havoc_if(fine, buffer, bytes, "dst");
    lifter.state.clobber(known);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}
