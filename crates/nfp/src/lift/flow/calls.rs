//! Calls. The device has none: callers put the number of the instruction to return to into a
//! register, and functions end by `rtn` of what they have kept of it.
//!
//! - A function that needs the callee-saved registers is called by way of a piece of code that
//!   saves them, which goes on to the function by `rtn` of a second register.
//! - Functions of the firmware are ways out of the program with numbers of their own.
//!
//! Both registers are loaded in the delay slots of the branch. What comes back in them is checked
//! when the program is executed: a path that returns elsewhere has no meaning.
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

/// Most chains of calls.
const MAX_CONTEXTS: usize = 2_000;

/// A function of the firmware that programs call. Its number is that of the BPF helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum FirmwareCall {
    MapLookup,
    MapUpdate,
    MapDelete,
    PerfOutput,
}

impl FirmwareCall {
    /// The function that a branch to this number calls.
    pub fn at(target: u32) -> Option<Self> {
        Some(match i32::try_from(target.checked_sub(FIRST_EXIT)?).ok()? {
            helper::MAP_LOOKUP_ELEM => FirmwareCall::MapLookup,
            helper::MAP_UPDATE_ELEM => FirmwareCall::MapUpdate,
            helper::MAP_DELETE_ELEM => FirmwareCall::MapDelete,
            helper::PERF_EVENT_OUTPUT => FirmwareCall::PerfOutput,
            _ => return None,
        })
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            FirmwareCall::MapLookup => "map_lookup",
            FirmwareCall::MapUpdate => "map_update",
            FirmwareCall::MapDelete => "map_delete",
            FirmwareCall::PerfOutput => "perf_output",
        }
    }

    /// The cost class of a call.
    pub fn cost_class(self) -> &'static str {
        match self {
            FirmwareCall::MapLookup => "helper.map_lookup",
            FirmwareCall::MapUpdate => "helper.map_update",
            FirmwareCall::MapDelete => "helper.map_delete",
            FirmwareCall::PerfOutput => "helper.perf_output",
        }
    }
}

/// Where the function of the firmware that is called at `number` returns to.
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

/// Whether anything returns: without, registers that callers use are like all others.
pub(super) fn has_returns(listing: &Listing) -> bool {
    listing.insns().any(|insn| matches!(insn, Insn::Return { .. }))
}

/// The numbers of instructions that a caller puts into registers in its delay slots.
pub(super) fn links(listing: &Listing, slots: Range<usize>) -> impl Iterator<Item = u32> {
    let back = loaded(listing, slots.clone(), RETURN_ADDRESS);
    let onward = back.and_then(|_| loaded(listing, slots, ONWARD_ADDRESS));
    back.into_iter().chain(onward)
}

/// The number that delay slots leave in a register.
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

/// The calls around a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lift) struct ContextId(usize);

impl ContextId {
    /// No call.
    pub const MAIN: ContextId = ContextId(0);
}

/// What a chain of calls leaves to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct CallContext {
    /// Where to return to, the innermost call last.
    back: Vec<u32>,
    /// The function to go to by way of the code that is being executed.
    onward: Option<u32>,
}

/// The chains of calls that occur.
#[derive(Debug)]
pub(super) struct Contexts {
    /// Whether there are calls at all.
    calls: bool,
    all: Vec<CallContext>,
    ids: BTreeMap<CallContext, ContextId>,
}

impl Contexts {
    /// No calls yet; `calls` says whether there will be any.
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

    /// The context behind an unconditional branch with these delay slots, which may be a call.
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
        // Every call has a number of its own to return to.
        if context.back.contains(&back) {
            return Err(LiftCause::Recursion { back });
        }
        context.back.push(back);
        context.onward = links.next();
        self.id(context)
    }

    /// The context behind `rtn[src]`, and the instruction that it goes to.
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
