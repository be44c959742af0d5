//! Control flow: which instructions form a block, which blocks can be reached, and control flow
//! that the device does not have.
//!
//! Functions are inlined: their blocks exist once for each way of calls that leads to them
//! ([`calls::ContextId`]), so that no path returns to a caller it has not come from.

pub(super) mod calls;
mod leaders;
mod local;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{BranchCondition, Insn, Listing, Operand};

use super::error::{LiftCause, LiftError};
pub(super) use calls::FirmwareCall;
use calls::{ContextId, Contexts};
use leaders::leaders;
pub(super) use local::local_user_behind;

/// Most blocks of a program, copies for different calls included.
const MAX_BLOCKS: usize = 50_000;

/// A block: its first instruction, in the context of the calls that lead to it.
pub(super) type BlockKey = (ContextId, usize);

/// Where a branch leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BranchTarget {
    /// To a block.
    Block(BlockKey),
    /// Out of the program.
    Exit(u32),
}

/// When the branch at the end of a block is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Always.
    Always,
    /// When condition codes say so.
    Codes(BranchCondition),
    /// When a bit of an operand has a value.
    Bit(Operand, u8, bool),
    /// Always, to the address in a register, which must be the number of the target.
    Return(Operand, usize),
}

/// The branch that ends a block.
#[derive(Clone, Debug)]
pub(super) struct BlockBranch {
    /// Its number.
    pub number: usize,
    /// When it is taken.
    pub decision: Decision,
    /// Its delay slots.
    pub slots: Range<usize>,
    /// Where it leads, after the firmware's function if it calls one.
    pub target: BranchTarget,
    /// The function of the firmware that it calls.
    pub firmware: Option<FirmwareCall>,
}

/// A basic block that can be reached.
#[derive(Clone, Debug)]
pub(super) struct BasicBlock {
    /// Its instructions before the branch. Blocks of a branch alone have an empty range that
    /// starts at the branch.
    pub body: Range<usize>,
    /// The branch at its end.
    pub branch: Option<BlockBranch>,
    /// Where control goes when the branch is not taken.
    pub next: BlockKey,
}

impl BasicBlock {
    /// Where control goes when the branch is not taken, if that can be.
    fn falls_to(&self) -> Option<BlockKey> {
        let falls = |branch: &BlockBranch| {
            matches!(branch.decision, Decision::Codes(_) | Decision::Bit(..))
        };
        self.branch.as_ref().is_none_or(falls).then_some(self.next)
    }

    /// Where control goes when the branch is taken, if that is in the program.
    fn taken_to(&self) -> Option<BlockKey> {
        match self.branch.as_ref()?.target {
            BranchTarget::Block(place) => Some(place),
            BranchTarget::Exit(_) => None,
        }
    }
}

/// Divides a listing into blocks, those without a call around them first, in ascending order; the
/// first starts at `.0`.
pub(super) fn basic_blocks(listing: &Listing) -> Result<Vec<(BlockKey, BasicBlock)>, LiftError> {
    if listing.is_empty() {
        return Err(LiftError::Empty);
    }
    let calls = calls::has_returns(listing);
    let leaders = leaders(listing, calls)?;
    let mut contexts = Contexts::new(calls);
    let mut blocks: BTreeMap<BlockKey, BasicBlock> = BTreeMap::new();
    // Only what is reached: listings end in padding that means nothing.
    let mut work = vec![(ContextId::MAIN, 0)];
    while let Some(place) = work.pop() {
        if blocks.contains_key(&place) {
            continue;
        }
        let (context, first) = place;
        let end = block_end(listing, |number| leaders.contains(&number), first);
        let block = match end.filter(|&end| listing.numbered()[end].insn.is_branch()) {
            Some(number) => {
                let branch = branch_at(listing, &mut contexts, context, number)?;
                // Delay slots run whichever way it goes: control is behind them afterwards.
                let next = (context, branch.slots.end);
                BasicBlock { body: first..number, branch: Some(branch), next }
            }
            None => {
                let after = end.map_or(listing.len(), |end| end + 1);
                BasicBlock { body: first..after, branch: None, next: (context, after) }
            }
        };
        if block.falls_to().is_some_and(|(_, next)| next >= listing.len()) {
            return Err(LiftError::at(listing, listing.len() - 1, LiftCause::FallsOffEnd));
        }
        if blocks.len() >= MAX_BLOCKS {
            return Err(LiftError::at(listing, first, LiftCause::TooManyCopies));
        }
        work.extend(block.taken_to().into_iter().chain(block.falls_to()));
        blocks.insert(place, block);
    }
    Ok(blocks.into_iter().collect())
}

/// The last instruction of the block that starts at `first`: a branch, or the one before a leader.
fn block_end(listing: &Listing, is_leader: impl Fn(usize) -> bool, first: usize) -> Option<usize> {
    let ends =
        |&number: &usize| listing.numbered()[number].insn.is_branch() || is_leader(number + 1);
    (first..listing.len()).find(ends)
}

/// The branch at an instruction, in a context.
fn branch_at(
    listing: &Listing,
    contexts: &mut Contexts,
    context: ContextId,
    number: usize,
) -> Result<BlockBranch, LiftError> {
    let fail = |cause| LiftError::at(listing, number, cause);
    let insn = listing.numbered()[number].insn;
    let slots = number + 1..number + 1 + usize::from(insn.delay_slots());
    let to = |target: u32, context| match target as usize {
        target if target < listing.len() => BranchTarget::Block((context, target)),
        _ => BranchTarget::Exit(target),
    };
    let mut firmware = None;
    let (decision, target) = match insn {
        Insn::Branch { condition: BranchCondition::Always, target, .. } => {
            // What the firmware does is one operation of the block that calls it, not blocks of its own.
            firmware = FirmwareCall::at(target);
            if firmware.is_some() {
                let back = calls::firmware_returns_to(listing, number).map_err(fail)?;
                (Decision::Always, BranchTarget::Block((context, back)))
            } else {
                let callee = contexts.called(listing, context, slots.clone()).map_err(fail)?;
                (Decision::Always, to(target, callee))
            }
        }
        Insn::Branch { condition, target, .. } => (Decision::Codes(condition), to(target, context)),
        Insn::BranchBit { src, bit, set, target, .. } => {
            (Decision::Bit(src, bit, set), to(target, context))
        }
        Insn::Return { src, .. } => {
            let (caller, back) = contexts.returned(context, src).map_err(fail)?;
            if back >= listing.len() {
                let last = listing.len() as u32 - 1;
                return Err(fail(LiftCause::TargetBeyondEnd { target: back as u32, last }));
            }
            (Decision::Return(src, back), BranchTarget::Block((caller, back)))
        }
        // The caller has found a branch here.
        _ => (Decision::Always, BranchTarget::Block((context, slots.end))),
    };
    Ok(BlockBranch { number, decision, slots, target, firmware })
}
