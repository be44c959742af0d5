//! An analysis under way, and what its parts have in common.

use crate::Error;
use crate::events::Control;
use crate::frontend::Lifted;
use crate::options::{Options, ProgramRequest};
use crate::report::Measure;
use crate::result::{Unknown, WitnessResult};
use crate::witness::{Witness, usual};
use slowpath_search::{FoundPath, Search, SearchError};
use slowpath_smt::BitSolver;
use slowpath_stop::Reason;
use slowpath_target::CostModel;
use std::collections::BTreeSet;
use std::time::Instant;

/// What a search needs to know besides the program.
pub(crate) struct Setting<'a> {
    pub lifted: &'a Lifted,
    pub model: &'a CostModel,
    pub measure: Measure<'a>,
}

/// An analysis under way.
pub(crate) struct Job<'a> {
    pub request: &'a ProgramRequest,
    pub control: &'a Control,
    pub started: Instant,
}

impl Job<'_> {
    /// Why to stop now, if at all, as results have it.
    pub fn reason_to_stop(&self) -> Option<String> {
        self.control.stop.reason().map(|reason| self.stopped(reason))
    }

    /// Why the work has ended, if that is what an error says.
    ///
    /// # Errors
    /// The error, if it says something else.
    pub fn ended_by(&self, error: Error) -> Result<String, Error> {
        match error {
            Error::Search { error: SearchError::Stopped(reason), .. } => Ok(self.stopped(reason)),
            other => Err(other),
        }
    }

    /// A reason to stop as results have it: where memory went is worth knowing.
    pub fn stopped(&self, reason: Reason) -> String {
        match reason {
            Reason::Memory => format!("{reason} while {}", self.control.stop.stage()),
            _ => reason.to_string(),
        }
    }
}

/// Of how many paths human reports show more than others.
pub(crate) fn described(options: &Options) -> usize {
    usize::try_from(options.path_details).unwrap_or(usize::MAX)
}

/// A found path as a witness, which was replayed, and what it relies on.
pub(crate) fn shown(
    search: &mut Search<BitSolver>,
    lifted: &Lifted,
    model: &CostModel,
    found: &mut FoundPath,
) -> Result<(WitnessResult, Vec<String>), Error> {
    // A run that relies on something is told from one that does by the path alone.
    let relied = search.reliances(found)?;
    usual::prefer(search, found)?;
    let unrolled = search.unrolled();
    let mut witness = Witness::new(unrolled, found);
    witness.replay(unrolled, model, found)?;
    let shown = witness.result(&unrolled.executor, lifted.layout.as_ref());
    let relies_on = relied.iter().map(|on| lifted.program.reliances[on.index()].clone());
    let relies_on = relies_on.chain(uncomputed(&shown.unknowns)).collect();
    Ok((shown, relies_on))
}

/// What a path relies on that depends on results which the model does not compute, each call once.
fn uncomputed(unknowns: &[Unknown]) -> impl Iterator<Item = String> {
    let calls: BTreeSet<(u32, &str)> =
        unknowns.iter().filter(|u| u.computed).map(|u| (u.instruction, u.call.as_str())).collect();
    let sentence =
        |(insn, call)| format!("{call} at instruction {insn} yields what the witness says");
    calls.into_iter().map(sentence).collect::<Vec<_>>().into_iter()
}
