//! Lifts the helpers that return kernel objects (sockets, connections, flows), which programs can
//! read but not write.

use slowpath_ir::{Emit, Operand, RegionKind};

use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::call_results::RETURNED;
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

/// Binary logarithm of the distance in bytes between the modelled objects. The distance exceeds the
/// size of any object.
const OBJECT_BITS: u64 = 16;

/// Lifts a helper that returns null or an object with unknown content, to which the program does
/// not write. `bpf_sk_fullsock(sk)` and `bpf_tcp_sock(sk)` return the same socket as another
/// structure. A new object models this, because the fields of the structures do not overlap.
pub(super) fn object(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    return_new_object(lifter, None);
    Ok(())
}

/// Lifts `bpf_sk_lookup_tcp(ctx, tuple, size, netns, flags)` and its variants (`bpf_sk_lookup` of
/// `net/core/filter.c`, Linux 6.18). Returns null if flags are set, if the tuple is neither IPv4
/// nor IPv6, or if the network namespace is invalid. Otherwise returns null or a socket with
/// unknown content.
pub(super) fn look_up(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// Sizes of `struct bpf_sock_tuple` for IPv4 and IPv6.
    const TUPLES: [u64; 2] = [12, 36];
    lifter.call_cost(at, None);
    let (size, space) = (lifter.ir.value(3), lifter.ir.value(4));
    let flags = lifter.ir.value(5);
    let emit = &mut lifter.ir.emit;
    let size = emit.extract(size, 0, 32);
    let [v4, v6] = TUPLES.map(|bytes| emit.eq(size, Operand::constant(32, bytes)));
    let family = emit.or(v4, v6);
    let no_flags = emit.eq(flags, word(0));
    // A negative 32-bit number stands for the namespace of the device.
    let own_namespace = emit.extract(space, 31, 1);
    let number = emit.ult(space, word(1 << 31));
    let exists = emit.or(own_namespace, number);
    let possible = emit.and(family, no_flags);
    let possible = emit.and(possible, exists);
    return_new_object(lifter, Some(possible));
    Ok(())
}

/// Sets `r0` to null, or to the address of an object that no earlier call returned. If `possible`
/// is given and not set, `r0` is null. Returns a 1-bit operand that is set if `r0` is not null.
pub(super) fn return_new_object(lifter: &mut Lifter<'_>, possible: Option<Operand>) -> Operand {
    let region = lifter.ir.region("kernel objects", RegionKind::Context);
    let count = lifter.ir.start_zero("kernel objects handed out", 16);
    let address = lifter.ir.item(region, count, OBJECT_BITS);
    let emit = &mut lifter.ir.emit;
    let found = emit.unknown_bit(RETURNED, &["null", "an object"]);
    let found = match possible {
        Some(possible) => emit.and(found, possible),
        None => found,
    };
    let value = emit.select(found, address, word(0));
    lifter.result(value, AbstractValue::NotStack);
    let next = lifter.ir.emit.add(count, Operand::constant(16, 1));
    lifter.ir.emit.copy(count, next);
    found
}
