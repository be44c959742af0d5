//! Predicts the results of helper calls that follow from the length and position of the packet.
//! These helpers move the start or the end of the packet, return its length, or copy its bytes.

use super::fact_set::FactSet;
use super::inputs::AnalysisInputs;
use super::numbers::{Def, Numbers};
use super::position::{PacketPosition, Range};
use super::state::State;
use super::value::{Kind, Value};
use slowpath_bpf::insn::helper;
use slowpath_domain::{Domain, transfer};

/// Largest packet offset that the kernel accepts (`bpf_xdp_pointer` of `net/core/filter.c`).
const FARTHEST: i64 = 0xffff;

/// The predicted effects of a helper call.
pub(super) struct HelperEffect {
    /// Return value of the call, with the facts on which it depends; `None` if it is not known.
    result: Option<(Domain, FactSet)>,
    /// Position and length of the packet after the call, with the facts on which they depend.
    /// `None` if the call moves neither the start nor the end of the packet.
    moved: Option<(PacketPosition, Range, FactSet)>,
}

impl HelperEffect {
    /// Predicts the effects of a call. `state` is the state before the call, and `called` is the
    /// helper's number in `enum bpf_func_id`. Returns `None` if no effect can be predicted.
    pub fn by(state: &State, inputs: &AnalysisInputs<'_>, called: i32) -> Option<HelperEffect> {
        if called != helper::XDP_ADJUST_HEAD
            && called != helper::XDP_ADJUST_META
            && !inputs.contiguous
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
                let mut reason = if moved.room { by.reason | FactSet::ROOM } else { by.reason };
                reason = match called {
                    helper::XDP_ADJUST_HEAD => reason | shortest,
                    helper::XDP_ADJUST_TAIL => reason | shortest | longest,
                    _ => reason,
                };
                let result = moved.succeeds.then_some((zero, reason));
                let why = if moved.succeeds { reason } else { by.reason };
                Some(HelperEffect { result, moved: Some((moved.placed, moved.length, why)) })
            }
            helper::XDP_GET_BUFF_LEN => {
                let (low, high) = (u64::try_from(length.0).ok()?, u64::try_from(length.1).ok()?);
                let result = Some((Domain::range(64, low, high), shortest | longest));
                Some(HelperEffect { result, moved: None })
            }
            helper::XDP_LOAD_BYTES => {
                let (offset, bytes) = (&state.regs[2], &state.regs[4]);
                let (first, count) = (distance(offset), distance(bytes));
                let there = first.0 >= 0
                    && first.1 <= FARTHEST
                    && count.0 >= 0
                    && first.1 + count.1 <= length.0;
                let reason = offset.reason | bytes.reason | shortest;
                there.then_some(HelperEffect { result: Some((zero, reason)), moved: None })
            }
            _ => None,
        }
    }

    /// Updates the state after the call with the predicted result, position and length.
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

/// Returns the range of the low 32 bits of a value, read as a signed number.
fn distance(value: &Value) -> Range {
    let low = transfer::extract(value.domain(), 0, 32);
    let (least, most) = transfer::sext(low, 64).signed_range();
    Range(least, most)
}
