//! Finds the path of the packets after the first one, if it differs because the first packet
//! changed the maps.
//!
//! Each packet that arrives is new, no matter how the program changed the previous one. Only maps
//! persist. Therefore this module always restores the packet and never restores map elements.

use std::collections::BTreeSet;
use std::sync::Arc;

use slowpath_kernel::timing::Attachments;
use slowpath_kernel::{Kernel, Tally, TestRun};
use slowpath_replay::{Effects, Replay, ReplayError, Step};

use crate::case::{Arrangement, Case, SubsequentPackets};
use crate::error::MeasureError;
use crate::skb::SkbRun;
use crate::trial::{COUNTING_TIME, ExpectedRun, FIRST_REPETITIONS, Trial};

/// Results of the second packet's run: the counts of executed blocks and instructions, and the
/// result of the test run.
pub type Second = (Tally, TestRun);

/// Finds the path of the packets after the first one. Returns `None` if they take the same path as
/// the first one. `replay` has already run the first packet, and `second` contains the results of
/// the second one.
///
/// # Errors
/// If kernel and interpreter give different results for the second packet.
pub fn subsequent_packets(
    (kernel, attachments): (&Kernel, &Attachments),
    first: &Case,
    replay: &mut Replay,
    second: Second,
) -> Result<Option<SubsequentPackets>, MeasureError> {
    // If no elements are restored, all repetitions took the path on maps that earlier ones changed.
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
        // The changes of the packet are unknown then; counting shows if they matter.
        Err(_) => None,
    };
    let (tally, action) = (second.0, second.1.return_value);
    let calls = match &step {
        Some(step) if !step.open_path => SkbRun::calls(replay.lifted(), &step.run.costs),
        _ => SkbRun::all_calls(&first.object, first.program),
    };
    let mut case = match case_of_second_packet(first, (step, calls), &second) {
        Ok(case) => case,
        Err(reason) => {
            let case = Err(reason);
            return Ok(Some(SubsequentPackets { action, instructions: tally.instructions, case }));
        }
    };
    // The second packet may write to other ring buffers than the first, or to none.
    let found = case.draining(kernel).and_then(|draining| {
        case.draining = draining;
        obstacle((kernel, attachments), &mut case, &tally)
    });
    let case = match found {
        Ok(None) => Ok(Arc::new(case)),
        Ok(Some(reason)) => Err(reason.to_owned()),
        Err(error) => Err(error.to_string()),
    };
    Ok(Some(SubsequentPackets { action, instructions: tally.instructions, case }))
}

/// Builds a case for the path of the second packet, which finds the maps as the first one left
/// them.
///
/// # Errors
/// The reason, if a change to the packet cannot be undone.
fn case_of_second_packet(
    first: &Case,
    (step, calls): (Option<Step>, BTreeSet<String>),
    (tally, run): &Second,
) -> Result<Case, String> {
    let action = run.return_value;
    let none = Effects::default();
    let effects = step.as_ref().map_or(&none, |step| &step.effects);
    let skb =
        first.skb.as_ref().map(|skb| SkbRun { calls, lengths: (skb.lengths.0, run.packet.len()) });
    let undo = Case { skb: skb.clone(), ..first.clone() }.packet_undo(effects)?;
    let same =
        |step: &Step| step.instructions == tally.instructions && step.outcome.action == action;
    let known = step.filter(same);
    let slots = |step: Step| step.run.costs.iter().map(|cost| cost.insn.index()).collect();
    Ok(Case {
        skb,
        arrangement: Arrangement::Restored(undo),
        action,
        instructions: tally.instructions,
        warmed: true,
        subsequent_packets: None,
        path: known.as_ref().map(|step| step.path),
        places: Arc::default(),
        trace: known.map(slots),
        flow: None,
        ..first.clone()
    })
}

/// Returns the reason if the packets after the first one do not all take the same path, and `None`
/// if they do.
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
    let first_trial = trial()?;
    let once = first_trial.run(&case.packet, &case.context, 1)?;
    if once.is_none_or(|run| run.value != case.action || run.tally != *second) {
        return Ok(Some("the path of a second packet varies"));
    }
    let expected = ExpectedRun { value: case.action, instructions: case.instructions };
    let repetitions = first_trial.repeats(&case.packet, &case.context, &expected, COUNTING_TIME)?;
    if let Some(repetitions) = repetitions {
        case.repetitions = repetitions;
        return Ok(None);
    }
    let restored = trial()?.run(&case.packet, &case.context, FIRST_REPETITIONS)?.is_some();
    Ok(Some(if restored {
        "some further packets do not take the path of the second one, because they change maps, too"
    } else {
        "changes of the packet by the path cannot be undone"
    }))
}
