//! Beginnings of a path as cases; counting shows how each can be repeated.

use std::sync::Arc;
use std::time::Duration;

use slowpath_kernel::early_exit::{CHECK_INSNS, EXIT_ACTION, EXIT_INSNS, ExitSelector};
use slowpath_kernel::timing::{Attachments, Undo};
use slowpath_kernel::{Kernel, LoadError};

use crate::case::{Arrangement, Case, Cut};
use crate::error::MeasureError;
use crate::trial::{ExpectedRun, Trial};

/// Most map elements for which all combinations of undoing are tried.
const FEW_ELEMENTS: usize = 3;
/// Time for which repetitions of a beginning are counted. It is short, because there are many
/// beginnings; a load times each for about as long.
const LONG: Duration = Duration::from_millis(4);

/// A beginning of a path, or the whole path.
struct Beginning {
    /// Index of the point where it ends; `None` for the whole path.
    at: Option<usize>,
    /// Number of counted instructions, including those that query the switch.
    counted: u64,
}

/// Returns a case for the beginning of the path up to each point, followed by a case for the whole
/// path. A beginning that cannot be repeated has `None`.
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
    let mut wanted: Vec<Beginning> = Vec::new();
    for (number, &point) in points.iter().enumerate() {
        let counted = point as u64 + CHECK_INSNS * (number as u64 + 1) + EXIT_INSNS;
        wanted.push(Beginning { at: Some(number), counted });
    }
    let counted = trace.len() as u64 + CHECK_INSNS * points.len() as u64;
    wanted.push(Beginning { at: None, counted });
    let code = Arc::default();
    let mut found: Vec<Option<Case>> = vec![None; wanted.len()];
    for arrangement in arrangements(&case.arrangement) {
        let candidates = (0..wanted.len()).filter(|&n| found[n].is_none()).collect();
        let attempt = Attempt { case, kernel, places: &places, arrangement: &arrangement };
        let alone = attempt.alone(&wanted, candidates)?;
        for (number, repetitions) in attempt.together(&wanted, alone)? {
            let cut = Some(Cut { points: Arc::clone(&places), at: wanted[number].at });
            let code = Arc::clone(&code);
            let arrangement = arrangement.clone();
            found[number] =
                Some(Case { arrangement, cut, places: code, repetitions, ..case.clone() });
        }
    }
    Ok(found)
}

/// Returns those of the points at which the verifier lets the program end.
///
/// # Errors
/// If the kernel rejects the program at a point for another reason.
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

/// Returns the candidate ways to undo a beginning of a path, given the way for the whole path, most
/// changes first. A candidate that undoes nothing still has a wrapper, because the wrapper's clock
/// is part of the time.
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
    // All elements or none; with few elements, all combinations.
    let choices: Vec<u32> =
        if count > FEW_ELEMENTS { vec![u32::MAX, 0] } else { (0..1 << count).rev().collect() };
    let mut found: Vec<Arrangement> = Vec::new();
    for (packet, choice) in packets.iter().flat_map(|one| choices.iter().map(move |c| (one, c))) {
        let chosen = |n: &usize| match *choice {
            0 => false,
            u32::MAX => true,
            choice => choice >> n & 1 == 1,
        };
        let elements = (0..count).filter(chosen).map(|n| undo.elements[n].clone()).collect();
        let one = Arrangement::Restored(Undo { elements, ..packet.clone() });
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// An attempt to repeat beginnings of a path in one way.
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
        let (counted, switch) = loaded?;
        let installed = self.case.install(counted.loaded())?;
        let undo = match self.arrangement {
            Arrangement::Repeated => None,
            Arrangement::Restored(undo) => Some(undo),
        };
        let drains = self.case.drains(counted.loaded())?;
        Ok((Trial::new(self.kernel, (counted, installed), undo, drains)?, switch))
    }

    /// Returns the number of repetitions of a beginning that each executed the expected number of
    /// instructions; `None` if one differed.
    fn repeats(
        &self,
        (trial, switch): &(Trial, ExitSelector),
        beginning: &Beginning,
    ) -> Result<Option<u32>, MeasureError> {
        let Case { packet, context, action, .. } = self.case;
        switch.select(trial.counted().loaded(), beginning.at)?;
        let value = if beginning.at.is_some() { EXIT_ACTION } else { *action };
        let wanted = ExpectedRun { value, instructions: beginning.counted };
        trial.repeats(packet, context, &wanted, LONG)
    }

    /// Returns the candidates that can be repeated if no other beginning runs in between.
    fn alone(
        &self,
        wanted: &[Beginning],
        candidates: Vec<usize>,
    ) -> Result<Vec<usize>, MeasureError> {
        let mut fine = Vec::new();
        let mut trial = None;
        for number in candidates {
            let ready = match trial.take() {
                Some(ready) => ready,
                None => self.trial()?,
            };
            if self.repeats(&ready, &wanted[number])?.is_some() {
                fine.push(number);
                trial = Some(ready);
            }
            // A failure leaves the maps in an unknown state, so the next candidate starts anew.
        }
        Ok(fine)
    }

    /// Returns the beginnings that can be repeated whichever others ran before, with their numbers
    /// of repetitions.
    fn together(
        &self,
        wanted: &[Beginning],
        mut fine: Vec<usize>,
    ) -> Result<Vec<(usize, u32)>, MeasureError> {
        'anew: loop {
            let trial = self.trial()?;
            let mut seen = vec![u32::MAX; fine.len()];
            for turn in (0..fine.len()).rev().chain(0..fine.len()) {
                match self.repeats(&trial, &wanted[fine[turn]])? {
                    Some(repetitions) => seen[turn] = seen[turn].min(repetitions),
                    None => {
                        fine.remove(turn);
                        continue 'anew;
                    }
                }
            }
            return Ok(fine.into_iter().zip(seen).collect());
        }
    }
}
