//! Proves that a program with a guard does the same as the original program. The guard checks at
//! entry whether the facts about the packet hold. For packets for which they hold, the proof is the
//! same as without a guard. For all other packets, the original runs unchanged from its start.
//!
//! The guarded program contains a copy of the original for these other packets. This copy is
//! compared with the original, instruction by instruction. The part before the copy is executed
//! separately: every packet for which not all facts hold must reach the copy, without any other
//! effect.

use super::{EquivalenceError, Packets, Proof, Subject, prove_for, prove_with};
use crate::facts::any_packet;
use slowpath_bpf::insn::{AluOp, Call, Imm64, Insn, Register, Size, Source, Width};
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Object, Subprogram};
use slowpath_specialise::Guard;
use slowpath_stop::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// Base of an artificial result, which no XDP program returns: this number plus the packet length.
/// A run with an artificial result has reached the copy of the original program.
const REACHED_RESULT: i32 = 1 << 28;

/// Tries to prove that a program with a guard (checks of packet facts at entry) does the same as
/// the original, for all packets. The guard also reads a generation counter, which is zero until a
/// map with known content changes. While it is zero, maps have the content in `options`; otherwise,
/// they may have any content.
///
/// # Errors
/// If a program cannot be lifted, that is, translated to the intermediate representation.
pub fn prove_guard(
    object: &Object,
    original: &BpfProgram,
    (guarded, guard): (&BpfProgram, &Guard),
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Proof, EquivalenceError> {
    prove_guard_with_origins(object, original, (guarded, guard, None), options, stop)
}

/// Does the same as [`prove_guard`], with a hint that makes the proof faster. For each instruction
/// slot of the guarded program, the hint contains the slot of the original that it comes from;
/// `None` for no hint. See [`prove_with_origins`](super::prove_with_origins).
///
/// # Errors
/// If a program cannot be lifted.
pub fn prove_guard_with_origins(
    object: &Object,
    original: &BpfProgram,
    (guarded, guard, origins): (&BpfProgram, &Guard, Option<&[usize]>),
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Proof, EquivalenceError> {
    let all = any_packet();
    let mut facts = guard.facts();
    facts.max_length = facts.max_length.min(all.max_length);
    // Maps have their known content only while the generation is zero.
    let any = &LiftOptions { contents: BTreeMap::new(), ..options.clone() };
    let known = if guard.generation.is_some() { options } else { any };
    let inside = Subject::of(object, Packets::Inside(&facts));
    let mut proof = prove_with(inside, original, (guarded, origins), known, stop)?;
    let options = any;
    if let Err(why) = is_original(guarded, guard.original, original) {
        proof.proved = false;
        proof.undecided.push(why);
        return Ok(proof);
    }
    let packets = Packets::Outside { facts: &facts, of: &all };
    let [cut, there] = [before_original(guarded, guard.original), original_reached(original)];
    let mut rest = prove_for(object, &there, &cut, packets, options, stop)?;
    proof.test_inputs.append(&mut rest.test_inputs);
    add(&mut proof, rest);
    if let Some(map) = guard.generation {
        let name = object.maps.get(map as usize).map_or("", |map| &map.name);
        let subject = Subject {
            nonzero_generation: Some(name),
            ..Subject::of(object, Packets::Inside(&all))
        };
        add(&mut proof, prove_with(subject, &there, (&cut, None), options, stop)?);
    }
    Ok(proof)
}

/// Merges the result of a further part of a proof (`more`) into the result of the earlier parts
/// (`proof`).
fn add(proof: &mut Proof, more: Proof) {
    proof.proved &= more.proved;
    proof.paths += more.paths;
    proof.pairs += more.pairs;
    proof.queries += more.queries;
    proof.seconds += more.seconds;
    proof.undecided.extend(more.undecided);
    proof.counterexample = proof.counterexample.take().or(more.counterexample);
}

/// Returns instructions that replace the copy of the original program in a guarded program, to
/// prove which packets reach the copy. They get the context in `r1` and return an artificial result
/// ([`REACHED_RESULT`]).
fn reached_epilogue() -> [Insn; 6] {
    let field =
        |dst, offset| Insn::Load { size: Size::W, signed: false, dst, base: Register::R1, offset };
    let alu = |op, src| Insn::Alu { width: Width::W64, op, dst: Register::R0, src };
    [
        field(Register::R2, 0),
        field(Register::R0, 4),
        alu(AluOp::Sub, Source::Reg(Register::R2)),
        alu(AluOp::Add, Source::Imm(REACHED_RESULT)),
        Insn::Alu { width: Width::W64, op: AluOp::Mov, dst: Register::R1, src: Source::Imm(0) },
        Insn::Exit,
    ]
}

/// Returns a program that contains only [`reached_epilogue`]. Its artificial result shows that the
/// original program would have run.
fn original_reached(original: &BpfProgram) -> BpfProgram {
    let insns = reached_epilogue().to_vec();
    BpfProgram {
        lines: vec![None; insns.len()],
        insns,
        subprograms: original.subprograms[..1].to_vec(),
        kfuncs: Vec::new(),
        unresolved: Vec::new(),
        ..original.clone()
    }
}

/// Returns a guarded program in which [`reached_epilogue`] replaces the copy of the original at
/// slot `at`. The functions that the part before this slot calls are included.
fn before_original(guarded: &BpfProgram, at: usize) -> BpfProgram {
    let body = |function: usize| {
        let first = guarded.subprograms[function].first;
        let behind = guarded.subprograms.get(function + 1);
        first..behind.map_or(guarded.insns.len(), |next| next.first)
    };
    let mut parts = vec![(0..at, None)];
    let mut next = 0;
    while let Some((slots, _)) = parts.get(next).cloned() {
        for slot in slots {
            let target = guarded.insns[slot].function_target(slot);
            let called = guarded.subprograms.iter().position(|f| Some(f.first) == target);
            if let Some(called) = called.filter(|&called| called > 0)
                && !parts.iter().any(|(_, function)| *function == Some(called))
            {
                parts.push((body(called), Some(called)));
            }
        }
        next += 1;
    }
    let (mut insns, mut places) = (Vec::new(), Vec::new());
    let mut subprograms = vec![guarded.subprograms[0].clone()];
    for (slots, function) in parts {
        if let Some(function) = function {
            let first = insns.len();
            subprograms.push(Subprogram { first, ..guarded.subprograms[function].clone() });
        }
        for slot in slots {
            insns.push(guarded.insns[slot]);
            places.push(Some(slot));
        }
        if function.is_none() {
            insns.extend(reached_epilogue());
            places.extend([None; 6]);
        }
    }
    let place: BTreeMap<usize, usize> =
        places.iter().enumerate().filter_map(|(new, old)| Some(((*old)?, new))).collect();
    for (slot, old) in places.iter().enumerate() {
        let Some(target) = old.and_then(|old| guarded.insns[old].function_target(old)) else {
            continue;
        };
        let distance = place.get(&target).map_or(i64::MAX, |&to| to as i64 - slot as i64 - 1);
        let distance = i32::try_from(distance).unwrap_or(i32::MAX);
        match &mut insns[slot] {
            Insn::Call(Call::Subprogram { offset })
            | Insn::LoadImm64 { value: Imm64::Function { offset }, .. } => *offset = distance,
            _ => {}
        }
    }
    BpfProgram { lines: vec![None; insns.len()], insns, subprograms, ..guarded.clone() }
}

/// Checks that the guarded program contains the unchanged entry function of the original, from slot
/// `at` on. Also checks that instructions from which control can reach this slot make no calls or
/// stores.
///
/// # Errors
/// Returns the reason, in words, why a check fails.
fn is_original(guarded: &BpfProgram, at: usize, original: &BpfProgram) -> Result<(), String> {
    let mut compared = BTreeSet::new();
    let mut work = vec![(at, 0)];
    while let Some((here, there)) = work.pop() {
        if !compared.insert((here, there)) {
            continue;
        }
        let end = original.subprograms.iter().map(|function| function.first).find(|&f| f > there);
        for slot in there..end.unwrap_or(original.insns.len()) {
            let place = here + slot - there;
            let different = || format!("instruction {place} is not the original's {slot}");
            let (insn, old) = (guarded.insns.get(place), original.insns[slot]);
            let insn = insn.ok_or_else(different)?;
            match (insn.function_target(place), old.function_target(slot)) {
                (Some(new), Some(old)) => work.push((new, old)),
                (None, None) if *insn == old => {}
                _ => return Err(different()),
            }
        }
    }
    let length = original.subprograms.get(1).map_or(original.insns.len(), |next| next.first);
    let original = at..at + length;
    // Slots before the original from which control can reach it.
    let mut before = BTreeSet::new();
    let mut changed = true;
    while changed {
        changed = false;
        for (slot, insn) in guarded.insns.iter().enumerate().filter(|(s, _)| !original.contains(s))
        {
            let falls = !matches!(insn, Insn::Exit | Insn::Jump { .. });
            let next = [falls.then_some(slot + 1), insn.jump_target(slot)];
            let leads = next.into_iter().flatten().any(|to| to == at || before.contains(&to));
            changed |= leads && before.insert(slot);
        }
    }
    let acts = |&&slot: &&usize| {
        matches!(
            guarded.insns[slot],
            Insn::Store { .. }
                | Insn::Atomic { .. }
                | Insn::StoreRelease { .. }
                | Insn::Call(_)
                | Insn::MayGoto { .. }
        )
    };
    match before.iter().find(acts) {
        Some(slot) => {
            Err(format!("instruction {slot} has an effect before the original code begins"))
        }
        None => Ok(()),
    }
}
