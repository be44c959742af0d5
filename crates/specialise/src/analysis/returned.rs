//! What helpers return of which it is known before they are called: whether the packet's ends can be
//! moved, how long it is, whether there are so many bytes of it.

use super::numbers::{Def, Numbers};
use super::placed::{Placed, Range};
use super::reason::Reason;
use super::setting::Setting;
use super::state::State;
use super::value::{Kind, Value};
use slowpath_bpf::insn::helper;
use slowpath_domain::{Domain, transfer};

/// Largest offset that the kernel looks at (`bpf_xdp_pointer` of `net/core/filter.c`).
const FARTHEST: i64 = 0xffff;

/// What is known behind a call of a helper.
pub(super) struct Returned {
    /// What it returns, if that is known, and what it rests on.
    result: Option<(Domain, Reason)>,
    /// Where the packet lies, how long it is, and what that rests on, if an end of it may have moved.
    moved: Option<(Placed, Range, Reason)>,
}

impl Returned {
    /// What is known behind a call, by what is known before it.
    pub fn by(state: &State, setting: &Setting<'_>, called: i32) -> Option<Returned> {
        if called != helper::XDP_ADJUST_HEAD && called != helper::XDP_ADJUST_META && !setting.whole
        {
            return None;
        }
        let length = Range(state.length.0, state.length.1);
        let (shortest, longest) = state.length_reasons;
        let zero = Domain::constant(64, 0);
        match called {
            helper::XDP_ADJUST_HEAD | helper::XDP_ADJUST_TAIL | helper::XDP_ADJUST_META => {
                let by = &state.regs[2];
                let moved = state.placed.moved(called, distance(by), length)?;
                let mut reason = if moved.room { by.reason | Reason::ROOM } else { by.reason };
                reason = match called {
                    helper::XDP_ADJUST_HEAD => reason | shortest,
                    helper::XDP_ADJUST_TAIL => reason | shortest | longest,
                    _ => reason,
                };
                let result = moved.succeeds.then_some((zero, reason));
                let why = if moved.succeeds { reason } else { by.reason };
                Some(Returned { result, moved: Some((moved.placed, moved.length, why)) })
            }
            helper::XDP_GET_BUFF_LEN => {
                let (low, high) = (u64::try_from(length.0).ok()?, u64::try_from(length.1).ok()?);
                let result = Some((Domain::range(64, low, high), shortest | longest));
                Some(Returned { result, moved: None })
            }
            helper::XDP_LOAD_BYTES => {
                let (offset, bytes) = (&state.regs[2], &state.regs[4]);
                let (first, count) = (distance(offset), distance(bytes));
                let there = first.0 >= 0
                    && first.1 <= FARTHEST
                    && count.0 >= 0
                    && first.1 + count.1 <= length.0;
                let reason = offset.reason | bytes.reason | shortest;
                there.then_some(Returned { result: Some((zero, reason)), moved: None })
            }
            _ => None,
        }
    }

    /// Notes it behind the call, of which nothing else is known any more.
    pub fn apply(self, state: &mut State, numbers: &mut Numbers) {
        if let Some((placed, length, reason)) = self.moved {
            state.placed = placed;
            state.length = (length.0, length.1);
            let (shortest, longest) = state.length_reasons;
            state.length_reasons = (shortest | reason, longest | reason);
        }
        if let Some((domain, reason)) = self.result {
            let value = &mut state.regs[0];
            *value = Value { kind: Kind::Number(domain), reason, ..*value };
            if let Some(constant) = domain.as_constant() {
                value.number = numbers.of(Def::Constant(constant));
            }
        }
    }
}

/// A number of 32 bits, with its sign.
fn distance(value: &Value) -> Range {
    let low = transfer::extract(value.domain(), 0, 32);
    let (least, most) = transfer::sext(low, 64).signed_range();
    Range(least, most)
}
