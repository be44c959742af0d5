//! Holds the state of a running analysis, and functions that the stages of an analysis share.

use crate::Error;
use crate::events::Control;
use crate::frontend::Lifted;
use crate::options::{Options, ProgramRequest};
use crate::report::{Measure, branches};
use crate::result::{PathBranch, Unknown, WitnessResult};
use crate::witness::{Witness, test_run};
use slowpath_search::{FoundPath, Search, SearchError};
use slowpath_smt::BitSolver;
use slowpath_stop::Reason;
use slowpath_target::CostModel;
use std::collections::BTreeSet;
use std::time::Instant;

/// The lifted program, the prices and the metric that a search for paths needs.
pub(crate) struct SearchContext<'a> {
    pub lifted: &'a Lifted,
    pub model: &'a CostModel,
    pub measure: Measure<'a>,
}

pub(crate) struct Job<'a> {
    pub request: &'a ProgramRequest,
    pub control: &'a Control,
    pub started: Instant,
}

impl Job<'_> {
    /// Returns the reason why the analysis has to stop now, in the wording of results. Returns
    /// `None` if it need not stop.
    pub fn reason_to_stop(&self) -> Option<String> {
        self.control.stop.reason().map(|reason| self.stopped(reason))
    }

    /// Returns the reason for stopping, in the wording of results, if `error` says that the work
    /// was stopped.
    ///
    /// # Errors
    /// Returns any other error unchanged.
    pub fn ended_by(&self, error: Error) -> Result<String, Error> {
        match error {
            Error::Search { error: SearchError::Stopped(reason), .. } => Ok(self.stopped(reason)),
            other => Err(other),
        }
    }

    /// Formats a reason for stopping as results state it. If the memory limit is the reason, adds
    /// the stage that used the memory.
    pub fn stopped(&self, reason: Reason) -> String {
        match reason {
            Reason::Memory => format!("{reason} while {}", self.control.stop.stage()),
            // The rest of the time until the deadline is for the certificate.
            Reason::TimeLimit => Reason::Deadline.to_string(),
            _ => reason.to_string(),
        }
    }
}

/// Returns the number of paths that get the details which only human reports show.
pub(crate) fn detailed_path_count(options: &Options) -> usize {
    usize::try_from(options.path_details).unwrap_or(usize::MAX)
}

/// Returns true if the branches and the profile of each described path were requested.
pub(crate) fn wants_code_of_paths(options: &Options) -> bool {
    options.code && options.path_details > 0
}

/// Returns the branches of a found path if they were requested, else an empty list. The list is
/// also empty if the analysis has to stop: the branches are less important than the path.
///
/// # Errors
/// If a condition cannot be executed symbolically, which is a defect.
pub(crate) fn requested_branches(
    search: &mut Search<BitSolver>,
    options: &Options,
    found: &FoundPath,
) -> Result<Vec<PathBranch>, Error> {
    if !wants_code_of_paths(options) {
        return Ok(Vec::new());
    }
    match branches(search, found) {
        Err(Error::Search { error: SearchError::Stopped(_), .. }) => Ok(Vec::new()),
        result => result,
    }
}

/// Runs a packet for a found path on an interpreter, to check that it takes the path. Returns its
/// witness packet, and the conditions on which the path depends, one sentence each.
pub(crate) fn replayed_witness(
    search: &mut Search<BitSolver>,
    lifted: &Lifted,
    model: &CostModel,
    found: &mut FoundPath,
) -> Result<(WitnessResult, Vec<String>), Error> {
    // `reliances` comes first: it adds conditions that exclude all other reliances from the model.
    let relied = search.reliances(found)?;
    test_run::prefer_test_run(search, found)?;
    let unrolled = search.unrolled();
    let mut witness = Witness::new(unrolled, found);
    witness.replay(unrolled, model, found)?;
    let mut shown = witness.result(&unrolled.executor, lifted.layout.as_ref());
    if let Some(pipeline) = &lifted.pipeline {
        shown.pipeline = Some(witness.pipeline(unrolled, found, pipeline)?);
    }
    let relies_on = relied.iter().map(|on| lifted.program.reliances[on.index()].clone());
    let relies_on = relies_on.chain(uncomputed(&shown.unknowns)).collect();
    Ok((shown, relies_on))
}

/// Returns, for each call on a path whose result the model does not compute, a condition as a
/// sentence: the call must return the value that the witness states.
fn uncomputed(unknowns: &[Unknown]) -> impl Iterator<Item = String> {
    let calls: BTreeSet<(u32, &str)> =
        unknowns.iter().filter(|u| u.computed).map(|u| (u.instruction, u.call.as_str())).collect();
    let sentence =
        |(insn, call)| format!("{call} at instruction {insn} yields what the witness says");
    calls.into_iter().map(sentence).collect::<Vec<_>>().into_iter()
}
