//! Finds the first instructions of basic blocks (leaders), and checks branches and their delay
//! slots.

use std::collections::BTreeSet;

use super::calls::{FirmwareCall, firmware_returns_to, link_registers};
use crate::lift::error::{LiftCause, LiftError};
use crate::listing::FIRST_EXIT;
use crate::{BranchCondition, Insn, Listing};

/// Checks all branches of a listing, and returns the first instructions of all basic blocks.
/// `calls` is true if the listing contains calls.
pub(super) fn leaders(listing: &Listing, calls: bool) -> Result<BTreeSet<usize>, LiftError> {
    let slot_of = slots(listing)?;
    let mut leaders = BTreeSet::from([0]);
    for (number, insn) in listing.insns().enumerate().filter(|(_, insn)| insn.is_branch()) {
        leaders.insert(number + 1 + usize::from(insn.delay_slots()));
        for target in targets(listing, number, insn, calls)? {
            if let Some(owner) = slot_of[target] {
                let cause =
                    LiftCause::TargetInDelaySlot { target: target as u32, delay_slot_of: owner };
                return Err(LiftError::at(listing, number, cause));
            }
            leaders.insert(target);
        }
    }
    Ok(leaders)
}

/// Returns the instructions to which a branch leads. For a call, includes the instructions to which
/// the called function, or the subroutine that saves registers, later returns.
fn targets(
    listing: &Listing,
    number: usize,
    insn: &Insn,
    calls: bool,
) -> Result<Vec<usize>, LiftError> {
    let last = listing.len() as u32 - 1;
    let fail = |cause| Err(LiftError::at(listing, number, cause));
    let slots = number + 1..number + 1 + usize::from(insn.delay_slots());
    let (target, always) = match *insn {
        Insn::Branch { condition, target, .. } => (target, condition == BranchCondition::Always),
        Insn::BranchBit { target, .. } => (target, false),
        _ => return Ok(Vec::new()),
    };
    if target > last && target < FIRST_EXIT {
        return fail(LiftCause::TargetBeyondEnd { target, last });
    }
    if let Some(firmware) = FirmwareCall::at(target) {
        if !always {
            return fail(LiftCause::ConditionalCall { name: firmware.name() });
        }
        let back = firmware_returns_to(listing, number);
        return Ok(vec![back.map_err(|cause| LiftError::at(listing, number, cause))?]);
    }
    let mut found: Vec<u32> = if target <= last { vec![target] } else { Vec::new() };
    if always && calls {
        found.extend(link_registers(listing, slots));
    }
    if let Some(&target) = found.iter().find(|&&target| target > last) {
        return fail(LiftCause::TargetBeyondEnd { target, last });
    }
    Ok(found.into_iter().map(|target| target as usize).collect())
}

/// For each instruction in a delay slot, returns the branch to which the slot belongs.
fn slots(listing: &Listing) -> Result<Vec<Option<u32>>, LiftError> {
    let last = listing.len() - 1;
    let mut slot_of = vec![None; listing.len()];
    for (number, insn) in listing.insns().enumerate() {
        let fail = |cause| Err(LiftError::at(listing, number, cause));
        let defer = insn.delay_slots();
        if let Some(owner) = slot_of[number] {
            if insn.is_branch() {
                return fail(LiftCause::BranchInDelaySlot { delay_slot_of: owner });
            }
            let of_memory = matches!(listing.numbered()[owner as usize].insn, Insn::Mem { .. });
            if matches!(insn, Insn::Mem { .. }) && (of_memory || defer > 0) {
                return fail(LiftCause::MemoryInDelaySlot { delay_slot_of: owner });
            }
        }
        if number + usize::from(defer) > last {
            return fail(LiftCause::DelaySlotsBeyondEnd { defer, last: last as u32 });
        }
        slot_of[number + 1..=number + usize::from(defer)].fill(Some(number as u32));
    }
    Ok(slot_of)
}
