//! Makes cases for the beginnings of a path: runs of such a case end early. Counts runs to find out
//! how each case can be repeated.

use std::sync::Arc;
use std::time::Duration;

use slowpath_kernel::early_exit::{CHECK_INSNS, EXIT_ACTION, EXIT_INSNS, ExitSelector};
use slowpath_kernel::timing::{Attachments, SkbUndo, Undo};
use slowpath_kernel::{Kernel, LoadError};

use crate::case::{Arrangement, Case, Cut};
use crate::error::MeasureError;
use crate::trial::{ExpectedRun, Trial};

/// Maximum number of changed map elements for which all subsets are tried. The wrapper program
/// restores the elements of a subset between runs, and leaves the others changed. With more
/// elements, either all or none are restored.
const FEW_ELEMENTS: usize = 3;
/// Duration for which repeated runs of a path's beginning are counted, about as long as their later
/// timing. It is short, because a path has many beginnings.
const COUNTING_TIME: Duration = Duration::from_millis(4);

/// A beginning of a path, or the whole path.
struct Beginning {
    /// Index of the early exit at which a run ends, in the list of possible early exits; `None` for
    /// the whole path.
    at: Option<usize>,
    /// Number of instructions that a run must execute, including those of checks and of the early
    /// exit.
    counted: u64,
}

/// Returns a case for each beginning of the path that ends at one of `points`, and last a case for
/// the whole path. A point is an index into `trace`, the executed instructions. A case is `None` if
/// its runs cannot be repeated.
///
/// # Errors
/// If the kernel rejects a program that it accepted before.
pub fn beginnings(
    case: &Case,
    kernel: (&Kernel, &Attachments),
    trace: &[usize],
    points: &[usize],
) -> Result<Vec<Option<Case>>, MeasureError> {
    let places: Arc<[usize]> = points.iter().map(|&point| trace[point]).collect();
    let mut all: Vec<Beginning> = Vec::new();
    for (number, &point) in points.iter().enumerate() {
        let counted = point as u64 + CHECK_INSNS * (number as u64 + 1) + EXIT_INSNS;
        all.push(Beginning { at: Some(number), counted });
    }
    let counted = trace.len() as u64 + CHECK_INSNS * points.len() as u64;
    all.push(Beginning { at: None, counted });
    let code_places = Arc::default();
    let mut cases: Vec<Option<Case>> = vec![None; all.len()];
    for arrangement in arrangements(&case.arrangement) {
        let candidates = (0..all.len()).filter(|&n| cases[n].is_none()).collect();
        let attempt = Attempt { case, kernel, places: &places, arrangement: &arrangement };
        let repeatable = attempt.repeatable_alone(&all, candidates)?;
        for (number, repetitions) in attempt.repeatable_in_any_order(&all, repeatable)? {
            let cut = Some(Cut { points: Arc::clone(&places), at: all[number].at });
            let arrangement = arrangement.clone();
            let places = Arc::clone(&code_places);
            cases[number] = Some(Case { arrangement, cut, places, repetitions, ..case.clone() });
        }
    }
    Ok(cases)
}

/// Returns those `points` at which the kernel's verifier lets the program end early. A point is an
/// index into `trace`, the executed instructions.
///
/// # Errors
/// If the kernel refuses the program for a reason that is independent of the points.
pub fn accepted(
    case: &Case,
    kernel: &Kernel,
    trace: &[usize],
    points: &[usize],
) -> Result<Vec<usize>, MeasureError> {
    let places: Vec<usize> = points.iter().map(|&point| trace[point]).collect();
    match kernel.load_cuttable_counted(&case.object, case.program, &case.answers, &places) {
        Ok(_) => return Ok(points.to_vec()),
        Err(LoadError::Rejected { .. } | LoadError::NotCounted { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    if points.len() < 2 {
        return Ok(Vec::new());
    }
    let (first, second) = points.split_at(points.len() / 2);
    let mut all = accepted(case, kernel, trace, first)?;
    all.extend(accepted(case, kernel, trace, second)?);
    Ok(all)
}

/// Returns possible ways to repeat the beginnings of a path, in the order in which to try them.
/// Each way undoes some of the changes that the whole path makes; ways that undo more come first.
/// Even to undo nothing, a wrapper is used: all times must include the wrapper's reading of the
/// clock.
fn arrangements(whole: &Arrangement) -> Vec<Arrangement> {
    let Arrangement::Restored(undo) = whole else { return vec![whole.clone()] };
    let metadata_after = u32::try_from(undo.metadata.len()).unwrap_or(undo.metadata_after);
    let packets = [
        undo.clone(),
        Undo { tail: 0, ..undo.clone() },
        Undo { head: 0, metadata_after, ..undo.clone() },
        Undo { head: 0, tail: 0, metadata_after, ..undo.clone() },
    ];
    let count = undo.elements.len();
    let packets = packets.into_iter().flat_map(|packet| {
        let moved = SkbUndo { room: 0, length: None, pushed_tag: false, ..packet.skb.clone() };
        [packet.clone(), Undo { skb: moved, ..packet }]
    });
    let packets: Vec<Undo> = packets.collect();
    // All elements or none; with few elements, all combinations.
    let choices: Vec<u32> =
        if count > FEW_ELEMENTS { vec![u32::MAX, 0] } else { (0..1 << count).rev().collect() };
    let mut candidates: Vec<Arrangement> = Vec::new();
    for (packet, choice) in packets.iter().flat_map(|p| choices.iter().map(move |c| (p, c))) {
        let chosen = |n: &usize| match *choice {
            0 => false,
            u32::MAX => true,
            choice => choice >> n & 1 == 1,
        };
        let elements = (0..count).filter(chosen).map(|n| undo.elements[n].clone()).collect();
        let candidate = Arrangement::Restored(Undo { elements, ..packet.clone() });
        if !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    candidates
}

/// A test of which beginnings of a path can be repeated with one arrangement.
struct Attempt<'a> {
    case: &'a Case,
    kernel: (&'a Kernel, &'a Attachments),
    places: &'a [usize],
    arrangement: &'a Arrangement,
}

impl Attempt<'_> {
    fn trial(&self) -> Result<(Trial, ExitSelector), MeasureError> {
        let Case { object, program, answers, .. } = self.case;
        let loaded = self.kernel.0.load_cuttable_counted(object, *program, answers, self.places);
        let (counted, selector) = loaded?;
        let installed = self.case.install(counted.loaded())?;
        let undo = match self.arrangement {
            Arrangement::Repeated => None,
            Arrangement::Restored(undo) => Some(undo),
        };
        let drains = self.case.drains(counted.loaded())?;
        Ok((Trial::new(self.kernel, (counted, installed), undo, drains)?, selector))
    }

    /// Makes repeated runs of a beginning of the path, and counts their instructions. Returns the
    /// number of runs if each executes the expected number of instructions, and `None` if not.
    fn repeats(
        &self,
        (trial, selector): &(Trial, ExitSelector),
        beginning: &Beginning,
    ) -> Result<Option<u32>, MeasureError> {
        let Case { packet, context, action, .. } = self.case;
        selector.select(trial.counted().loaded(), beginning.at)?;
        let value = if beginning.at.is_some() { EXIT_ACTION } else { *action };
        let expected = ExpectedRun { value, instructions: beginning.counted };
        trial.repeats(packet, context, &expected, COUNTING_TIME)
    }

    /// Returns those `candidates` whose runs can be repeated if no other beginning of the path runs
    /// in between. Candidates are indices into `all`.
    fn repeatable_alone(
        &self,
        all: &[Beginning],
        candidates: Vec<usize>,
    ) -> Result<Vec<usize>, MeasureError> {
        let mut repeatable = Vec::new();
        let mut trial = None;
        for number in candidates {
            let ready = match trial.take() {
                Some(ready) => ready,
                None => self.trial()?,
            };
            if self.repeats(&ready, &all[number])?.is_some() {
                repeatable.push(number);
                trial = Some(ready);
            }
            // After a failure, the next candidate needs new maps: their content is unknown.
        }
        Ok(repeatable)
    }

    /// Returns those `candidates` whose runs can be repeated even between runs of the other
    /// candidates, each with the number of counted runs. Candidates are indices into `all`.
    fn repeatable_in_any_order(
        &self,
        all: &[Beginning],
        mut candidates: Vec<usize>,
    ) -> Result<Vec<(usize, u32)>, MeasureError> {
        'retry: loop {
            let trial = self.trial()?;
            let count = candidates.len();
            let mut least = vec![u32::MAX; count];
            for turn in (0..count).rev().chain(0..count) {
                match self.repeats(&trial, &all[candidates[turn]])? {
                    Some(repetitions) => least[turn] = least[turn].min(repetitions),
                    None => {
                        candidates.remove(turn);
                        continue 'retry;
                    }
                }
            }
            return Ok(candidates.into_iter().zip(least).collect());
        }
    }
}
