//! Calls of the kernel's helpers: code of their own, an address computation for the array map of the
//! paper's firmware, or a call of the stock firmware (`adjust_head`, `adjust_tail`,
//! `map_call_stack_common`, `nfp_get_prandom_u32`, `nfp_perf_event_output` of the driver).

use slowpath_bpf::insn::{Call, Insn as BpfInsn, helper_name};
use slowpath_bpf::lift::{Offset, RegisterValue, Room};

use super::MapAbi;
use super::assembler::{
    Assembler, Dst, Goal, IMM_A, IMM_B, LENGTH, MAP, STACK, VECTOR_LENGTH, VECTOR_POINTER, a, b,
    imm, local,
};
use super::error::Cause;
use super::step::{Plan, constant_offset};
use super::subset::stack_argument;
use crate::{AluOp, BranchCondition, FIRST_EXIT, Insn, ShiftAmount, ShiftKind};

const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const MAP_DELETE: i32 = 3;
const RANDOM: i32 = 7;
const PERF_OUTPUT: i32 = 25;
pub(super) const ADJUST_HEAD: i32 = 44;
const ADJUST_TAIL: i32 = 65;

/// `-EINVAL`, as a word.
const EINVAL: u32 = -22i32 as u32;
/// No packet gets shorter than an Ethernet header.
const ETHERNET: u32 = 14;
/// Control register of the pseudo-random generator, in bytes.
const RANDOM_REGISTER: u16 = 0x148;

/// Where the packet may start in its buffer, in bytes, and how far it can always be moved
/// (`ebpf_init_cap_adjust_head` of the public firmware, `apps/nic/ebpf.uc`).
const HEAD_FIRST: u32 = 44;
const HEAD_LAST: u32 = 248;
const HEAD_DOWN: i32 = 84;
const HEAD_UP: i32 = 112;
/// Where the firmware puts packets, in bytes from the start of their buffer: as far from the bounds
/// as it guarantees.
const HEAD_START: u32 = HEAD_FIRST + HEAD_DOWN as u32;

/// How far the card's helpers can move the ends of a packet.
pub const ROOM: Room =
    Room { before: HEAD_DOWN as u64, cut: Some((HEAD_LAST - HEAD_START) as u64), tail: None };
/// Shortest frame without check sequence, less an Ethernet header: what can be cut off every packet.
const ALWAYS_THERE: i32 = 60 - 14;

/// How many argument registers a helper reads.
pub(super) fn arguments(number: i32) -> u8 {
    match number {
        RANDOM => 0,
        MAP_LOOKUP | MAP_DELETE | ADJUST_HEAD | ADJUST_TAIL => 2,
        MAP_UPDATE => 4,
        _ => 5,
    }
}

/// Refuses calls that the card has not (`nfp_bpf_check_helper_call`).
pub(super) fn check(plan: &Plan<'_>, slot: usize, number: i32, abi: MapAbi) -> Result<(), Cause> {
    let name = helper_name(number).unwrap_or("an unknown helper");
    let argument = |number| plan.registers.before(slot, number);
    match (number, abi) {
        (MAP_LOOKUP, _) | (MAP_UPDATE | MAP_DELETE, MapAbi::Call) => {
            stack_argument(name, argument(2))?;
            if number == MAP_UPDATE {
                stack_argument(name, argument(3))?;
            }
            match argument(1) {
                RegisterValue::Map(_) => Ok(()),
                _ => Err(Cause::new(
                    format!("{name} with different maps on different ways to it"),
                    "call it in each branch",
                )),
            }
        }
        (MAP_UPDATE | MAP_DELETE, MapAbi::ArrayPointer) => Err(Cause::new(
            format!("{name}: the firmware has one array, whose elements programs cannot set"),
            "--map-abi call compiles it for the stock firmware, whose map costs are not published",
        )),
        (RANDOM | ADJUST_TAIL | ADJUST_HEAD, _) => Ok(()),
        (PERF_OUTPUT, MapAbi::Call) => perf_output(argument(3), argument(4)),
        _ => Err(Cause::new(
            format!("{name}, which the card does not have"),
            "--target ebpf counts instructions instead",
        )),
    }
}

fn perf_output(flags: RegisterValue, data: RegisterValue) -> Result<(), Cause> {
    /// `BPF_F_CURRENT_CPU`, which is also the mask of an index.
    const CURRENT: u64 = 0xffff_ffff;
    match flags {
        RegisterValue::Constant(flags) if flags & CURRENT == CURRENT => {}
        _ => {
            let what = "bpf_perf_event_output to another than the current CPU";
            return Err(Cause::new(what, "pass BPF_F_CURRENT_CPU"));
        }
    }
    match data {
        RegisterValue::Stack { .. } => stack_argument("bpf_perf_event_output", data).map(drop),
        RegisterValue::Packet | RegisterValue::MapValue { .. } => Ok(()),
        RegisterValue::Other | RegisterValue::Constant(_) => Ok(()),
        _ => Err(Cause::new("bpf_perf_event_output of this kind of data", "copy it to the stack")),
    }
}

/// Emits a call.
pub(super) fn call(
    asm: &mut Assembler,
    plan: &Plan<'_>,
    slot: usize,
    number: i32,
    abi: MapAbi,
    depth: u32,
) {
    match (number, abi) {
        (ADJUST_HEAD, _) if always_succeeds(plan, slot) => move_head(asm),
        (ADJUST_HEAD, _) => adjust_head(asm),
        (ADJUST_TAIL, _) => adjust_tail(asm),
        (RANDOM, _) => random(asm),
        (PERF_OUTPUT, _) => {
            let data = plan.registers.before(slot, 4);
            call_perf_output(asm, data);
        }
        (_, MapAbi::ArrayPointer) => look_up(asm, plan, slot, depth),
        (_, MapAbi::Call) => call_map(asm, plan, slot, number, depth),
    }
}

/// Whether the program moves the packet's head in one place, by a constant that every packet has
/// room for (`nfp_record_adjust_head`).
pub(super) fn always_succeeds(plan: &Plan<'_>, slot: usize) -> bool {
    let calls = (0..plan.steps.len()).filter(|&slot| {
        plan.is_live(slot) && plan.steps[slot].insn == BpfInsn::Call(Call::Helper(ADJUST_HEAD))
    });
    let Some(distance) = plan.steps[slot].bounds.src.and_then(|src| src.as_constant()) else {
        return false;
    };
    let distance = distance as i32;
    let possible = distance <= ALWAYS_THERE && (-HEAD_DOWN..=HEAD_UP).contains(&distance);
    calls.count() == 1 && possible
}

/// Whether the program may make packets shorter than they were received at their end.
pub(super) fn cuts_tail(plan: &Plan<'_>) -> bool {
    let call = BpfInsn::Call(Call::Helper(ADJUST_TAIL));
    (0..plan.steps.len()).any(|slot| plan.is_live(slot) && plan.steps[slot].insn == call)
}

/// Low word of the distance argument, `r2`.
const DISTANCE: u8 = 4;

fn result(asm: &mut Assembler, low: u32, high: u32) {
    asm.constant(Dst::Both(0), low);
    asm.constant(Dst::Both(1), high);
}

fn move_head(asm: &mut Assembler) {
    asm.alu(VECTOR_POINTER, a(DISTANCE), AluOp::Add, VECTOR_POINTER);
    asm.alu(LENGTH, LENGTH, AluOp::Sub, a(DISTANCE));
    asm.alu(VECTOR_LENGTH, VECTOR_LENGTH, AluOp::Sub, a(DISTANCE));
    result(asm, 0, 0);
}

fn adjust_head(asm: &mut Assembler) {
    use BranchCondition::{CarryClear, Minus};
    let invalid = asm.here() + 14;
    let behind = invalid + 2;
    let fail = |asm: &mut Assembler, condition| asm.branch(condition, Goal::Number(invalid), 0);
    // The place in the buffer is the low half of the address.
    asm.alu(IMM_A, a(DISTANCE), AluOp::Add16, VECTOR_POINTER);
    asm.alu(Dst::None, IMM_A, AluOp::Sub, imm(HEAD_FIRST));
    fail(asm, CarryClear);
    asm.alu(Dst::None, imm(HEAD_LAST), AluOp::Sub, IMM_A);
    fail(asm, CarryClear);
    asm.alu(IMM_B, LENGTH, AluOp::Sub, a(DISTANCE));
    asm.alu(Dst::None, IMM_B, AluOp::Sub, imm(ETHERNET));
    fail(asm, Minus);
    result(asm, 0, 0);
    asm.field(VECTOR_POINTER, 0b0011, IMM_A, None);
    asm.branch(BranchCondition::Always, Goal::Number(behind), 2);
    asm.alu(LENGTH, LENGTH, AluOp::Sub, a(DISTANCE));
    asm.alu(VECTOR_LENGTH, VECTOR_LENGTH, AluOp::Sub, a(DISTANCE));
    result(asm, EINVAL, u32::MAX);
}

fn adjust_tail(asm: &mut Assembler) {
    let invalid = asm.here() + 9;
    let behind = invalid + 2;
    // A distance of zero is not allowed: without a carry the packet would grow.
    asm.alu(IMM_A, LENGTH, AluOp::Add, a(DISTANCE));
    asm.branch(BranchCondition::CarryClear, Goal::Number(invalid), 0);
    asm.alu(Dst::None, IMM_A, AluOp::Sub, imm(ETHERNET));
    asm.branch(BranchCondition::Minus, Goal::Number(invalid), 0);
    asm.alu(LENGTH, LENGTH, AluOp::Add, a(DISTANCE));
    asm.alu(VECTOR_LENGTH, VECTOR_LENGTH, AluOp::Add, a(DISTANCE));
    asm.branch(BranchCondition::Always, Goal::Number(behind), 2);
    result(asm, 0, 0);
    result(asm, EINVAL, u32::MAX);
}

fn random(asm: &mut Assembler) {
    asm.push(Insn::LocalCsrRd { csr: RANDOM_REGISTER });
    // The first takes the value.
    result(asm, 0, 0);
}

/// Whether the key is not where base register 0 points.
fn key_elsewhere(plan: &Plan<'_>, slot: usize, depth: u32) -> bool {
    match plan.registers.before(slot, 2) {
        RegisterValue::Stack { offset, .. } => {
            let place = constant_offset(offset).map(|offset| offset + i64::from(depth));
            !matches!(offset, Offset::Constant(_)) || place != Some(0)
        }
        _ => true,
    }
}

/// The stack pointer of the key goes to base register 0 and back.
const KEY: u8 = 4;

fn restore_local_base(asm: &mut Assembler) {
    asm.local_base(0, STACK);
    asm.nops(3);
}

/// The address of an array's element: the index, masked and multiplied by the size of elements,
/// which is a power of two (the paper's patch of the driver).
fn look_up(asm: &mut Assembler, plan: &Plan<'_>, slot: usize, depth: u32) {
    let RegisterValue::Map(number) = plan.registers.before(slot, 1) else { return };
    let Some(map) = plan.map(number) else { return };
    let elsewhere = key_elsewhere(plan, slot, depth);
    if elsewhere {
        asm.local_base(0, b(KEY));
    }
    asm.mov(Dst::Both(1), MAP);
    let size = map.value_size.next_power_of_two();
    let mask = map.max_entries.wrapping_mul(size).wrapping_sub(1);
    let mask = if elsewhere {
        asm.nops(1);
        asm.constant(IMM_A, mask);
        IMM_A
    } else {
        asm.restricted(mask, IMM_A)
    };
    let amount = ShiftAmount::Bits(size.trailing_zeros() as u8);
    asm.shift(Dst::Both(0), mask, AluOp::And, local(0, 0), ShiftKind::Left, amount);
    if elsewhere {
        restore_local_base(asm);
    }
}

/// A branch to code of the firmware; the driver fills in where it is.
fn branch_to_firmware(asm: &mut Assembler, number: i32) {
    let number = u32::try_from(number).unwrap_or(0);
    asm.leave(BranchCondition::Always, FIRST_EXIT + number, 2);
}

fn call_map(asm: &mut Assembler, plan: &Plan<'_>, slot: usize, number: i32, depth: u32) {
    /// The stack pointer of the value, `r3`.
    const VALUE: u8 = 6;
    let elsewhere = key_elsewhere(plan, slot, depth);
    if elsewhere {
        asm.local_base(0, b(KEY));
    }
    if number == MAP_UPDATE {
        asm.local_base(2, b(VALUE));
    }
    branch_to_firmware(asm, number);
    asm.mov(a(0), a(2));
    let behind = asm.here() + 1;
    asm.address_of(b(0), Goal::Number(behind));
    if elsewhere {
        restore_local_base(asm);
    }
}

fn call_perf_output(asm: &mut Assembler, data: RegisterValue) {
    // Numbers of `enum bpf_reg_type`, as the firmware knows them (`bpf/fw.h` of the driver).
    let kind = match data {
        RegisterValue::MapValue { .. } => 4,
        RegisterValue::Stack { .. } => 6,
        RegisterValue::Packet => 8,
        _ => 1,
    };
    let kind = asm.operand(kind, IMM_A);
    branch_to_firmware(asm, PERF_OUTPUT);
    asm.mov(a(1), kind);
    let behind = asm.here() + 1;
    asm.address_of(b(0), Goal::Number(behind));
}
