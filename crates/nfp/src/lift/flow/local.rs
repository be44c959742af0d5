//! Finds uses of local memory shortly after a block, while a write of a base register may not have
//! taken effect yet.
//!
//! A base register has its new value three cycles after the instruction that writes it. A taken
//! branch takes at least three cycles itself, so at its target all earlier writes have taken
//! effect. The compiler relies on this when it calls functions.

use std::ops::Range;

use super::BasicBlock;
use crate::lift::delayed_effects::PendingBase;
use crate::{Insn, Listing};

/// Searches the paths after a block for an instruction that uses a base register of local memory
/// before a write of it takes effect. Returns the number of the first such instruction.
pub(in crate::lift) fn local_user_behind(
    listing: &Listing,
    block: &BasicBlock,
    pending: PendingBase,
) -> Option<usize> {
    let PendingBase { index, remaining: left, number, .. } = pending;
    let in_slots = block.branch.as_ref().is_some_and(|branch| number > branch.number);
    let falls = block.fallthrough();
    let taken = block.branch_target().filter(|_| in_slots);
    let ways = falls.into_iter().chain(taken);
    ways.map(|(_, next)| next).find_map(|next| local_user(listing, next, left, index))
}

/// Returns the first of `count` instructions from `number` on that uses the base register `index`.
/// `count` is at most three.
fn local_user(listing: &Listing, number: usize, count: usize, index: u8) -> Option<usize> {
    let insn = listing.numbered().get(number).filter(|_| count > 0)?.insn;
    if uses(&insn, index) {
        return Some(number);
    }
    if !insn.is_branch() {
        return local_user(listing, number + 1, count - 1, index);
    }
    let next = number + 1 + usize::from(insn.delay_slots());
    let run: Range<usize> = number + 1..next.min(number + count);
    let in_slots = run
        .clone()
        .find(|&slot| listing.numbered().get(slot).is_some_and(|s| uses(&s.insn, index)));
    let rest = (count - 1).saturating_sub(run.len());
    let falls = || match insn {
        _ if insn.is_unconditional() => None,
        _ => local_user(listing, next, rest, index),
    };
    in_slots.or_else(falls)
}

fn uses(insn: &Insn, index: u8) -> bool {
    insn.operands().any(|operand| operand.local_index() == Some(index))
}
