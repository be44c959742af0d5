//! Divides a listing into basic blocks and finds the reachable ones. Rejects control flow that the
//! device does not support.
//!
//! Functions are inlined: their blocks exist once per call string ([`calls::CallStringId`]), so
//! that every path returns to the caller that it came from.

pub(super) mod calls;
mod leaders;
mod local;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{BranchCondition, Insn, Listing, Operand};

use super::error::{LiftCause, LiftError};
pub(super) use calls::FirmwareCall;
use calls::{CallStringId, CallStrings};
use leaders::leaders;
pub(super) use local::local_user_behind;

/// Maximum number of blocks in a program, including the copies of blocks for different call
/// strings.
const MAX_BLOCKS: usize = 50_000;

/// Key of a block: the call string in which the block runs, and the number of its first
/// instruction.
pub(super) type BlockKey = (CallStringId, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BranchTarget {
    /// The branch leads to this block of the program.
    Block(BlockKey),
    /// The branch leaves the program through the exit with this number.
    Exit(u32),
}

/// The condition under which the branch at the end of a block is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The branch is always taken.
    Always,
    /// The branch is taken if the condition codes fulfil this condition.
    ConditionCodes(BranchCondition),
    /// The branch is taken if the bit with this number in the operand has this value: true for 1.
    Bit(Operand, u8, bool),
    /// A return, which always branches to the instruction whose number is in the register. The
    /// lifted program checks that the register contains the given number, which is the return
    /// address of the current call.
    Return(Operand, usize),
}

/// The branch that ends a block.
#[derive(Clone, Debug)]
pub(super) struct BlockBranch {
    /// Number of the branch instruction.
    pub number: usize,
    pub decision: Decision,
    /// Numbers of the instructions in the delay slots of the branch.
    pub slots: Range<usize>,
    /// Target of the branch. For a call of the firmware, the instruction to which the firmware
    /// returns.
    pub target: BranchTarget,
    /// The firmware function that the branch calls, if it calls one.
    pub firmware: Option<FirmwareCall>,
}

/// A reachable basic block.
#[derive(Clone, Debug)]
pub(super) struct BasicBlock {
    /// Numbers of the instructions before the branch. If the block contains only a branch, the
    /// range is empty and starts at the branch.
    pub body: Range<usize>,
    /// The branch that ends the block; `None` if control falls through.
    pub branch: Option<BlockBranch>,
    /// The block that follows if the branch is not taken.
    pub next: BlockKey,
}

impl BasicBlock {
    /// Returns the next block in listing order if control can fall through to it; otherwise `None`.
    fn fallthrough(&self) -> Option<BlockKey> {
        let falls = |branch: &BlockBranch| {
            matches!(branch.decision, Decision::ConditionCodes(_) | Decision::Bit(..))
        };
        self.branch.as_ref().is_none_or(falls).then_some(self.next)
    }

    /// Returns the target block of the branch; `None` if there is no branch or it leaves the
    /// program.
    fn branch_target(&self) -> Option<BlockKey> {
        match self.branch.as_ref()?.target {
            BranchTarget::Block(place) => Some(place),
            BranchTarget::Exit(_) => None,
        }
    }
}

/// Divides a listing into basic blocks, in ascending order of [`BlockKey`]. Blocks that are not
/// part of a call come first. The first block starts at `.0`.
pub(super) fn basic_blocks(listing: &Listing) -> Result<Vec<(BlockKey, BasicBlock)>, LiftError> {
    if listing.is_empty() {
        return Err(LiftError::Empty);
    }
    let calls = calls::has_returns(listing);
    let leaders = leaders(listing, calls)?;
    let mut call_strings = CallStrings::new(calls);
    let mut blocks: BTreeMap<BlockKey, BasicBlock> = BTreeMap::new();
    // Only reachable instructions become blocks: listings end in padding.
    let mut work = vec![(CallStringId::MAIN, 0)];
    while let Some(place) = work.pop() {
        if blocks.contains_key(&place) {
            continue;
        }
        let (call_string, first) = place;
        let end = block_end(listing, |number| leaders.contains(&number), first);
        let block = match end.filter(|&end| listing.numbered()[end].insn.is_branch()) {
            Some(number) => {
                let branch = branch_at(listing, &mut call_strings, call_string, number)?;
                // Delay slots run whether the branch is taken or not, so control continues after
                // them.
                let next = (call_string, branch.slots.end);
                BasicBlock { body: first..number, branch: Some(branch), next }
            }
            None => {
                let after = end.map_or(listing.len(), |end| end + 1);
                BasicBlock { body: first..after, branch: None, next: (call_string, after) }
            }
        };
        if block.fallthrough().is_some_and(|(_, next)| next >= listing.len()) {
            return Err(LiftError::at(listing, listing.len() - 1, LiftCause::FallsOffEnd));
        }
        if blocks.len() >= MAX_BLOCKS {
            return Err(LiftError::at(listing, first, LiftCause::TooManyCallStrings));
        }
        work.extend(block.branch_target().into_iter().chain(block.fallthrough()));
        blocks.insert(place, block);
    }
    Ok(blocks.into_iter().collect())
}

/// Returns the last instruction of the block that starts at `first`: a branch, or the instruction
/// before a leader.
fn block_end(listing: &Listing, is_leader: impl Fn(usize) -> bool, first: usize) -> Option<usize> {
    let ends =
        |&number: &usize| listing.numbered()[number].insn.is_branch() || is_leader(number + 1);
    (first..listing.len()).find(ends)
}

/// Returns the branch at an instruction that is executed within the given call string.
fn branch_at(
    listing: &Listing,
    call_strings: &mut CallStrings,
    call_string: CallStringId,
    number: usize,
) -> Result<BlockBranch, LiftError> {
    let fail = |cause| LiftError::at(listing, number, cause);
    let insn = listing.numbered()[number].insn;
    let slots = number + 1..number + 1 + usize::from(insn.delay_slots());
    let to = |target: u32, call_string| match target as usize {
        target if target < listing.len() => BranchTarget::Block((call_string, target)),
        _ => BranchTarget::Exit(target),
    };
    let mut firmware = None;
    let (decision, target) = match insn {
        Insn::Branch { condition: BranchCondition::Always, target, .. } => {
            // A firmware function is a single operation of the calling block and has no blocks of
            // its own.
            firmware = FirmwareCall::at(target);
            if firmware.is_some() {
                let back = calls::firmware_returns_to(listing, number).map_err(fail)?;
                (Decision::Always, BranchTarget::Block((call_string, back)))
            } else {
                let callee =
                    call_strings.called(listing, call_string, slots.clone()).map_err(fail)?;
                (Decision::Always, to(target, callee))
            }
        }
        Insn::Branch { condition, target, .. } => {
            (Decision::ConditionCodes(condition), to(target, call_string))
        }
        Insn::BranchBit { src, bit, set, target, .. } => {
            (Decision::Bit(src, bit, set), to(target, call_string))
        }
        Insn::Return { src, .. } => {
            let (caller, back) = call_strings.returned(call_string, src).map_err(fail)?;
            if back >= listing.len() {
                let last = listing.len() as u32 - 1;
                return Err(fail(LiftCause::TargetBeyondEnd { target: back as u32, last }));
            }
            (Decision::Return(src, back), BranchTarget::Block((caller, back)))
        }
        // Unreachable: the caller passes the number of a branch.
        _ => (Decision::Always, BranchTarget::Block((call_string, slots.end))),
    };
    Ok(BlockBranch { number, decision, slots, target, firmware })
}
