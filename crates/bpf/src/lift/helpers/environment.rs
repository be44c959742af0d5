//! Lifts helpers whose results come from the environment: clocks, random numbers, the processor.

use slowpath_ir::{Emit, InputId, InputKind, Op, ValueFormat};

use crate::errno::{EBUSY, ECANCELED, EDEADLK, EINVAL, ENOMEM, EOPNOTSUPP, EPERM};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::helpers::call_results::RETURNED;
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::maps::operand::MAX_CPUS;
use crate::lift::state::value::AbstractValue;

/// Largest error number that the kernel returns (`MAX_ERRNO`).
pub(super) const MAX_ERRNO: u64 = 4095;

/// Lifts `bpf_ktime_get_ns()` and its variants.
pub(super) fn clock(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// Upper bound on the nanoseconds since boot: more than a century.
    const START_MAX: u64 = (1 << 62) - 1;
    increasing(lifter, at, START_MAX, RETURNED, ValueFormat::Time)
}

/// Lifts `bpf_jiffies64()`.
pub(super) fn jiffies(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    /// Upper bound on the jiffies since boot: more than a century at 1000 jiffies per second.
    const START_MAX: u64 = (1 << 42) - 1;
    let name = "jiffies since the previous call";
    increasing(lifter, at, START_MAX, name, |_| ValueFormat::Number)
}

/// Lifts a helper whose result never decreases between calls in the same run, such as a clock. The
/// value at the start of the run is an unknown input of at most `start_max`. The increase since the
/// previous call is another unknown value. Reports call it `step_name`, and print it in the format
/// that `format` returns for the input.
fn increasing(
    lifter: &mut Lifter<'_>,
    at: ProgramPoint,
    start_max: u64,
    step_name: &str,
    format: fn(InputId) -> ValueFormat,
) -> Result<(), Cause> {
    /// Upper bound on the increase between two calls in the same run: more than four seconds.
    const STEP_MAX: u64 = u32::MAX as u64;
    let name = lifter.call_cost(at, None);
    let (now, start) = lifter.ir.start_unknown(&name, 64, start_max);
    let step = lifter.ir.emit.draw(step_name, format(start), 64, STEP_MAX);
    let later = lifter.ir.emit.add(now, step);
    lifter.ir.emit.copy(now, later);
    lifter.result(now.into(), AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_get_prandom_u32()`.
pub(super) fn random(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let value = lifter.ir.emit.draw(RETURNED, ValueFormat::Number, 64, u32::MAX.into());
    lifter.result(value, AbstractValue::NotStack);
    Ok(())
}

/// Lifts a helper that returns the same number, at most `max`, throughout a run.
fn constant(lifter: &mut Lifter<'_>, at: ProgramPoint, max: u64) -> Result<(), Cause> {
    let name = lifter.call_cost(at, None);
    let input = lifter.ir.input(&name, 64, 0, max, InputKind::Unknown);
    let dst = lifter.ir.extra(&name, 64);
    lifter.ir.emit.push(Op::Input { dst, input });
    lifter.result(dst.into(), AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_get_smp_processor_id()`. The result is less than the largest possible
/// `CONFIG_NR_CPUS`.
pub(super) fn processor(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    constant(lifter, at, u64::from(MAX_CPUS) - 1)
}

/// Lifts `bpf_get_numa_node_id()`. The result is less than the largest possible `MAX_NUMNODES`.
pub(super) fn numa_node(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    constant(lifter, at, 1023)
}

/// Lifts a helper whose result is one of the values in `values`.
pub(super) fn returns(
    lifter: &mut Lifter<'_>,
    at: ProgramPoint,
    values: &'static [i64],
) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let result = lifter.one_of(values);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts `bpf_timer_init(timer, map, flags)`.
pub(super) fn timer_init(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    returns(lifter, at, &[0, -EBUSY, -EINVAL, -EPERM, -ENOMEM, -EOPNOTSUPP])
}

/// Lifts `bpf_timer_set_callback(timer, callback)`.
pub(super) fn timer_set_callback(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    returns(lifter, at, &[0, -EINVAL, -EPERM, -EOPNOTSUPP])
}

/// Lifts `bpf_timer_start(timer, nsecs, flags)`.
///
/// The kernel runs callbacks in soft interrupts, which do not interrupt XDP and tc programs on the
/// same CPU. The work of callbacks is therefore not part of a run.
pub(super) fn timer_start(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    let sentence = "the work of timer callbacks, which run between packets, counts elsewhere";
    lifter.assume(sentence.to_owned());
    returns(lifter, at, &[0, -EINVAL, -EOPNOTSUPP])
}

/// Lifts `bpf_timer_cancel(timer)`, which returns 1 if the timer was active.
pub(super) fn timer_cancel(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    returns(lifter, at, &[0, 1, -EINVAL, -EDEADLK, -EOPNOTSUPP, -ECANCELED])
}

/// Lifts a helper that returns 0 or an error and has no effect visible to the program.
pub(super) fn zero_or_error(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let error = lifter.ir.emit.draw(RETURNED, ValueFormat::Error, 64, MAX_ERRNO);
    let result = lifter.ir.emit.sub(word(0), error);
    lifter.result(result, AbstractValue::NotStack);
    Ok(())
}

/// Lifts a helper that returns any value and has no effect visible to the program.
pub(super) fn any(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    let value = lifter.ir.emit.draw(RETURNED, ValueFormat::Signed, 64, u64::MAX);
    lifter.result(value, AbstractValue::NotStack);
    Ok(())
}

/// Lifts a helper that returns nothing and has no effect visible to the program.
pub(super) fn nothing(lifter: &mut Lifter<'_>, at: ProgramPoint) -> Result<(), Cause> {
    lifter.call_cost(at, None);
    lifter.result(word(0), AbstractValue::NotStack);
    Ok(())
}
