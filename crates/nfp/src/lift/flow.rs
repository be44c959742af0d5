//! Control flow: which instructions form a block, which blocks can be reached, and control flow
//! that the device does not have.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::listing::FIRST_EXIT;
use crate::{BranchCondition, Insn, Listing};

use super::error::{LiftCause, LiftError};

/// Where a branch leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// To an instruction.
    Insn(usize),
    /// Out of the program.
    Exit(u32),
}

/// The branch that ends a block.
#[derive(Clone, Debug)]
pub(super) struct BranchPlan {
    /// Its number.
    pub number: usize,
    /// When it is taken.
    pub condition: BranchCondition,
    /// Its delay slots.
    pub slots: Range<usize>,
    /// Where it leads.
    pub goal: Goal,
}

/// A basic block that can be reached.
#[derive(Clone, Debug)]
pub(super) struct BlockPlan {
    /// Its instructions before the branch. Blocks of a branch alone have an empty range that
    /// starts at the branch.
    pub body: Range<usize>,
    /// The branch at its end.
    pub branch: Option<BranchPlan>,
    /// Where control goes when the branch is not taken.
    pub next: usize,
}

impl BlockPlan {
    /// The instructions that may come next.
    fn successors(&self) -> impl Iterator<Item = usize> {
        let taken = self.branch.as_ref().and_then(|branch| match branch.goal {
            Goal::Insn(number) => Some(number),
            Goal::Exit(_) => None,
        });
        let falls = self.branch.as_ref().is_none_or(|b| b.condition != BranchCondition::Always);
        taken.into_iter().chain(falls.then_some(self.next))
    }
}

/// Divides a listing into blocks, in ascending order; the first starts at `.0`.
pub(super) fn plan(listing: &Listing) -> Result<Vec<BlockPlan>, LiftError> {
    if listing.is_empty() {
        return Err(LiftError::Empty);
    }
    let leaders = leaders(listing)?;
    let mut plans: Vec<Option<BlockPlan>> = vec![None; listing.len()];
    let mut work = vec![0];
    while let Some(first) = work.pop() {
        if plans[first].is_some() {
            continue;
        }
        let plan = block_from(listing, &leaders, first)?;
        for next in plan.successors() {
            if next >= listing.len() {
                return Err(LiftError::at(listing, listing.len() - 1, LiftCause::FallsOffEnd));
            }
            work.push(next);
        }
        plans[first] = Some(plan);
    }
    Ok(plans.into_iter().flatten().collect())
}

/// Checks all branches and finds the instructions that start a block.
fn leaders(listing: &Listing) -> Result<BTreeSet<usize>, LiftError> {
    let last = listing.len() - 1;
    let mut slot_of = vec![None; listing.len()];
    for (number, insn) in listing.insns().enumerate() {
        let Insn::Branch { target, defer, .. } = *insn else { continue };
        let fail = |cause| Err(LiftError::at(listing, number, cause));
        if let Some(owner) = slot_of[number] {
            return fail(LiftCause::BranchInDelaySlot { owner });
        }
        if number + usize::from(defer) > last {
            return fail(LiftCause::DelaySlotsBeyondEnd { defer, last: last as u32 });
        }
        slot_of[number + 1..=number + usize::from(defer)].fill(Some(number as u32));
        if target as usize > last && target < FIRST_EXIT {
            return fail(LiftCause::TargetBeyondEnd { target, last: last as u32 });
        }
    }
    let mut leaders = BTreeSet::from([0]);
    for (number, insn) in listing.insns().enumerate() {
        let Insn::Branch { target, defer, .. } = *insn else { continue };
        leaders.insert(number + 1 + usize::from(defer));
        if target as usize > last {
            continue;
        }
        if let Some(owner) = slot_of[target as usize] {
            let cause = LiftCause::TargetInDelaySlot { target, owner };
            return Err(LiftError::at(listing, number, cause));
        }
        leaders.insert(target as usize);
    }
    Ok(leaders)
}

fn block_from(
    listing: &Listing,
    leaders: &BTreeSet<usize>,
    first: usize,
) -> Result<BlockPlan, LiftError> {
    for number in first..listing.len() {
        if let Insn::Branch { condition, target, defer } = listing.numbered()[number].insn {
            let next = number + 1 + usize::from(defer);
            let goal = match target as usize {
                target if target < listing.len() => Goal::Insn(target),
                _ => Goal::Exit(target),
            };
            let branch = BranchPlan { number, condition, slots: number + 1..next, goal };
            return Ok(BlockPlan { body: first..number, branch: Some(branch), next });
        }
        if leaders.contains(&(number + 1)) {
            return Ok(BlockPlan { body: first..number + 1, branch: None, next: number + 1 });
        }
    }
    Err(LiftError::at(listing, listing.len() - 1, LiftCause::FallsOffEnd))
}

/// The first instruction among the `count` that run behind a block which uses local memory
/// through base register `index`, on whatever way.
pub(super) fn local_user_behind(
    listing: &Listing,
    plan: &BlockPlan,
    count: usize,
    index: u8,
) -> Option<usize> {
    plan.successors().find_map(|next| local_user(listing, next, count, index))
}

/// Likewise for the `count` instructions from `number` on. `count` is at most three.
fn local_user(listing: &Listing, number: usize, count: usize, index: u8) -> Option<usize> {
    let insn = listing.numbered().get(number).filter(|_| count > 0)?.insn;
    if insn.operands().any(|operand| operand.local_index() == Some(index)) {
        return Some(number);
    }
    let Insn::Branch { condition, target, defer } = insn else {
        return local_user(listing, number + 1, count - 1, index);
    };
    let defer = usize::from(defer);
    let in_slots = (number + 1..=number + defer)
        .take(count - 1)
        .find(|&slot| local_user(listing, slot, 1, index).is_some());
    let rest = (count - 1).saturating_sub(defer);
    let taken = || local_user(listing, target as usize, rest, index);
    let falls = || match condition {
        BranchCondition::Always => None,
        _ => local_user(listing, number + 1 + defer, rest, index),
    };
    in_slots.or_else(taken).or_else(falls)
}
