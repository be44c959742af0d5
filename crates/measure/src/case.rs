//! A path, and how the kernel can be made to take it again and again.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_kernel::witness::{self, Installed};
use slowpath_kernel::{Answer, Context, Kernel, Loaded};

use slowpath_kernel::timing::Undo;
use slowpath_replay::PathId;

use crate::error::MeasureError;
use crate::places::Places;

/// How often a program is loaded for a place, and for how long at most.
const TRIES: usize = 8;
const PATIENCE: Duration = Duration::from_millis(8);

/// How repetitions are made to take the same path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// They do by themselves.
    Repeated,
    /// A wrapper in front of the program takes back what the run before has changed.
    Restored(Undo),
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arrangement::Repeated => "repeated",
            Arrangement::Restored(_) => "restored",
        })
    }
}

/// A path of a program that can be timed.
#[derive(Debug)]
pub struct Case {
    pub(crate) object: Arc<Object>,
    pub(crate) program: usize,
    pub(crate) witness: Value,
    pub(crate) packet: Vec<u8>,
    pub(crate) context: Context,
    pub(crate) answers: Vec<Answer>,
    pub(crate) arrangement: Arrangement,
    pub(crate) action: u32,
    pub(crate) instructions: u64,
    pub(crate) later_instructions: Option<u64>,
    pub(crate) places: Places,
    pub(crate) path: Option<PathId>,
}

impl Case {
    /// How repetitions are made to take the path.
    pub fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// What the program returns (`enum xdp_action`).
    pub fn action(&self) -> u32 {
        self.action
    }

    /// How many instructions the path takes, a 64-bit immediate load as one, as the kernel counts.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// How many instructions a second packet takes if nothing is restored; `None` if it takes the
    /// same path.
    pub fn later_instructions(&self) -> Option<u64> {
        self.later_instructions
    }

    /// Which path it is; `None` where the interpreter did not follow the kernel there.
    pub fn path(&self) -> Option<PathId> {
        self.path
    }

    /// Helpers that are not asked, or whose answer is replaced, because the path needs another.
    pub fn answered(&self) -> Vec<&str> {
        let mut helpers: Vec<&str> = self.answers.iter().map(|a| a.helper.as_str()).collect();
        helpers.sort_unstable();
        helpers.dedup();
        helpers
    }

    /// As [`Case::load`], with its code at a place where it was less often than elsewhere, if that
    /// comes about soon.
    pub(crate) fn load_spread(&self, kernel: &Kernel) -> Result<(Loaded, Installed), MeasureError> {
        let mut best: Option<(u32, (Loaded, Installed))> = None;
        let started = Instant::now();
        for _ in 0..TRIES {
            let candidate = self.load(kernel)?;
            let Some(visits) = self.places.rarer(&candidate.0) else { return Ok(candidate) };
            if best.as_ref().is_none_or(|(fewest, _)| visits.times < *fewest) {
                best = Some((visits.times, candidate));
            }
            if visits.is_rarest || started.elapsed() > PATIENCE {
                break;
            }
        }
        match best {
            Some((_, loaded)) => {
                self.places.visit(&loaded.0);
                Ok(loaded)
            }
            None => self.load(kernel),
        }
    }

    /// The program in the kernel, its maps as the witness says.
    pub(crate) fn load(&self, kernel: &Kernel) -> Result<(Loaded, Installed), MeasureError> {
        let loaded = kernel.load_with_answers(&self.object, self.program, &self.answers)?;
        let installed = witness::install(&loaded, &self.witness)?;
        Ok((loaded, installed))
    }
}
