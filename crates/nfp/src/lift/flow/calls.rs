//! Calls and returns, which the device does not have as instructions. A caller puts the number of
//! the instruction to return to into a register. A function keeps this number and ends with an
//! `rtn` to it.
//!
//! - A call of a function that uses callee-saved registers goes through a subroutine. It saves them
//!   and continues to the function with `rtn` of a second register.
//! - Firmware functions are exits of the program with numbers of their own.
//!
//! The delay slots of the branch load both registers. Execution of the lifted program checks that
//! an `rtn` finds the expected number; a path that returns elsewhere has no meaning.
//!
//! Source: the public driver (`bpf/jit.c`: calls, prologue and epilogue of functions, calls of
//! helpers; `bpf/main.h`: registers).

use std::collections::BTreeMap;
use std::ops::Range;

use slowpath_bpf::insn::helper;

use crate::abi::{FIRMWARE_RETURN, ONWARD_ADDRESS, RETURN_ADDRESS};
use crate::lift::error::LiftCause;
use crate::listing::FIRST_EXIT;
use crate::{Insn, Listing, Operand};

/// Largest number of call strings.
const MAX_CONTEXTS: usize = 2_000;

/// A firmware function that programs call. Its number is that of the BPF helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum FirmwareCall {
    MapLookup,
    MapUpdate,
    MapDelete,
    PerfOutput,
}

impl FirmwareCall {
    /// Returns the firmware function that a branch to this number calls.
    pub fn at(target: u32) -> Option<Self> {
        Some(match i32::try_from(target.checked_sub(FIRST_EXIT)?).ok()? {
            helper::MAP_LOOKUP_ELEM => FirmwareCall::MapLookup,
            helper::MAP_UPDATE_ELEM => FirmwareCall::MapUpdate,
            helper::MAP_DELETE_ELEM => FirmwareCall::MapDelete,
            helper::PERF_EVENT_OUTPUT => FirmwareCall::PerfOutput,
            _ => return None,
        })
    }

    /// Returns the name for messages.
    pub fn name(self) -> &'static str {
        match self {
            FirmwareCall::MapLookup => "map_lookup",
            FirmwareCall::MapUpdate => "map_update",
            FirmwareCall::MapDelete => "map_delete",
            FirmwareCall::PerfOutput => "perf_output",
        }
    }

    /// Returns the cost class of a call.
    pub fn cost_class(self) -> &'static str {
        match self {
            FirmwareCall::MapLookup => "helper.map_lookup",
            FirmwareCall::MapUpdate => "helper.map_update",
            FirmwareCall::MapDelete => "helper.map_delete",
            FirmwareCall::PerfOutput => "helper.perf_output",
        }
    }
}

/// Returns the instruction to which the firmware function called at `number` returns.
pub(super) fn firmware_returns_to(listing: &Listing, number: usize) -> Result<usize, LiftCause> {
    let defer = usize::from(listing.numbered()[number].insn.delay_slots());
    let back = loaded(listing, number + 1..number + 1 + defer, FIRMWARE_RETURN);
    let back = back.ok_or(LiftCause::NoReturnAddress)?;
    let last = listing.len() as u32 - 1;
    if back > last {
        return Err(LiftCause::TargetBeyondEnd { target: back, last });
    }
    Ok(back as usize)
}

/// Returns true if the listing has returns. Without them, the registers for return addresses have
/// no special role.
pub(super) fn has_returns(listing: &Listing) -> bool {
    listing.insns().any(|insn| matches!(insn, Insn::Return { .. }))
}

/// Returns the instruction numbers that a caller's delay slots load: the return address, then the
/// callee if the call goes through the register-saving subroutine.
pub(super) fn links(listing: &Listing, slots: Range<usize>) -> impl Iterator<Item = u32> {
    let back = loaded(listing, slots.clone(), RETURN_ADDRESS);
    let onward = back.and_then(|_| loaded(listing, slots, ONWARD_ADDRESS));
    back.into_iter().chain(onward)
}

/// Returns the constant that delay slots load into a register.
fn loaded(listing: &Listing, slots: Range<usize>, register: Operand) -> Option<u32> {
    let writes = |insn: &&Insn| match (insn.destination(), register) {
        (Some((dst, _)), _) if dst == register => true,
        (Some((Operand::Gpr(_, number), true)), Operand::Gpr(_, wanted)) => number == wanted,
        _ => false,
    };
    let slots = listing.numbered().get(slots)?;
    match *slots.iter().map(|slot| &slot.insn).rfind(writes)? {
        Insn::Immed { value, shift: 0, .. } if value <= 0xffff => Some(value),
        _ => None,
    }
}

/// The call string of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lift) struct ContextId(usize);

impl ContextId {
    /// The empty call string.
    pub const MAIN: ContextId = ContextId(0);
}

/// A call string: the pending returns of the calls around a block.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct CallContext {
    /// Numbers of the instructions to return to, the innermost call last.
    back: Vec<u32>,
    /// Number of the function to which the register-saving subroutine continues.
    onward: Option<u32>,
}

/// The call strings that occur.
#[derive(Debug)]
pub(super) struct Contexts {
    /// True if the listing has calls.
    calls: bool,
    all: Vec<CallContext>,
    ids: BTreeMap<CallContext, ContextId>,
}

impl Contexts {
    /// Returns a table with the empty call string only; `calls` is true if the listing has calls.
    pub fn new(calls: bool) -> Self {
        let main = CallContext::default();
        Contexts { calls, all: vec![main.clone()], ids: BTreeMap::from([(main, ContextId::MAIN)]) }
    }

    fn id(&mut self, context: CallContext) -> Result<ContextId, LiftCause> {
        if let Some(&id) = self.ids.get(&context) {
            return Ok(id);
        }
        if self.all.len() >= MAX_CONTEXTS {
            return Err(LiftCause::TooManyCopies);
        }
        let id = ContextId(self.all.len());
        self.all.push(context.clone());
        self.ids.insert(context, id);
        Ok(id)
    }

    /// Returns the call string after an unconditional branch with these delay slots, which may be a
    /// call.
    pub fn called(
        &mut self,
        listing: &Listing,
        from: ContextId,
        slots: Range<usize>,
    ) -> Result<ContextId, LiftCause> {
        if !self.calls {
            return Ok(from);
        }
        let mut links = links(listing, slots);
        let Some(back) = links.next() else { return Ok(from) };
        let mut context = self.all[from.0].clone();
        // Each call returns to a different number.
        if context.back.contains(&back) {
            return Err(LiftCause::Recursion { back });
        }
        context.back.push(back);
        context.onward = links.next();
        self.id(context)
    }

    /// Returns the call string after `rtn[src]`, and the instruction that it jumps to.
    pub fn returned(
        &mut self,
        from: ContextId,
        src: Operand,
    ) -> Result<(ContextId, usize), LiftCause> {
        let mut context = self.all[from.0].clone();
        let to = match src {
            ONWARD_ADDRESS => context.onward.take(),
            RETURN_ADDRESS if context.onward.is_none() => context.back.pop(),
            _ => None,
        };
        let to = to.ok_or(LiftCause::ReturnWithoutCall)?;
        Ok((self.id(context)?, to as usize))
    }
}
