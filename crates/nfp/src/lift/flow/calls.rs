//! Calls and returns. The device has no call instruction: a caller loads a register with the number
//! of the instruction to return to. The function keeps this number and ends with an `rtn` to it.
//!
//! - A call of a function that uses callee-saved registers goes through a subroutine. It saves the
//!   registers and continues at the function with `rtn` of a second register.
//! - Firmware functions are exits of the program with numbers of their own.
//!
//! The delay slots of the calling branch load both registers. The lifted program checks that `rtn`
//! finds the expected number in its register. A program that can return elsewhere is invalid.
//!
//! Source: the public driver (`bpf/jit.c`: calls, prologue and epilogue of functions, calls of
//! helpers; `bpf/main.h`: registers).

use std::collections::BTreeMap;
use std::ops::Range;

use slowpath_bpf::insn::helper;

use crate::abi::{CALLEE_ADDRESS, FIRMWARE_RETURN, RETURN_ADDRESS};
use crate::lift::error::LiftCause;
use crate::listing::FIRST_EXIT;
use crate::{Insn, Listing, Operand};

/// Maximum number of call strings.
const MAX_CONTEXTS: usize = 2_000;

/// A firmware function that programs call. Its number is the number of the BPF helper that it
/// implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum FirmwareCall {
    MapLookup,
    MapUpdate,
    MapDelete,
    PerfOutput,
}

impl FirmwareCall {
    /// Returns the firmware function that a branch to this instruction number calls; `None` if it
    /// calls none.
    pub fn at(target: u32) -> Option<Self> {
        Some(match i32::try_from(target.checked_sub(FIRST_EXIT)?).ok()? {
            helper::MAP_LOOKUP_ELEM => FirmwareCall::MapLookup,
            helper::MAP_UPDATE_ELEM => FirmwareCall::MapUpdate,
            helper::MAP_DELETE_ELEM => FirmwareCall::MapDelete,
            helper::PERF_EVENT_OUTPUT => FirmwareCall::PerfOutput,
            _ => return None,
        })
    }

    /// Returns the function's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            FirmwareCall::MapLookup => "map_lookup",
            FirmwareCall::MapUpdate => "map_update",
            FirmwareCall::MapDelete => "map_delete",
            FirmwareCall::PerfOutput => "perf_output",
        }
    }

    /// Returns the cost class of a call of this function.
    pub fn cost_class(self) -> &'static str {
        match self {
            FirmwareCall::MapLookup => "helper.map_lookup",
            FirmwareCall::MapUpdate => "helper.map_update",
            FirmwareCall::MapDelete => "helper.map_delete",
            FirmwareCall::PerfOutput => "helper.perf_output",
        }
    }
}

/// Returns the number of the instruction to which a firmware function returns. Instruction `number`
/// calls the function.
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

/// Returns true if the listing contains returns. If not, registers for return addresses have no
/// special meaning.
pub(super) fn has_returns(listing: &Listing) -> bool {
    listing.insns().any(|insn| matches!(insn, Insn::Return { .. }))
}

/// Returns the instruction numbers that the delay slots of a call load into registers: the return
/// address and, for calls through the subroutine that saves registers, the called function. Returns
/// no numbers if the branch is not a call.
pub(super) fn link_registers(listing: &Listing, slots: Range<usize>) -> impl Iterator<Item = u32> {
    let back = loaded(listing, slots.clone(), RETURN_ADDRESS);
    let onward = back.and_then(|_| loaded(listing, slots, CALLEE_ADDRESS));
    back.into_iter().chain(onward)
}

/// Returns the constant that instructions in the delay slots load into a register; `None` if they
/// load none.
fn loaded(listing: &Listing, slots: Range<usize>, register: Operand) -> Option<u32> {
    let writes = |insn: &&Insn| match (insn.destination(), register) {
        (Some((dst, _)), _) if dst == register => true,
        (Some((Operand::Gpr(_, written), true)), Operand::Gpr(_, number)) => written == number,
        _ => false,
    };
    let slots = listing.numbered().get(slots)?;
    match *slots.iter().map(|slot| &slot.insn).rfind(writes)? {
        Insn::Immed { value, shift: 0, .. } if value <= 0xffff => Some(value),
        _ => None,
    }
}

/// Index of a call string in [`CallStrings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lift) struct CallStringId(usize);

impl CallStringId {
    /// The empty call string, for blocks outside of called functions.
    pub const MAIN: CallStringId = CallStringId(0);
}

/// A call string: the calls that have not returned yet when a block runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct CallString {
    /// Numbers of the instructions to which the calls return, in the order of the calls.
    return_addresses: Vec<u32>,
    /// Number of the called function's first instruction, while the subroutine that saves registers
    /// runs. `None` elsewhere.
    callee: Option<u32>,
}

/// All call strings that occur in a listing.
#[derive(Debug)]
pub(super) struct CallStrings {
    /// True if the listing has calls.
    calls: bool,
    all: Vec<CallString>,
    ids: BTreeMap<CallString, CallStringId>,
}

impl CallStrings {
    /// Creates a list that contains only the empty call string. `calls` is true if the listing has
    /// calls.
    pub fn new(calls: bool) -> Self {
        let main = CallString::default();
        CallStrings {
            calls,
            all: vec![main.clone()],
            ids: BTreeMap::from([(main, CallStringId::MAIN)]),
        }
    }

    fn id(&mut self, call_string: CallString) -> Result<CallStringId, LiftCause> {
        if let Some(&id) = self.ids.get(&call_string) {
            return Ok(id);
        }
        if self.all.len() >= MAX_CONTEXTS {
            return Err(LiftCause::TooManyCallStrings);
        }
        let id = CallStringId(self.all.len());
        self.all.push(call_string.clone());
        self.ids.insert(call_string, id);
        Ok(id)
    }

    /// Returns the call string after an unconditional branch in the call string `from`. If the
    /// branch is a call, the result has one more call than `from`. `slots` are the delay slots of
    /// the branch.
    pub fn called(
        &mut self,
        listing: &Listing,
        from: CallStringId,
        slots: Range<usize>,
    ) -> Result<CallStringId, LiftCause> {
        if !self.calls {
            return Ok(from);
        }
        let mut links = link_registers(listing, slots);
        let Some(back) = links.next() else { return Ok(from) };
        let mut call_string = self.all[from.0].clone();
        // Each call returns to a different number.
        if call_string.return_addresses.contains(&back) {
            return Err(LiftCause::Recursion { return_address: back });
        }
        call_string.return_addresses.push(back);
        call_string.callee = links.next();
        self.id(call_string)
    }

    /// Returns the call string after the instruction `rtn[src]`, which runs in the call string
    /// `from`, and the number of the instruction to which it jumps.
    pub fn returned(
        &mut self,
        from: CallStringId,
        src: Operand,
    ) -> Result<(CallStringId, usize), LiftCause> {
        let mut call_string = self.all[from.0].clone();
        let to = match src {
            CALLEE_ADDRESS => call_string.callee.take(),
            RETURN_ADDRESS if call_string.callee.is_none() => call_string.return_addresses.pop(),
            _ => None,
        };
        let to = to.ok_or(LiftCause::ReturnWithoutCall)?;
        Ok((self.id(call_string)?, to as usize))
    }
}
