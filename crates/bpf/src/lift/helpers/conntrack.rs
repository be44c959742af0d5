//! Lifts the kernel functions for connection tracking and flow tables
//! (`net/netfilter/nf_conntrack_bpf.c`, `nf_conntrack_core.c`, `nf_nat_bpf.c`,
//! `nf_flow_table_bpf.c` of Linux 6.18).

use slowpath_ir::{Emit, Operand, ValueFormat};

use super::environment::MAX_ERRNO;
use super::socket;
use crate::errno::{EBUSY, EINVAL, ENOMEM, EPERM, ETIME};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::state::value::AbstractValue;

/// Upper bound on `sizeof(struct nf_conn)`, in bytes.
const CONNECTION: u32 = 512;

/// Offset of `error` in `struct bpf_ct_opts`, in bytes.
const CT_ERROR: u64 = 4;
/// Offset of `dir` in `struct bpf_ct_opts`, in bytes.
const CT_DIRECTION: u64 = 9;
/// Offset of `error` in `struct bpf_flowtable_opts`, in bytes.
const FLOW_ERROR: u64 = 0;

/// Lifts `bpf_ct_set_status(connection, status)` and `bpf_ct_change_status(connection, status)`.
pub(super) fn status(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    changed(lifter, at, &[0, -EBUSY])
}

/// Lifts `bpf_ct_change_timeout(connection, timeout)`.
pub(super) fn change_timeout(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    changed(lifter, at, &[0, -EPERM, -ETIME])
}

/// Lifts `bpf_ct_set_timeout(connection, timeout)`.
pub(super) fn set_timeout(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    changed(lifter, at, &[0])
}

/// Lifts `bpf_ct_set_nat_info(connection, address, port, manipulation)`.
pub(super) fn nat(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    changed(lifter, at, &[0, -EINVAL, -ENOMEM])
}

/// Lifts a call that changes fields of a connection to unknown values and returns one of `results`.
fn changed(
    lifter: &mut Lifter<'_>,
    at: ProgramPoint,
    results: &'static [i64],
) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let connection = lifter.ir.value(1);
    lifter.havoc(connection, CONNECTION, "the connection");
    let result = lifter.one_of(results);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_xdp_ct_alloc(ctx, tuple, tuple_size, opts, opts_size)`.
pub(super) fn allocate(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    let found = new_object(lifter, at);
    failure(lifter, found, (4, 5), CT_ERROR)
}

/// Lifts `bpf_xdp_ct_lookup(ctx, tuple, tuple_size, opts, opts_size)`, which also writes the
/// connection's direction into the options.
pub(super) fn look_up(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    let found = new_object(lifter, at);
    failure(lifter, found, (4, 5), CT_ERROR)?;
    if lifter.constant_size(5)? > CT_DIRECTION as u32 {
        let options = lifter.ir.value(4);
        let place = lifter.ir.emit.add(options, word(CT_DIRECTION));
        lifter.number_if(found, place, (1, 1), "opts->dir");
    }
    Ok(())
}

/// Lifts `bpf_xdp_flow_lookup(ctx, tuple, opts, opts_size)`.
pub(super) fn flow(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    let found = new_object(lifter, at);
    failure(lifter, found, (3, 4), FLOW_ERROR)
}

/// Sets `r0` to the address of a new object or to null. Returns a 1-bit operand that is set if `r0`
/// is not null.
fn new_object(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Operand {
    lifter.call_cost(at, None);
    socket::return_new_object(lifter, None)
}

/// Writes an unknown error to offset `field` of the options if `found` is false, because the call
/// returned null. Registers `options` and `size` hold the options' address and size.
fn failure(
    lifter: &mut Lifter<'_>,
    found: Operand,
    (options, size): (u8, u8),
    field: u64,
) -> Result<(), Cause> {
    let bytes = lifter.constant_size(size)?;
    let known = lifter.state.regs[usize::from(options)];
    if u64::from(bytes) >= field + 4 {
        let options = lifter.ir.value(options);
        let emit = &mut lifter.ir.emit;
        let number = emit.draw_between("opts->error", ValueFormat::Error, 32, (1, MAX_ERRNO));
        let error = emit.sub(Operand::constant(32, 0), number);
        let place = emit.add(options, word(field));
        let failed = emit.not(found);
        emit.store_if(failed, place, error);
        lifter.state.clobber(known);
    }
    Ok(())
}
