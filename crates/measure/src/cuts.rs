//! Beginnings of a path, as cases: how each can be repeated, found by counting.

use std::sync::Arc;
use std::time::Duration;

use slowpath_kernel::cuts::{ASKING, ENDING, RESULT, Switch};
use slowpath_kernel::timing::{Attachments, Undo};
use slowpath_kernel::{Kernel, LoadError};

use crate::case::{Arrangement, Case, Cut};
use crate::error::MeasureError;
use crate::trial::{Trial, Wanted};

/// Most elements of maps of which each choice is tried.
const FEW_ELEMENTS: usize = 3;
/// For how long repetitions of a beginning are counted: as long as those of a load are timed, and
/// there are many beginnings.
const LONG: Duration = Duration::from_millis(4);

/// A beginning of a path, or all of it.
struct Beginning {
    /// The number of the place where it ends; `None`: nowhere.
    at: Option<usize>,
    /// Instructions that are counted then, those of questions too.
    counted: u64,
}

/// The beginnings of a path at these points, and all of it: of each the case, unless it cannot be
/// repeated. The last is all of it.
///
/// # Errors
/// If the kernel does not take the program any more.
pub fn beginnings(
    case: &Case,
    kernel: (&Kernel, &Attachments),
    trace: &[usize],
    points: &[usize],
) -> Result<Vec<Option<Case>>, MeasureError> {
    let places: Arc<[usize]> = points.iter().map(|&point| trace[point]).collect();
    let mut wanted: Vec<Beginning> = Vec::new();
    for (number, &point) in points.iter().enumerate() {
        let counted = point as u64 + ASKING * (number as u64 + 1) + ENDING;
        wanted.push(Beginning { at: Some(number), counted });
    }
    let counted = trace.len() as u64 + ASKING * points.len() as u64;
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

/// Points at which the verifier lets the program end, of these.
///
/// # Errors
/// If the kernel takes the program at no point for another reason.
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

/// What may have to be undone after a beginning of a path, where this has to be after all of it: the
/// most first. Where nothing has to be, there is a wrapper all the same: its clock is part of the
/// time.
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
    // All of the elements, or none; of few also some.
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

/// Beginnings of a path that are repeated in the same way.
struct Attempt<'a> {
    case: &'a Case,
    kernel: (&'a Kernel, &'a Attachments),
    places: &'a [usize],
    arrangement: &'a Arrangement,
}

impl Attempt<'_> {
    fn trial(&self) -> Result<(Trial, Switch), MeasureError> {
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

    /// How often a beginning was seen to be repeated as it should be, each time the instructions up
    /// to its end; `None` if it was not.
    fn repeats(
        &self,
        (trial, switch): &(Trial, Switch),
        beginning: &Beginning,
    ) -> Result<Option<u32>, MeasureError> {
        let Case { packet, context, action, .. } = self.case;
        switch.turn(trial.counted().loaded(), beginning.at)?;
        let value = if beginning.at.is_some() { RESULT } else { *action };
        let wanted = Wanted { value, instructions: beginning.counted };
        trial.repeats(packet, context, &wanted, LONG)
    }

    /// Those of the candidates that are repeated each by itself.
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
            // What a failure leaves in maps is not known: the next one begins anew.
        }
        Ok(fine)
    }

    /// Those that are repeated whatever of them ran before, and how often they were.
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
