//! Checks that the SmartNIC can run a program. The Linux NFP driver makes the same checks while the
//! kernel's verifier visits each instruction (`nfp_verify_insn`, `bpf/verifier.c`), and in its
//! instruction table.

mod calls;
mod maps;

use slowpath_codes as codes;
use std::collections::BTreeSet;

use slowpath_bpf::insn::{
    AluOp, AtomicOp, Call, Imm64, Insn, Register, Size, Source, SwapKind, Width,
};
use slowpath_bpf::lift::RegisterValue;

use maps::{Use, Uses, map_supported, record_use};

use super::access::memory_operand;
use super::annotated::AnnotatedProgram;
use super::reciprocal;
use super::refusal::{Cause, Refusal};
use crate::firmware::xdp_md::{DATA, DATA_END, RX_QUEUE_INDEX};
use crate::firmware::{FRAME_ALIGN, MAX_STACK, MapAbi};

/// Reason for rejecting a load or store through a pointer that points to different kinds of memory
/// on different paths.
pub const POINTER_OF_SEVERAL_KINDS: &str =
    "a pointer whose kind differs between paths to the instruction";

/// Returns all reasons why the SmartNIC cannot run a program. Reasons that concern single
/// instructions come first, then those that concern the whole program.
pub(super) fn unsupported(program: &AnnotatedProgram<'_>, abi: MapAbi) -> Vec<Refusal> {
    let mut uses = Uses::of(program);
    let live = (0..program.insns.len()).filter(|&slot| program.is_live(slot));
    let causes =
        live.filter_map(|slot| Some((slot, instruction(program, slot, abi, &mut uses).err()?)));
    let mut causes: Vec<(usize, Cause)> = causes.collect();
    // The result of an unsupported call is unknown. Causes that may follow from it are noise.
    if causes.iter().any(|(slot, _)| matches!(program.insns[*slot].insn, Insn::Call(_))) {
        causes.retain(|(_, cause)| !cause.follows_from_call);
    }
    let refused = causes.into_iter().map(|(slot, cause)| Refusal::at(program.linked, slot, cause));
    refused.chain(stack(program)).collect()
}

fn global_data() -> Cause {
    let hint = "make it a constant or an element of an array map";
    Cause::new(codes::CARD_GLOBAL_DATA, "a global variable: the card has no global data", hint)
}

fn instruction(
    program: &AnnotatedProgram<'_>,
    slot: usize,
    abi: MapAbi,
    uses: &mut Uses,
) -> Result<(), Cause> {
    match program.insns[slot].insn {
        Insn::Alu { width, op, dst, src } => alu(program, slot, (width, op, dst, src)),
        Insn::Neg { .. } | Insn::SecondSlot | Insn::Exit | Insn::Jump { long: false, .. } => Ok(()),
        Insn::Jump { long: true, .. } => {
            Err(Cause::unsupported(codes::CARD_INSTRUCTION, "a jump with a 32-bit offset"))
        }
        Insn::MayGoto { .. } => Err(Cause::unsupported(codes::CARD_INSTRUCTION, "may_goto")),
        Insn::MoveSigned { .. } => {
            Err(Cause::unsupported(codes::CARD_INSTRUCTION, "a move with sign extension (cpu=v4)"))
        }
        Insn::Swap { kind: SwapKind::Be, .. } => Ok(()),
        Insn::Swap { kind: SwapKind::Le, .. } => {
            Err(Cause::unsupported(codes::CARD_INSTRUCTION, "a conversion to little-endian"))
        }
        Insn::Swap { kind: SwapKind::Always, .. } => {
            Err(Cause::unsupported(codes::CARD_INSTRUCTION, "an unconditional byte swap (cpu=v4)"))
        }
        Insn::LoadImm64 { value, .. } => match value {
            Imm64::Value(_) => Ok(()),
            Imm64::Map(map) => map_supported(program, map, abi, uses),
            Imm64::MapValue { .. } => Err(global_data()),
            _ => Err(Cause::unsupported(
                codes::CARD_POINTER,
                "the address of something other than a map",
            )),
        },
        Insn::Load { signed: true, .. } => {
            Err(Cause::unsupported(codes::CARD_INSTRUCTION, "a load with sign extension (cpu=v4)"))
        }
        Insn::Load { size, base, offset, .. } => load(program, slot, size, base, offset, uses),
        Insn::Store { size, base, offset, src } => store(program, slot, (size, base, offset, src)),
        Insn::Atomic { op, width, base, offset, src } => {
            atomic(program, slot, (op, width, base, offset, src), uses)
        }
        Insn::LoadAcquire { .. } | Insn::StoreRelease { .. } => {
            Err(Cause::unsupported(codes::CARD_INSTRUCTION, "a load or store with memory order"))
        }
        Insn::LoadPacket { .. } => {
            Err(Cause::unsupported(codes::CARD_INSTRUCTION, "packet access of classic BPF"))
        }
        Insn::Branch { .. } => Ok(()),
        Insn::Call(Call::Subprogram { .. }) => Ok(()),
        Insn::Call(Call::Helper(number)) => calls::check(program, slot, number, abi),
        Insn::Call(Call::Kfunc { .. }) => {
            Err(Cause::unsupported(codes::CARD_HELPER, "a call of a kernel function"))
        }
    }
}

fn alu(
    program: &AnnotatedProgram<'_>,
    slot: usize,
    (width, op, _, src): (Width, AluOp, Register, Source),
) -> Result<(), Cause> {
    const LARGEST: u64 = u32::MAX as u64;
    let bounds = &program.insns[slot].bounds;
    let (least, most) = bounds.src();
    let hint = "mask or compare it first, so that its range is known";
    match op {
        AluOp::Mod | AluOp::Smod => Err(Cause::unsupported(
            codes::CARD_ARITHMETIC,
            "a remainder: the card has no instruction for it",
        )),
        AluOp::Sdiv => Err(Cause::unsupported(codes::CARD_ARITHMETIC, "a signed division")),
        AluOp::Lsh | AluOp::Rsh | AluOp::Arsh => match src {
            Source::Reg(_) if least == most && least as u8 >= width.bits() => {
                Err(Cause::unsupported(
                    codes::CARD_ARITHMETIC,
                    "a shift by a constant number of bits that is too large",
                ))
            }
            _ => Ok(()),
        },
        AluOp::Mul if bounds.dst_max() > LARGEST => Err(Cause::new(
            codes::CARD_ARITHMETIC,
            "a factor that may need more than 32 bits",
            hint,
        )),
        AluOp::Mul => match src {
            Source::Reg(_) if most > LARGEST => Err(Cause::new(
                codes::CARD_ARITHMETIC,
                "a factor that may need more than 32 bits",
                hint,
            )),
            Source::Imm(value) if width == Width::W64 && value < 0 => Err(Cause::unsupported(
                codes::CARD_ARITHMETIC,
                "a multiplication by a negative constant",
            )),
            _ => Ok(()),
        },
        AluOp::Div if bounds.dst_max() > LARGEST => Err(Cause::new(
            codes::CARD_ARITHMETIC,
            "a dividend that may need more than 32 bits",
            hint,
        )),
        AluOp::Div => {
            let divisor = match src {
                Source::Reg(_) if least != most => {
                    return Err(Cause::unsupported(
                        codes::CARD_ARITHMETIC,
                        "a division by a value that is not a constant",
                    ));
                }
                Source::Reg(_) => least,
                Source::Imm(value) if value < 0 => {
                    return Err(Cause::unsupported(
                        codes::CARD_ARITHMETIC,
                        "a division by a negative constant",
                    ));
                }
                Source::Imm(value) => u64::from(value.unsigned_abs()),
            };
            match divisor {
                0 => Err(Cause::unsupported(codes::CARD_ARITHMETIC, "a division by zero")),
                1.. if divisor > LARGEST => Err(Cause::unsupported(
                    codes::CARD_ARITHMETIC,
                    "a divisor of more than 32 bits",
                )),
                _ if reciprocal::is_wrong(divisor as u32) => {
                    let what =
                        format!("a division by {divisor}, which the driver compiles wrongly");
                    Err(Cause::new(
                        codes::CARD_ARITHMETIC,
                        what,
                        "it shifts by an undefined number of bits then",
                    ))
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn load(
    program: &AnnotatedProgram<'_>,
    slot: usize,
    size: Size,
    base: Register,
    offset: i16,
    uses: &mut Uses,
) -> Result<(), Cause> {
    match program.value(slot, base) {
        RegisterValue::Context { offset: from } => {
            match u64::try_from(from.saturating_add(offset.into())) {
                Ok(DATA | DATA_END) if size == Size::W => Ok(()),
                _ => Err(Cause::new(
                    codes::CARD_CONTEXT_FIELD,
                    "a field of struct xdp_md that the card does not have",
                    "the card has only the fields data and data_end",
                )),
            }
        }
        RegisterValue::MapValue { map, .. } => {
            let offsets = program.registers.element_offsets(slot, base.number());
            record_use(program, map, (offsets, offset, size.bytes()), Use::Read, uses)
        }
        value => pointer(program, slot, base, value),
    }
}

/// Checks that the SmartNIC can access memory through the pointer in a load or store.
fn pointer(
    program: &AnnotatedProgram<'_>,
    slot: usize,
    base: Register,
    value: RegisterValue,
) -> Result<(), Cause> {
    match value {
        RegisterValue::Packet => Ok(()),
        RegisterValue::Stack { .. } => stack_access(program, slot, base),
        RegisterValue::Data { .. } => Err(global_data()),
        RegisterValue::Other => Err(Cause::new(
            codes::CARD_POINTER,
            POINTER_OF_SEVERAL_KINDS,
            "give each kind of pointer its own access",
        )
        .follows_from_call()),
        _ => Err(Cause::unsupported(
            codes::CARD_POINTER,
            "a kind of pointer that the card does not know",
        )),
    }
}

fn stack_access(program: &AnnotatedProgram<'_>, slot: usize, base: Register) -> Result<(), Cause> {
    let places = program.registers.stack_frames(slot, base.number());
    let offsets: Option<BTreeSet<i64>> =
        places.iter().map(|(_, offset)| offset.map(|offset| offset.rem_euclid(4))).collect();
    let hint = "access stack variables at constant offsets";
    if places_before_frame(program, slot, base) {
        let what = "a stack access in a caller's frame, which the driver compiles wrongly";
        return Err(Cause::new(
            codes::CARD_STACK,
            what,
            "give the variable a multiple of 4 bytes, or pass its value",
        ));
    }
    match offsets {
        None => Err(Cause::new(codes::CARD_STACK, "a stack access at a variable offset", hint)),
        Some(offsets) if offsets.len() > 1 => {
            let what = "a stack access at offsets with different alignments to 4 bytes";
            Err(Cause::new(codes::CARD_STACK, what, "give the variables an alignment of 4 bytes"))
        }
        Some(_) => Ok(()),
    }
}

/// Returns true if the driver would compute a wrong address for an access to a caller's stack
/// frame. This happens if the offset from the function's own frame is negative and not a multiple
/// of 4 bytes. The driver computes the remainder of this offset as if it were positive.
fn places_before_frame(program: &AnnotatedProgram<'_>, slot: usize, base: Register) -> bool {
    let RegisterValue::Stack { caller: true, .. } = program.value(slot, base) else { return false };
    let depth = i64::from(program.function_of(slot).stack.next_multiple_of(4));
    let offset =
        memory_operand(&program.insns[slot].insn).map_or(0, |(_, offset)| i64::from(offset));
    let places = program.registers.stack_frames(slot, base.number());
    places.into_iter().filter_map(|(_, from)| from).any(|from| {
        let place = from.saturating_add(depth + offset);
        place < 0 && place % 4 != 0
    })
}

fn store(
    program: &AnnotatedProgram<'_>,
    slot: usize,
    (size, base, offset, src): (Size, Register, i16, Source),
) -> Result<(), Cause> {
    // The driver does not record the pointer kind of such a store, so it cannot emit code for it.
    if let Source::Imm(_) = src {
        let hint = "compilers make it with cpu=v4 only; -mcpu=v3 stores registers";
        return Err(Cause::new(codes::CARD_INSTRUCTION, "a store of a constant", hint));
    }
    match (program.value(slot, base), src) {
        (RegisterValue::Context { offset: from }, Source::Reg(_))
            if from.saturating_add(offset.into()) == RX_QUEUE_INDEX as i64 && size == Size::W =>
        {
            Ok(())
        }
        (RegisterValue::Context { .. }, _) => Err(Cause::new(
            codes::CARD_CONTEXT_FIELD,
            "a store to a field of struct xdp_md",
            "only rx_queue_index can be written",
        )),
        (RegisterValue::MapValue { .. }, _) => Err(Cause::new(
            codes::CARD_MAP_ACCESS,
            "a write to an element of a map",
            "the card only reads elements and adds to them with __sync_fetch_and_add",
        )),
        (value, _) => pointer(program, slot, base, value),
    }
}

fn atomic(
    program: &AnnotatedProgram<'_>,
    slot: usize,
    (op, width, base, offset, src): (AtomicOp, Width, Register, i16, Register),
    uses: &mut Uses,
) -> Result<(), Cause> {
    if op != (AtomicOp::Add { fetch: false }) {
        let hint = match op {
            // Since clang 20, only relaxed additions compile to an instruction that does not fetch
            // the old value.
            AtomicOp::Add { .. } => {
                "the card adds without the old value: do not use the result, and write \
                 __atomic_fetch_add(p, n, __ATOMIC_RELAXED) for clang 20 and newer"
            }
            _ => "the card knows __sync_fetch_and_add whose result is not used",
        };
        return Err(Cause::new(
            codes::CARD_MAP_ACCESS,
            "an atomic operation that is not a plain addition",
            hint,
        ));
    }
    let map = match program.value(slot, base) {
        RegisterValue::MapValue { map, .. } => map,
        RegisterValue::Data { .. } => return Err(global_data()),
        value => {
            let cause = Cause::unsupported(
                codes::CARD_MAP_ACCESS,
                "an atomic addition to something other than a map's element",
            );
            let unknown = value == RegisterValue::Other;
            return Err(if unknown { cause.follows_from_call() } else { cause });
        }
    };
    match program.value(slot, src) {
        RegisterValue::Other | RegisterValue::Constant(_) => {}
        _ => {
            return Err(Cause::unsupported(
                codes::CARD_MAP_ACCESS,
                "an atomic addition of a pointer",
            ));
        }
    }
    let offsets = program.registers.element_offsets(slot, base.number());
    record_use(program, map, (offsets, offset, width.bits() / 8), Use::Atomic, uses)
}

/// Returns a refusal if a program and the functions that it calls need more stack than the firmware
/// has (`nfp_bpf_get_stack_usage`).
fn stack(program: &AnnotatedProgram<'_>) -> Option<Refusal> {
    let used = deepest(program, 0, 0);
    if used <= MAX_STACK {
        return None;
    }
    let what =
        format!("{used} bytes of stack with the functions it calls; the firmware has {MAX_STACK}");
    Some(Refusal::of_program(
        codes::CARD_STACK,
        what,
        "use fewer or smaller variables, or fewer nested calls",
    ))
}

/// Returns the maximum number of stack bytes that the function with the first instruction `first`
/// needs together with the functions that it calls. `nested` is the current depth of calls.
fn deepest(program: &AnnotatedProgram<'_>, first: usize, nested: usize) -> u32 {
    /// Maximum depth of calls (`MAX_CALL_FRAMES` of the kernel). Earlier checks reject deeper
    /// calls.
    const DEEPEST: usize = 8;
    let own = program.function_of(first).stack.next_multiple_of(FRAME_ALIGN);
    if nested >= DEEPEST {
        return own;
    }
    let calls = (0..program.insns.len()).filter(|&slot| program.function_of(slot).first == first);
    let called = calls.filter_map(|slot| match program.insns[slot].insn {
        Insn::Call(Call::Subprogram { .. }) => program.insns[slot].target,
        _ => None,
    });
    own + called.map(|function| deepest(program, function, nested + 1)).max().unwrap_or(0)
}
