//! Helpers and kernel functions that hand out objects of the kernel to read: sockets, connections,
//! flows.

use slowpath_ir::{BinaryOp, Emit, Operand, RegionKind};

use crate::lift::emit::word;
use crate::lift::error::Cause;
use crate::lift::frame::Place;
use crate::lift::lifter::Lifter;
use crate::lift::value::Known;

/// Distance between objects: more than any has bytes.
const OBJECT_BITS: u64 = 16;

/// A helper that returns null or an object with any content, which the program does not write.
pub(super) fn object(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    hand_out(lifter);
    Ok(())
}

/// Returns null or an object that no call has returned before.
pub(super) fn hand_out(lifter: &mut Lifter<'_>) {
    let region = lifter.machine.region("kernel objects", RegionKind::Context);
    let base = lifter.machine.base(region);
    let count = lifter.machine.start_zero("kernel objects handed out", 16);
    let emit = &mut lifter.machine.emit;
    let number = emit.zero_extend(count, 64);
    let offset = emit.binary(BinaryOp::Shl, number, word(OBJECT_BITS));
    let address = emit.add(base, offset);
    let found = emit.coin("return value", &["null", "an object"]);
    let value = emit.select(found, address, word(0));
    lifter.result(value, Known::NoStack);
    let next = lifter.machine.emit.add(count, Operand::constant(16, 1));
    lifter.machine.emit.copy(count, next);
}

/// `bpf_sk_fullsock(sk)`, `bpf_tcp_sock(sk)`: null, or what is behind the same address. Fields of
/// the two lie apart, and nothing is written there.
pub(super) fn same(lifter: &mut Lifter<'_>, at: Place) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    hand_out(lifter);
    Ok(())
}
