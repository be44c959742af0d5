//! What the card can run: the checks that the driver makes while the kernel's verifier visits an
//! instruction (`nfp_verify_insn`, `bpf/verifier.c`), and those of its table of instructions.

mod maps;

use std::collections::BTreeSet;

use slowpath_bpf::insn::{
    AluOp, AtomicOp, Call, Imm64, Insn, Register, Size, Source, SwapKind, Width,
};
use slowpath_bpf::lift::RegisterValue;

use maps::{Use, Uses, map_supported, mark};

use super::error::Cause;
use super::refusal::Refusal;
use super::step::{Plan, access_offset, constant_offset};
use super::{MapAbi, helper};

/// Offsets of the fields of `struct xdp_md` that the card has, in bytes.
pub(super) const DATA: i64 = 0;
pub(super) const DATA_END: i64 = 4;
pub(super) const RX_QUEUE_INDEX: i64 = 16;

const CARD: &str = "the card cannot run it; --target ebpf counts instructions instead";

/// What the card cannot run of a program: every such instruction, then the program as a whole.
pub(super) fn refused(plan: &Plan<'_>, abi: MapAbi) -> Vec<Refusal> {
    let mut uses = Uses::of(plan);
    let live = (0..plan.steps.len()).filter(|&slot| plan.is_live(slot));
    let causes =
        live.filter_map(|slot| Some((slot, instruction(plan, slot, abi, &mut uses).err()?)));
    let mut causes: Vec<(usize, Cause)> = causes.collect();
    if causes.iter().any(|(slot, _)| matches!(plan.steps[*slot].insn, Insn::Call(_))) {
        causes.retain(|(_, cause)| !cause.may_follow);
    }
    let refused = causes.into_iter().map(|(slot, cause)| Refusal::at(plan.program, slot, cause));
    refused.chain(stack(plan)).collect()
}

fn global_data() -> Cause {
    let hint = "make it a constant or an element of an array map";
    Cause::new("a global variable: the card has no global data", hint)
}

fn unsupported(what: impl Into<String>) -> Cause {
    Cause::new(what, CARD)
}

fn instruction(plan: &Plan<'_>, slot: usize, abi: MapAbi, uses: &mut Uses) -> Result<(), Cause> {
    match plan.steps[slot].insn {
        Insn::Alu { width, op, dst, src } => alu(plan, slot, (width, op, dst, src)),
        Insn::Neg { .. } | Insn::SecondSlot | Insn::Exit | Insn::Jump { long: false, .. } => Ok(()),
        Insn::Jump { long: true, .. } => Err(unsupported("a jump with a 32-bit offset")),
        Insn::MayGoto { .. } => Err(unsupported("may_goto")),
        Insn::MoveSigned { .. } => Err(unsupported("a move with sign extension (cpu=v4)")),
        Insn::Swap { kind: SwapKind::Be, .. } => Ok(()),
        Insn::Swap { kind: SwapKind::Le, .. } => Err(unsupported("a conversion to little-endian")),
        Insn::Swap { kind: SwapKind::Always, .. } => {
            Err(unsupported("an unconditional byte swap (cpu=v4)"))
        }
        Insn::LoadImm64 { value, .. } => match value {
            Imm64::Value(_) => Ok(()),
            Imm64::Map(map) => map_supported(plan, map, abi, uses),
            Imm64::MapValue { .. } => Err(global_data()),
            _ => Err(unsupported("the address of something other than a map")),
        },
        Insn::Load { signed: true, .. } => Err(unsupported("a load with sign extension (cpu=v4)")),
        Insn::Load { size, base, offset, .. } => load(plan, slot, size, base, offset, uses),
        Insn::Store { size, base, offset, src } => store(plan, slot, (size, base, offset, src)),
        Insn::Atomic { op, width, base, offset, src } => {
            atomic(plan, slot, (op, width, base, offset, src), uses)
        }
        Insn::LoadAcquire { .. } | Insn::StoreRelease { .. } => {
            Err(unsupported("a load or store with memory order"))
        }
        Insn::LoadPacket { .. } => Err(unsupported("packet access of classic BPF")),
        Insn::Branch { .. } => Ok(()),
        Insn::Call(Call::Subprogram { .. }) => Ok(()),
        Insn::Call(Call::Helper(number)) => helper::check(plan, slot, number, abi),
        Insn::Call(Call::Kfunc { .. }) => Err(unsupported("a call of a kernel function")),
    }
}

fn alu(
    plan: &Plan<'_>,
    slot: usize,
    (width, op, _, src): (Width, AluOp, Register, Source),
) -> Result<(), Cause> {
    const LARGEST: u64 = u32::MAX as u64;
    let bounds = &plan.steps[slot].bounds;
    let (least, most) = bounds.src();
    let hint = "mask or compare it first, so that its range is known";
    match op {
        AluOp::Mod | AluOp::Smod => {
            Err(unsupported("a remainder: the card has no instruction for it"))
        }
        AluOp::Sdiv => Err(unsupported("a signed division")),
        AluOp::Lsh | AluOp::Rsh | AluOp::Arsh => match src {
            Source::Reg(_) if least == most && least as u8 >= width.bits() => {
                Err(unsupported("a shift by a constant number of bits that is too large"))
            }
            _ => Ok(()),
        },
        AluOp::Mul if bounds.dst_max() > LARGEST => {
            Err(Cause::new("a factor that may need more than 32 bits", hint))
        }
        AluOp::Mul => match src {
            Source::Reg(_) if most > LARGEST => {
                Err(Cause::new("a factor that may need more than 32 bits", hint))
            }
            Source::Imm(value) if width == Width::W64 && value < 0 => {
                Err(unsupported("a multiplication by a negative constant"))
            }
            _ => Ok(()),
        },
        AluOp::Div if bounds.dst_max() > LARGEST => {
            Err(Cause::new("a dividend that may need more than 32 bits", hint))
        }
        AluOp::Div => {
            let divisor = match src {
                Source::Reg(_) if least != most => {
                    return Err(unsupported("a division by something that is no constant"));
                }
                Source::Reg(_) => least,
                Source::Imm(value) if value < 0 => {
                    return Err(unsupported("a division by a negative constant"));
                }
                Source::Imm(value) => u64::from(value.unsigned_abs()),
            };
            match divisor {
                0 => Err(unsupported("a division by zero")),
                1.. if divisor > LARGEST => Err(unsupported("a divisor of more than 32 bits")),
                _ if super::divide::is_wrong(divisor as u32) => {
                    let what =
                        format!("a division by {divisor}, which the driver compiles wrongly");
                    Err(Cause::new(what, "it shifts by an undefined number of bits then"))
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn load(
    plan: &Plan<'_>,
    slot: usize,
    size: Size,
    base: Register,
    offset: i16,
    uses: &mut Uses,
) -> Result<(), Cause> {
    match plan.value(slot, base) {
        RegisterValue::Context { offset: from } => match from.saturating_add(offset.into()) {
            DATA | DATA_END if size == Size::W => Ok(()),
            _ => Err(Cause::new(
                "a field of struct xdp_md that the card does not have",
                "it has data and data_end",
            )),
        },
        RegisterValue::MapValue { map, .. } => {
            let offsets = plan.registers.element_offsets(slot, base.number());
            mark(plan, map, (offsets, offset, size.bytes()), Use::Read, uses)
        }
        value => pointer(plan, slot, base, value),
    }
}

/// Pointers that memory can be accessed through.
fn pointer(
    plan: &Plan<'_>,
    slot: usize,
    base: Register,
    value: RegisterValue,
) -> Result<(), Cause> {
    match value {
        RegisterValue::Packet => Ok(()),
        RegisterValue::Stack { .. } => stack_access(plan, slot, base),
        RegisterValue::Data { .. } => Err(global_data()),
        RegisterValue::Other => Err(Cause::new(
            "a pointer whose kind is not the same on all ways to the instruction",
            "give each kind of pointer its own access",
        )
        .may_follow()),
        _ => Err(unsupported("a kind of pointer that the card does not know")),
    }
}

fn stack_access(plan: &Plan<'_>, slot: usize, base: Register) -> Result<(), Cause> {
    let places = plan.registers.stack_frames(slot, base.number());
    let offsets: Option<BTreeSet<i64>> =
        places.iter().map(|(_, offset)| offset.map(|offset| offset.rem_euclid(4))).collect();
    let hint = "stack variables are accessed at constant places";
    if places_before_frame(plan, slot, base) {
        let what = "a stack access in a caller's frame, which the driver compiles wrongly";
        return Err(Cause::new(what, "give the variable a multiple of 4 bytes, or pass its value"));
    }
    match offsets {
        None => Err(Cause::new("a stack access at a variable place", hint)),
        Some(offsets) if offsets.len() > 1 => {
            let what = "a stack access at places that differ in their alignment to 4 bytes";
            Err(Cause::new(what, "give the variables an alignment of 4 bytes"))
        }
        Some(_) => Ok(()),
    }
}

/// Whether an access to a caller's frame is before the function's own, at no multiple of 4 bytes:
/// the driver takes the place's remainder for that of a positive number.
fn places_before_frame(plan: &Plan<'_>, slot: usize, base: Register) -> bool {
    let RegisterValue::Stack { caller: true, .. } = plan.value(slot, base) else { return false };
    let depth = i64::from(plan.function_of(slot).stack.next_multiple_of(4));
    let offset = access_offset(&plan.steps[slot].insn).map_or(0, i64::from);
    let places = plan.registers.stack_frames(slot, base.number());
    places.into_iter().filter_map(|(_, from)| from).any(|from| {
        let place = from.saturating_add(depth + offset);
        place < 0 && place % 4 != 0
    })
}

fn store(
    plan: &Plan<'_>,
    slot: usize,
    (size, base, offset, src): (Size, Register, i16, Source),
) -> Result<(), Cause> {
    // The driver learns no pointer's kind from them, and then does not know what to emit.
    if let Source::Imm(_) = src {
        let hint = "compilers make it with cpu=v4 only; -mcpu=v3 stores registers";
        return Err(Cause::new("a store of a constant", hint));
    }
    match (plan.value(slot, base), src) {
        (RegisterValue::Context { offset: from }, Source::Reg(_))
            if from.saturating_add(offset.into()) == RX_QUEUE_INDEX && size == Size::W =>
        {
            Ok(())
        }
        (RegisterValue::Context { .. }, _) => Err(Cause::new(
            "a store to a field of struct xdp_md",
            "only rx_queue_index can be written",
        )),
        (RegisterValue::MapValue { .. }, _) => Err(Cause::new(
            "a write to an element of a map",
            "the card only reads elements and adds to them with __sync_fetch_and_add",
        )),
        (value, _) => pointer(plan, slot, base, value),
    }
}

fn atomic(
    plan: &Plan<'_>,
    slot: usize,
    (op, width, base, offset, src): (AtomicOp, Width, Register, i16, Register),
    uses: &mut Uses,
) -> Result<(), Cause> {
    if op != (AtomicOp::Add { fetch: false }) {
        let hint = "the card knows __sync_fetch_and_add whose result is not used";
        return Err(Cause::new("an atomic operation that is no plain addition", hint));
    }
    let map = match plan.value(slot, base) {
        RegisterValue::MapValue { map, .. } => map,
        RegisterValue::Data { .. } => return Err(global_data()),
        value => {
            let cause = unsupported("an atomic addition to something other than a map's element");
            let unknown = value == RegisterValue::Other;
            return Err(if unknown { cause.may_follow() } else { cause });
        }
    };
    match plan.value(slot, src) {
        RegisterValue::Other | RegisterValue::Constant(_) => {}
        _ => return Err(unsupported("an atomic addition of a pointer")),
    }
    let offsets = plan.registers.element_offsets(slot, base.number());
    mark(plan, map, (offsets, offset, width.bits() / 8), Use::Atomic, uses)
}

/// The stack of a program and of all functions that it calls (`nfp_bpf_get_stack_usage`).
fn stack(plan: &Plan<'_>) -> Option<Refusal> {
    /// Bytes that the firmware has for each thread (`NFD_BPF_STACK_SZ` of the public firmware).
    const LARGEST: u32 = 512;
    let used = deepest(plan, 0, 0);
    if used <= LARGEST {
        return None;
    }
    let what =
        format!("{used} bytes of stack with the functions it calls; the firmware has {LARGEST}");
    Some(Refusal::of_program(what, "use fewer or smaller variables, or fewer nested calls"))
}

/// Bytes of stack that a function and those it calls use.
fn deepest(plan: &Plan<'_>, first: usize, nested: usize) -> u32 {
    /// Frames start at multiples of this (`STACK_FRAME_ALIGN`).
    const ALIGN: u32 = 64;
    /// `MAX_CALL_FRAMES` of the kernel; deeper ones have been refused before.
    const DEEPEST: usize = 8;
    let own = plan.function_of(first).stack.next_multiple_of(ALIGN);
    if nested >= DEEPEST {
        return own;
    }
    let calls = (0..plan.steps.len()).filter(|&slot| plan.function_of(slot).first == first);
    let called = calls.filter_map(|slot| match plan.steps[slot].insn {
        Insn::Call(Call::Subprogram { .. }) => plan.steps[slot].target,
        _ => None,
    });
    own + called.map(|function| deepest(plan, function, nested + 1)).max().unwrap_or(0)
}

/// A stack pointer that a helper is given (`nfp_bpf_stack_arg_ok`): the offset in its frame.
pub(super) fn stack_argument(name: &str, value: RegisterValue) -> Result<i64, Cause> {
    let hint = "the card's helpers take addresses of variables on the stack";
    let RegisterValue::Stack { offset, .. } = value else {
        return Err(Cause::new(format!("{name} with a pointer that is not into the stack"), hint));
    };
    let Some(offset) = constant_offset(offset) else {
        return Err(Cause::new(format!("{name} with a variable place in the stack"), hint));
    };
    if offset % 4 != 0 {
        let what = format!("{name} with a stack variable at {offset}, no multiple of 4");
        return Err(Cause::new(what, "give the variable an alignment of 4 bytes"));
    }
    Ok(offset)
}
