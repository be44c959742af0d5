//! A path, and how the kernel can be made to take it again and again.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_estimate::Path;
use slowpath_kernel::cuts::{RESULT, Switch};
use slowpath_kernel::witness::{self, Installed};
use slowpath_kernel::{Answer, Context, Kernel, Loaded};

use slowpath_kernel::timing::Undo;
use slowpath_replay::PathId;

use crate::drain::{Draining, Drains};
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

/// A program in the kernel, its maps as a witness says.
#[derive(Debug)]
pub(crate) struct InKernel {
    pub(crate) program: Loaded,
    pub(crate) switch: Option<Switch>,
    pub(crate) drains: Option<Drains>,
    _installed: Option<Installed>,
}

impl InKernel {
    /// A program that has no maps.
    pub(crate) fn without_maps(program: Loaded) -> InKernel {
        InKernel { program, switch: None, drains: None, _installed: None }
    }
}

/// A program in the kernel, and the switch of one that ends early.
type Code = (Loaded, Option<Switch>);

/// A path of a program that can be timed.
#[derive(Clone, Debug)]
pub struct Case {
    pub(crate) object: Arc<Object>,
    pub(crate) program: usize,
    pub(crate) witness: Value,
    pub(crate) packet: Vec<u8>,
    pub(crate) context: Context,
    pub(crate) answers: Vec<Answer>,
    /// Instructions of insertions that fail because their map was filled.
    pub(crate) full: Vec<usize>,
    pub(crate) arrangement: Arrangement,
    pub(crate) draining: Option<Draining>,
    pub(crate) action: u32,
    pub(crate) instructions: u64,
    /// Whether such a packet runs once before anything is counted or timed.
    pub(crate) warmed: bool,
    pub(crate) later: Option<Later>,
    /// Repetitions that were seen to take the path.
    pub(crate) repetitions: u32,
    pub(crate) path: Option<PathId>,
    pub(crate) places: Arc<Places>,
    /// Slots of the instructions in order, where kernel and interpreter took the path by themselves.
    pub(crate) trace: Option<Arc<[usize]>>,
    /// The same as a core sees it.
    pub(crate) flow: Option<Arc<Path>>,
    pub(crate) cut: Option<Cut>,
}

/// What packets do that find the maps as a first one left them, which makes them take another path.
#[derive(Clone, Debug)]
pub struct Later {
    pub(crate) action: u32,
    pub(crate) instructions: u64,
    pub(crate) case: Result<Arc<Case>, String>,
}

impl Later {
    /// What a second packet returns (`enum xdp_action`).
    pub fn action(&self) -> u32 {
        self.action
    }

    /// How many instructions a second packet takes.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The path of all packets from the second one on.
    ///
    /// # Errors
    /// Why they have none in common that could be timed.
    pub fn case(&self) -> Result<&Arc<Case>, &str> {
        self.case.as_ref().map_err(String::as_str)
    }
}

/// Where a case ends that is only the beginning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Slots where it could end: cases of the same ones run the same code.
    pub(crate) points: Arc<[usize]>,
    /// The number of the point; `None`: it goes on to the end.
    pub(crate) at: Option<usize>,
}

impl Case {
    /// How repetitions are made to take the path.
    pub fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// What the path is to a core, where kernel and interpreter took it by themselves.
    pub fn flow(&self) -> Option<&Arc<Path>> {
        self.flow.as_ref()
    }

    /// Whether ring buffers that the path writes to are emptied between calls.
    pub fn is_drained(&self) -> bool {
        self.draining.is_some()
    }

    /// How many repetitions may be timed with the maps of one load: as many were seen to take the
    /// path, counted block by block.
    pub fn repetitions(&self) -> u32 {
        // Where ring buffers are emptied, some calls have one run more, see `Drains::sample`.
        if self.is_drained() { self.repetitions / 3 * 2 } else { self.repetitions }
    }

    /// What the program returns (`enum xdp_action`).
    pub fn action(&self) -> u32 {
        self.action
    }

    /// What a run returns: up to where it is cut, if it is.
    pub(crate) fn returns(&self) -> u32 {
        if self.cut.as_ref().is_some_and(|cut| cut.at.is_some()) { RESULT } else { self.action }
    }

    /// How many instructions the path takes, a 64-bit immediate load as one, as the kernel counts.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// What further packets like it do, which find the maps as this one left them; `None` if they
    /// take the same path.
    pub fn later(&self) -> Option<&Later> {
        self.later.as_ref()
    }

    /// Which path it is; `None` where the interpreter did not follow the kernel there.
    pub fn path(&self) -> Option<PathId> {
        self.path
    }

    /// Helpers that are not asked, or whose answer is replaced, because the path needs another.
    pub fn answered(&self) -> Vec<&str> {
        sorted(self.answers.iter())
    }

    /// Helpers that are not called, because a call would have effects: their time is not measured.
    pub fn omitted(&self) -> Vec<&str> {
        sorted(self.answers.iter().filter(|answer| !answer.is_called()))
    }

    /// As [`Case::load`], with its code at a place where it was less often than elsewhere, if that
    /// comes about soon. Maps are filled once, whatever the number of tries.
    pub(crate) fn load_spread(&self, kernel: &Kernel) -> Result<InKernel, MeasureError> {
        let mut best: Option<(u32, Code)> = None;
        let started = Instant::now();
        for _ in 0..TRIES {
            let candidate = self.load_code(kernel)?;
            let Some(visits) = self.places.rarer(&candidate.0) else {
                return self.fill(candidate);
            };
            if best.as_ref().is_none_or(|(fewest, _)| visits.times < *fewest) {
                best = Some((visits.times, candidate));
            }
            if visits.is_rarest || started.elapsed() > PATIENCE {
                break;
            }
        }
        match best {
            Some((_, code)) => {
                self.places.visit(&code.0);
                self.fill(code)
            }
            None => self.load(kernel),
        }
    }

    /// The program in the kernel, its maps as the witness says.
    pub(crate) fn load(&self, kernel: &Kernel) -> Result<InKernel, MeasureError> {
        self.fill(self.load_code(kernel)?)
    }

    /// The program in the kernel, its maps as the kernel makes them.
    fn load_code(&self, kernel: &Kernel) -> Result<Code, MeasureError> {
        let (object, answers) = (&self.object, &self.answers);
        Ok(match &self.cut {
            None => (kernel.load_with_answers(object, self.program, answers)?, None),
            Some(cut) => {
                let loaded = kernel.load_cuttable(object, self.program, answers, &cut.points)?;
                (loaded.0, Some(loaded.1))
            }
        })
    }

    fn fill(&self, (program, switch): Code) -> Result<InKernel, MeasureError> {
        let installed = self.install(&program)?;
        let drains = self.drains(&program)?;
        Ok(InKernel { program, switch, drains, _installed: Some(installed) })
    }

    /// The ring buffers to empty of the program in the kernel, if there are any.
    pub(crate) fn drains(&self, program: &Loaded) -> Result<Option<Drains>, MeasureError> {
        Ok(self.draining.as_ref().map(|draining| draining.of(program)).transpose()?)
    }

    /// Makes the maps of a program what the path finds: as the witness says, and as packets leave
    /// them that come before.
    pub(crate) fn install(&self, loaded: &Loaded) -> Result<Installed, MeasureError> {
        let installed = witness::install(loaded, &self.witness)?;
        self.warm(loaded)?;
        Ok(installed)
    }

    /// Runs the packet that comes before, if there is one.
    pub(crate) fn warm(&self, loaded: &Loaded) -> Result<(), MeasureError> {
        if self.warmed {
            loaded.run_in(&self.packet, 1, &self.context)?;
        }
        Ok(())
    }

    /// Whether this one can be run with the program that was loaded for another one: they differ in
    /// nothing but where they end.
    pub(crate) fn shares_load(&self, other: &Case) -> bool {
        let (Some(ours), Some(theirs)) = (&self.cut, &other.cut) else { return false };
        Arc::ptr_eq(&ours.points, &theirs.points) && self.arrangement == other.arrangement
    }
}

/// The helpers of answers, each once, in order of their names.
fn sorted<'a>(answers: impl Iterator<Item = &'a Answer>) -> Vec<&'a str> {
    let mut helpers: Vec<&str> = answers.map(|answer| answer.helper.as_str()).collect();
    helpers.sort_unstable();
    helpers.dedup();
    helpers
}
