//! Compiles programs for the card, with stand-ins: harmless instructions in place of those that the
//! card refuses.
//!
//! The result shows the card instructions of the rest of the program; no device runs it. A stand-in
//! changes as little as possible: it sets the result of the replaced instruction, if it has one, to
//! an unknown number.

use crate::compile;
use crate::frontend::{self, Compilation};
use crate::options::ProgramRequest;
use crate::refusal::Refusal;
use crate::stages;
use crate::{Error, ProgramFile};
use slowpath_bpf::insn::helper::{GET_PRANDOM_U32, TAIL_CALL, helper_name};
use slowpath_bpf::insn::{AluOp, AtomicOp, Call, Insn, Register, Size, Source, SwapKind, Width};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_codes as codes;
use slowpath_nfp::POINTER_OF_SEVERAL_KINDS;
use slowpath_stop::Stop;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum size of a program's stack in bytes.
const STACK: u32 = 512;
/// Reason for a refused access, used instead of [`POINTER_OF_SEVERAL_KINDS`] if a stand-in may have
/// hidden the kind of memory that the pointer refers to.
const POINTER_OF_UNKNOWN_KIND: &str =
    "a pointer of unknown kind: from memory, from a call, or of different kinds on different paths";

/// Location of an instruction: the name of its function, and its index in that function, in 8-byte
/// slots.
type Place = (String, usize);

/// A program that was compiled for the card with stand-ins.
#[derive(Debug)]
pub struct WithStandIns {
    /// The compiled program as JSON, in the format of [`compile()`](crate::compile()).
    pub compiled: String,
    /// Name of each function of the original program, in its order, and the index of its first
    /// instruction in the BPF program with stand-ins. The index is `None` if stand-ins replaced all
    /// references to the function, so that it was not compiled.
    pub functions: Vec<(String, Option<usize>)>,
    /// The replaced instructions, in the order of replacement.
    pub stand_ins: Vec<StandIn>,
}

/// An instruction that the card refuses.
#[derive(Debug)]
pub struct StandIn {
    /// Name of the function that contains the instruction.
    pub function: String,
    /// Slot of the instruction in its function.
    pub slot: usize,
    /// Feature that the card lacks.
    pub reason: String,
    /// True if the instruction accesses memory.
    pub accesses_memory: bool,
}

/// Returns a copy of an object in which stand-ins replace the calls at the places `calls`.
///
/// # Errors
/// If the file is a listing, or has no call at one of the places.
pub fn replace_calls(file: &ProgramFile, calls: &[Place]) -> Result<ProgramFile, Error> {
    let mut object = file.bpf()?.clone();
    for (function, slot) in calls {
        if !matches!(object.insn(function, *slot), Some(Insn::Call(_))) {
            return Err(Error::Input(
                codes::INTERNAL_ERROR,
                format!("{function} has no call in slot {slot}"),
            ));
        }
        object.replace_insns(function, *slot, &[RANDOM]);
    }
    Ok(ProgramFile::of(Arc::new(object)))
}

/// Compiles a program for the card, with stand-ins for all instructions that the card refuses.
///
/// `kernel_calls` lists calls of functions that are not in the object, each with the name of the
/// callee. `verified` is false for a program that the kernel's verifier might reject.
///
/// # Errors
/// If the object cannot be read, the card refuses the whole program, an instruction has no
/// stand-in, or `stop` ends the compilation.
pub fn compile_with_stand_ins(
    request: &ProgramRequest,
    kernel_calls: &[(Place, String)],
    verified: bool,
    stop: &Stop,
) -> Result<WithStandIns, Error> {
    stop.enter(stages::READING);
    let object = request.object.bpf()?.clone();
    let linked = frontend::link(request, &object)?;
    let names: Vec<String> = linked.subprograms.iter().map(|one| one.name.clone()).collect();
    let mut work = Replacement {
        object,
        stack: stack_depths(&linked),
        replaced: BTreeSet::new(),
        stand_ins: Vec::new(),
        verified,
    };
    work.replace_kernel_calls(&linked, kernel_calls);
    loop {
        match Compilation::of(request, &work.object, stop) {
            Ok(compilation) => {
                let compiled = &compilation.linked.subprograms;
                let with_first = |name: String| {
                    let found = compiled.iter().find(|one| one.name == name);
                    (name, found.map(|one| one.first))
                };
                return Ok(WithStandIns {
                    compiled: compile::json(&request.file, &work.object, &compilation)?,
                    functions: names.into_iter().map(with_first).collect(),
                    stand_ins: work.stand_ins,
                });
            }
            Err(Error::Refused { refusals, .. }) => {
                work.replace_refused(&frontend::link(request, &work.object)?, &refusals)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// An object in which stand-ins replace refused instructions one after the other.
struct Replacement {
    object: Object,
    /// Number of stack bytes that each function uses, by function name, in the original program.
    stack: BTreeMap<String, u32>,
    replaced: BTreeSet<Place>,
    stand_ins: Vec<StandIn>,
    verified: bool,
}

impl Replacement {
    fn replace(&mut self, place: Place, stand_in: &[Insn], reason: String, accesses_memory: bool) {
        let (function, slot) = place.clone();
        self.object.replace_insns(&function, slot, stand_in);
        self.replaced.insert(place);
        self.stand_ins.push(StandIn { function, slot, reason, accesses_memory });
    }

    /// Replaces calls of kernel functions and tail calls, because the card supports neither.
    ///
    /// If tail calls stayed, the front end would count the called programs as part of their
    /// callers.
    fn replace_kernel_calls(&mut self, linked: &BpfProgram, kernel_calls: &[(Place, String)]) {
        for (slot, insn) in linked.insns.iter().enumerate() {
            let Some(place) = place(linked, slot) else { continue };
            // Linking turns unresolved addresses into calls, too.
            if !matches!(self.object.insn(&place.0, place.1), Some(Insn::Call(_))) {
                continue;
            }
            let called = match insn {
                Insn::Call(Call::Helper(TAIL_CALL)) => helper_name(TAIL_CALL),
                Insn::Call(_) => {
                    let found = kernel_calls.iter().find(|(one, _)| *one == place);
                    found.map(|(_, called)| called.as_str())
                }
                _ => None,
            };
            if let Some(called) = called {
                let reason = format!("{called}, which the card does not have");
                self.replace(place, &[RANDOM], reason, false);
            }
        }
    }

    /// Replaces the refused calls. If there are none, replaces the refused instructions other than
    /// loads of addresses. If there are none of these either, replaces the refused loads of
    /// addresses.
    ///
    /// Calls come first because their maps must still be known. Addresses come last because the
    /// reason for a refused access is exact only while its target is known.
    fn replace_refused(&mut self, linked: &BpfProgram, refusals: &[Refusal]) -> Result<(), Error> {
        let all = || refusals.iter().flat_map(|of| of.instructions.iter().map(move |at| (of, *at)));
        let group = |at: usize| match linked.insns[at] {
            Insn::Call(_) => 0,
            Insn::LoadImm64 { .. } => 2,
            _ => 1,
        };
        let first = all().map(|(_, at)| group(at)).min();
        let whole = refusals.iter().find(|one| one.instruction.is_none());
        if let Some(whole) = whole.filter(|_| first != Some(0)) {
            return Err(Error::Input(
                whole.code,
                format!("the card cannot run it: {}", whole.reason),
            ));
        }
        // Stand-ins, and code that the verifier rejects, can hide the kind of a pointer.
        let known = self.verified && self.stand_ins.is_empty();
        for (refusal, at) in all().filter(|(_, at)| Some(group(*at)) == first) {
            let insn = linked.insns[at];
            let place = place(linked, at).filter(|place| !self.replaced.contains(place));
            let stack = place.as_ref().and_then(|(function, _)| self.stack.get(function));
            let stand_in = stand_in(insn, stack.copied().unwrap_or(STACK));
            let (Some(stand_in), Some(place)) = (stand_in, place) else {
                let (text, reason) = (linked.place_text(at), &refusal.reason);
                return Err(Error::Input(
                    refusal.code,
                    format!("{text}: {reason}; it cannot be replaced"),
                ));
            };
            let hidden = refusal.reason == POINTER_OF_SEVERAL_KINDS && !known;
            let reason = if hidden { POINTER_OF_UNKNOWN_KIND } else { &refusal.reason };
            self.replace(place, &stand_in, reason.to_owned(), accesses_memory(insn));
        }
        Ok(())
    }
}

/// Call of a helper that the card supports. It returns an unknown number, and has no other effect.
const RANDOM: Insn = Insn::Call(Call::Helper(GET_PRANDOM_U32));

/// Returns the number of stack bytes that each function uses, by function name. Unlike
/// [`BpfProgram::stack_use`], this counts addresses that are computed on one path and used on
/// others.
fn stack_depths(linked: &BpfProgram) -> BTreeMap<String, u32> {
    let own = linked.stack_use().own;
    let mut depths = BTreeMap::new();
    for (number, function) in linked.subprograms.iter().enumerate() {
        let next = linked.subprograms.get(number + 1);
        let end = next.map_or(linked.insns.len(), |next| next.first);
        let mut copies = BTreeSet::new();
        let mut lowest = 0;
        for insn in &linked.insns[function.first..end] {
            let Insn::Alu { width: Width::W64, op, dst, src } = *insn else { continue };
            match (op, src) {
                (AluOp::Mov, Source::Reg(Register::FRAME)) => {
                    copies.insert(dst.number());
                }
                (AluOp::Add, Source::Imm(distance)) if copies.remove(&dst.number()) => {
                    lowest = lowest.min(distance);
                }
                _ => {}
            }
        }
        depths.insert(function.name.clone(), own[number].max(lowest.unsigned_abs()));
    }
    depths
}

/// Returns the function that contains an instruction, and the index in this function. Returns
/// `None` for the second slot of a 16-byte instruction.
fn place(linked: &BpfProgram, slot: usize) -> Option<Place> {
    if linked.insns[slot] == Insn::SecondSlot {
        return None;
    }
    let function = linked.function_of(slot)?;
    Some((function.name.clone(), slot - function.first))
}

fn accesses_memory(insn: Insn) -> bool {
    matches!(
        insn,
        Insn::Load { .. }
            | Insn::Store { .. }
            | Insn::Atomic { .. }
            | Insn::LoadAcquire { .. }
            | Insn::StoreRelease { .. }
    )
}

/// Returns the stand-in for an instruction, with the same number of 8-byte slots. `stack` is the
/// number of stack bytes that the function uses. Returns `None` if no stand-in exists: jumps and
/// exits have no result.
fn stand_in(insn: Insn, stack: u32) -> Option<Vec<Insn>> {
    let swap = |dst, size| Insn::Swap { kind: SwapKind::Be, size, dst };
    let mov =
        |dst, from| Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Reg(from) };
    // Only the size of the result is known: the code never writes these bytes of the stack.
    let below = stack.next_multiple_of(8).saturating_add(8).min(STACK) as i16;
    let load =
        |size, signed, dst| Insn::Load { size, signed, dst, base: Register::FRAME, offset: -below };
    let one = match insn {
        Insn::LoadImm64 { dst, .. } => {
            return Some(vec![mov(dst, Register::FRAME), swap(dst, Size::DW)]);
        }
        Insn::Load { size, signed, dst, .. } => load(size, signed, dst),
        Insn::LoadAcquire { size, dst, .. } => load(size, false, dst),
        Insn::Store { base, src, .. } => match src {
            Source::Reg(src) => mov(src, src),
            Source::Imm(_) => mov(base, base),
        },
        Insn::StoreRelease { src, .. } => mov(src, src),
        Insn::Atomic { op: AtomicOp::Cmpxchg, .. } => swap(Register::R0, Size::DW),
        Insn::Atomic { op, src, .. } if op.fetches() => swap(src, Size::DW),
        Insn::Atomic { src, .. } => mov(src, src),
        Insn::Alu { width, dst, .. }
        | Insn::Neg { width, dst }
        | Insn::MoveSigned { width, dst, .. } => {
            swap(dst, if width == Width::W32 { Size::W } else { Size::DW })
        }
        Insn::Swap { size, dst, .. } => swap(dst, size),
        Insn::Call(_) => RANDOM,
        // XDP programs have no legacy packet loads.
        Insn::SecondSlot
        | Insn::LoadPacket { .. }
        | Insn::Jump { .. }
        | Insn::Branch { .. }
        | Insn::MayGoto { .. }
        | Insn::Exit => return None,
    };
    Some(vec![one])
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_bpf::insn::decode;

    fn one(code: [u8; 8]) -> Insn {
        decode(&code).expect("an instruction")[0]
    }

    #[test]
    fn loads_read_unknown_bytes_of_the_same_size() {
        let load = one([0x61, 0x32, 8, 0, 0, 0, 0, 0]); // r2 = *(u32 *)(r3 + 8)
        let below = |distance: u8, above: u8| one([0x61, 0xa2, distance, above, 0, 0, 0, 0]);
        assert_eq!(stand_in(load, 20), Some(vec![below(0xe0, 0xff)]));
        assert_eq!(stand_in(load, 512), Some(vec![below(0, 0xfe)]));
    }

    #[test]
    fn stand_ins_set_only_the_result() {
        let store = one([0x63, 0x43, 8, 0, 0, 0, 0, 0]); // *(u32 *)(r3 + 8) = r4
        assert_eq!(stand_in(store, 0), Some(vec![one([0xbf, 0x44, 0, 0, 0, 0, 0, 0])]));
        let exchange = one([0xdb, 0x43, 8, 0, 0xf1, 0, 0, 0]); // r0 = cmpxchg(r3 + 8, r0, r4)
        assert_eq!(stand_in(exchange, 0), Some(vec![one([0xdc, 0, 0, 0, 64, 0, 0, 0])]));
        let call = one([0x85, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(stand_in(call, 0), Some(vec![one([0x85, 0, 0, 0, 7, 0, 0, 0])]));
        let jump = one([0x05, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(stand_in(jump, 0), None);
    }

    #[test]
    fn stand_ins_have_as_many_slots() {
        let wide = decode(&[0x18, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).expect("a load");
        assert_eq!(stand_in(wide[0], 0).map(|insns| insns.len()), Some(2));
    }

    fn replacement(data: &[u8]) -> (ProgramRequest, Replacement, BpfProgram) {
        let file = ProgramFile::read(data).expect("an object");
        let object = file.bpf().expect("a BPF object").clone();
        let request = ProgramRequest::of("example.bpf.o", file);
        let linked = object.link(0, None).expect("a program");
        let work = Replacement {
            object,
            stack: stack_depths(&linked),
            replaced: BTreeSet::new(),
            stand_ins: Vec::new(),
            verified: true,
        };
        (request, work, linked)
    }

    /// Checks that stand-ins replace only call instructions, even if the list of calls also names
    /// loads of kernel symbols' addresses, which take two 8-byte slots.
    #[test]
    fn only_calls_are_replaced_as_calls() {
        let (_, mut work, linked) =
            replacement(include_bytes!("../../bpf/tests/data/extern.bpf.o"));
        let before = work.object.clone();
        let every: Vec<(Place, String)> = (0..linked.insns.len())
            .filter_map(|slot| Some((place(&linked, slot)?, "symbol".to_owned())))
            .collect();
        work.replace_kernel_calls(&linked, &every);
        assert!(!work.stand_ins.is_empty());
        for one in &work.stand_ins {
            assert!(matches!(before.insn(&one.function, one.slot), Some(Insn::Call(_))));
        }
    }

    /// Checks that stand-ins replace all refused instructions of one kind at once, so that their
    /// number does not increase the number of compilations.
    #[test]
    fn all_refused_instructions_of_a_kind_are_replaced_at_once() {
        let (mut request, mut work, linked) =
            replacement(include_bytes!("../../../examples/quic_lb.bpf.o"));
        request.options.map_abi = Some("call".into());
        let Err(Error::Refused { refusals, .. }) =
            Compilation::of(&request, &work.object, &Stop::never())
        else {
            panic!("the card lacks instructions of the program");
        };
        let refused = refusals.iter().flat_map(|refusal| &refusal.instructions);
        let refused: BTreeSet<Place> = refused.filter_map(|&slot| place(&linked, slot)).collect();
        assert!(refused.len() > 1, "{refused:?}");
        work.replace_refused(&linked, &refusals).expect("stand-ins");
        assert_eq!(work.replaced, refused);
    }
}
