//! Holds the state of a running analysis, and functions that its stages share.

use crate::Error;
use crate::events::Control;
use crate::frontend::Lifted;
use crate::options::{Options, ProgramRequest};
use crate::report::Measure;
use crate::result::{Unknown, WitnessResult};
use crate::witness::{Witness, test_run};
use slowpath_search::{FoundPath, Search, SearchError};
use slowpath_smt::BitSolver;
use slowpath_stop::Reason;
use slowpath_target::CostModel;
use std::collections::BTreeSet;
use std::time::Instant;

/// Everything that a search needs besides the program.
pub(crate) struct SearchContext<'a> {
    pub lifted: &'a Lifted,
    pub model: &'a CostModel,
    pub measure: Measure<'a>,
}

/// An analysis that is running.
pub(crate) struct Job<'a> {
    pub request: &'a ProgramRequest,
    pub control: &'a Control,
    pub started: Instant,
}

impl Job<'_> {
    /// Returns the reason why the analysis has to stop now, in the words of results. Returns `None`
    /// if it can go on.
    pub fn reason_to_stop(&self) -> Option<String> {
        self.control.stop.reason().map(|reason| self.stopped(reason))
    }

    /// Returns the reason for stopping, if `error` says that the work was stopped.
    ///
    /// # Errors
    /// Returns any other error unchanged.
    pub fn ended_by(&self, error: Error) -> Result<String, Error> {
        match error {
            Error::Search { error: SearchError::Stopped(reason), .. } => Ok(self.stopped(reason)),
            other => Err(other),
        }
    }

    /// Formats a reason for stopping for results. If the memory limit is the reason, adds the stage
    /// that used the memory.
    pub fn stopped(&self, reason: Reason) -> String {
        match reason {
            Reason::Memory => format!("{reason} while {}", self.control.stop.stage()),
            _ => reason.to_string(),
        }
    }
}

/// Returns the number of paths for which human reports show more details.
pub(crate) fn detailed_path_count(options: &Options) -> usize {
    usize::try_from(options.path_details).unwrap_or(usize::MAX)
}

/// Replays a path that the search has found. Returns its witness, and the conditions on which the
/// path depends.
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
    let shown = witness.result(&unrolled.executor, lifted.layout.as_ref());
    let relies_on = relied.iter().map(|on| lifted.program.reliances[on.index()].clone());
    let relies_on = relies_on.chain(uncomputed(&shown.unknowns)).collect();
    Ok((shown, relies_on))
}

/// Returns the conditions of a path that uses results of calls that the model does not compute.
/// There is one condition for each call.
fn uncomputed(unknowns: &[Unknown]) -> impl Iterator<Item = String> {
    let calls: BTreeSet<(u32, &str)> =
        unknowns.iter().filter(|u| u.computed).map(|u| (u.instruction, u.call.as_str())).collect();
    let sentence =
        |(insn, call)| format!("{call} at instruction {insn} yields what the witness says");
    calls.into_iter().map(sentence).collect::<Vec<_>>().into_iter()
}
