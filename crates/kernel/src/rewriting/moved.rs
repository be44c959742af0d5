//! Inserts and replaces instructions of a program, and corrects the offsets of jumps.

use std::collections::BTreeMap;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{Call, Imm64, Insn};

const FAR: &str = "a jump would be too long";

/// Inserts instructions in front of slots, as listed in `added`. Replaces the instructions at the
/// slots of `replaced`, which must not be jumps. A jump to a slot then leads to the instructions
/// that were inserted in front of the slot.
///
/// # Errors
/// If a jump would become too long for its instruction.
pub fn insert_and_replace(
    program: &BpfProgram,
    added: &BTreeMap<usize, Vec<Insn>>,
    replaced: &BTreeMap<usize, Vec<Insn>>,
) -> Result<BpfProgram, &'static str> {
    let insns = &program.insns;
    // New position of each slot, including the instructions inserted in front of it.
    let mut new_slots = Vec::with_capacity(insns.len() + 1);
    let mut next = 0;
    for slot in 0..=insns.len() {
        new_slots.push(next);
        next += added.get(&slot).map_or(0, Vec::len) + replaced.get(&slot).map_or(1, Vec::len);
    }
    let mut result = BpfProgram { insns: Vec::new(), lines: Vec::new(), ..program.clone() };
    for (slot, insn) in insns.iter().enumerate() {
        result.insns.extend(added.get(&slot).into_iter().flatten());
        if let Some(replacement) = replaced.get(&slot) {
            result.insns.extend(replacement);
            continue;
        }
        let here = result.insns.len() as i64 + 1;
        let to = |target: Option<usize>| {
            let target = target.and_then(|target| new_slots.get(target)).ok_or(FAR)?;
            Ok::<i64, &str>(*target as i64 - here)
        };
        let near = |target| i16::try_from(to(target)?).map_err(|_| FAR);
        let far = |target| i32::try_from(to(target)?).map_err(|_| FAR);
        let jump = insn.jump_target(slot);
        let function = insn.function_target(slot);
        result.insns.push(match *insn {
            // The short form of the offset has 16 bits.
            Insn::Jump { long, .. } => {
                let offset = far(jump)?;
                Insn::Jump { offset, long: long || i16::try_from(offset).is_err() }
            }
            Insn::Branch { width, cond, dst, src, .. } => {
                Insn::Branch { width, cond, dst, src, offset: near(jump)? }
            }
            Insn::MayGoto { .. } => Insn::MayGoto { offset: near(jump)? },
            Insn::Call(Call::Subprogram { .. }) => {
                Insn::Call(Call::Subprogram { offset: far(function)? })
            }
            Insn::LoadImm64 { dst, value: Imm64::Function { .. } } => {
                Insn::LoadImm64 { dst, value: Imm64::Function { offset: far(function)? } }
            }
            insn => insn,
        });
    }
    for function in &mut result.subprograms {
        function.first = new_slots.get(function.first).copied().unwrap_or(function.first);
    }
    for unresolved in &mut result.unresolved {
        unresolved.insn = new_slots.get(unresolved.insn).copied().unwrap_or(unresolved.insn);
    }
    Ok(result)
}
