//! Lifts the helpers for SYN cookies (`net/core/filter.c` of Linux 6.18). Only the format of
//! cookies is modelled, not their values.

use slowpath_ir::{BinaryOp, Emit, ValueFormat};

use crate::errno::{EACCES, EINVAL, ENOENT, ENOTSUPP, EOPNOTSUPP, EPROTONOSUPPORT};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

/// Lifts `bpf_tcp_check_syncookie(sk, iph, iph_len, th, th_len)`. It may return an error because
/// the kernel was built without cookies.
pub(super) fn check(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let result = lifter.one_of(&[0, -ENOENT, -EINVAL, -EPROTONOSUPPORT, -EOPNOTSUPP, -ENOTSUPP]);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_tcp_raw_check_syncookie_ipv4(iph, th)` and its IPv6 variant.
pub(super) fn check_raw(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let result = lifter.one_of(&[0, -EACCES, -EPROTONOSUPPORT, -EOPNOTSUPP]);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_tcp_gen_syncookie(sk, iph, iph_len, th, th_len)`,
/// `bpf_tcp_raw_gen_syncookie_ipv4(iph, th, th_len)` and its IPv6 variant. The result is an error,
/// or 32 bits of cookie below a 16-bit segment size that is not zero.
pub(super) fn make(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// Smallest and largest TCP segment size that a SYN cookie can come with.
    const SIZES: (u64, u64) = (1, u16::MAX as u64);
    lifter.call_cost(at, None);
    let emit = &mut lifter.ir.emit;
    let cookie = emit.draw("cookie", ValueFormat::Number, 64, u32::MAX.into());
    let size = emit.draw_between("segment size", ValueFormat::Number, 64, SIZES);
    let size = emit.binary(BinaryOp::Shl, size, word(32));
    let both = emit.or(size, cookie);
    let errors = &[0, -EINVAL, -ENOENT, -EPROTONOSUPPORT, -EOPNOTSUPP, -ENOTSUPP];
    let result = lifter.number_or_error(both, errors);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}
