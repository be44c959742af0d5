//! Further packets like the first, where they take another path because of what it left in maps.
//!
//! A packet that arrives is fresh, whatever became of the one before it: only maps carry on. So the
//! packet is always restored here, and elements of maps never.

use std::sync::Arc;

use slowpath_kernel::timing::Attachments;
use slowpath_kernel::{Kernel, Tally};
use slowpath_replay::{Effects, Replay, ReplayError, Step};

use crate::case::{Arrangement, Case, Later};
use crate::error::MeasureError;
use crate::trial::{FEW, LONG, Trial, Wanted};

/// What a second packet was counted to be, and what it returns.
pub type Second = (Tally, u32);

/// What becomes of further packets; `None` if they take the path of the first. `replay` has run that
/// one.
///
/// # Errors
/// If kernel and interpreter disagree about the second packet.
pub fn further(
    (kernel, attachments): (&Kernel, &Attachments),
    first: &Case,
    replay: &mut Replay,
    second: Second,
) -> Result<Option<Later>, MeasureError> {
    // Else repetitions took the path with maps as they left them.
    let restored = match &first.arrangement {
        Arrangement::Repeated => false,
        Arrangement::Restored(undo) => !undo.elements.is_empty(),
    };
    if !restored {
        return Ok(None);
    }
    let step = match replay.run(&first.packet, &first.context) {
        Ok(step) => Some(step),
        Err(error @ ReplayError::Disagreement(_)) => return Err(error.into()),
        // What it changes is not known then; counting shows whether that matters.
        Err(_) => None,
    };
    let (tally, action) = second;
    let mut case = behind(first, step, second);
    // It may write to other ring buffers than the first one, or none.
    let found = case.draining(kernel).and_then(|draining| {
        case.draining = draining;
        obstacle((kernel, attachments), &mut case, &tally)
    });
    let case = match found {
        Ok(None) => Ok(Arc::new(case)),
        Ok(Some(why)) => Err(why.to_owned()),
        Err(error) => Err(error.to_string()),
    };
    Ok(Some(Later { action, instructions: tally.instructions, case }))
}

/// The path of the second packet as a case, if repetitions take it.
fn behind(first: &Case, step: Option<Step>, (tally, action): Second) -> Case {
    let none = Effects::default();
    let effects = step.as_ref().map_or(&none, |step| &step.effects);
    let undo = first.packet_undo(effects);
    let same =
        |step: &Step| step.instructions == tally.instructions && step.outcome.action == action;
    let known = step.filter(same);
    let slots = |step: Step| step.run.costs.iter().map(|cost| cost.insn.index()).collect();
    Case {
        arrangement: Arrangement::Restored(undo),
        action,
        instructions: tally.instructions,
        warmed: true,
        later: None,
        path: known.as_ref().map(|step| step.path),
        places: Arc::default(),
        trace: known.map(slots),
        flow: None,
        ..first.clone()
    }
}

/// Why packets from the second one on do not take the same path, if they do not.
fn obstacle(
    (kernel, attachments): (&Kernel, &Attachments),
    case: &mut Case,
    second: &Tally,
) -> Result<Option<&'static str>, MeasureError> {
    let undo = match &case.arrangement {
        Arrangement::Repeated => None,
        Arrangement::Restored(undo) => Some(undo),
    };
    let trial = || {
        let counted = case.counted(kernel)?;
        let drains = case.drains(counted.0.loaded())?;
        Trial::new((kernel, attachments), counted, undo, drains)
    };
    let whole = trial()?;
    let once = whole.run(&case.packet, &case.context, 1)?;
    if once.is_none_or(|(value, tally)| value != case.action || tally != *second) {
        return Ok(Some("which path a second packet takes differs from time to time"));
    }
    let wanted = Wanted { value: case.action, instructions: case.instructions };
    if let Some(repetitions) = whole.repeats(&case.packet, &case.context, &wanted, LONG)? {
        case.repetitions = repetitions;
        return Ok(None);
    }
    let again = trial()?;
    let restored = again.run(&case.packet, &case.context, FEW)?.is_some();
    Ok(Some(if restored {
        "further packets do not all take the path of the second one: they go on changing maps"
    } else {
        "what it changes in the packet is not taken back"
    }))
}
