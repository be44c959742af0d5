//! Describes a path that can be timed, and how the kernel can repeat it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_estimate::Path;
use slowpath_kernel::early_exit::{EXIT_ACTION, ExitSelector};
use slowpath_kernel::witness::{self, Installed};
use slowpath_kernel::{Answer, Context, Kernel, LoadedProgram};

use slowpath_kernel::timing::Undo;
use slowpath_replay::PathId;

use crate::drain::{Draining, Drains};
use crate::error::MeasureError;
use crate::places::Places;

/// Limits on the attempts to load a program at a place that few earlier loads had: number of
/// attempts and total time.
const MAX_LOADS: usize = 8;
const MAX_LOAD_TIME: Duration = Duration::from_millis(8);

/// The way in which repetitions are made to take the same path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Repetitions take the path without any preparation.
    Repeated,
    /// A wrapper in front of the program undoes the changes of the previous run.
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

/// A program in the kernel whose maps were filled from a witness.
#[derive(Debug)]
pub(crate) struct InKernel {
    pub(crate) program: LoadedProgram,
    pub(crate) selector: Option<ExitSelector>,
    pub(crate) drains: Option<Drains>,
    _installed: Option<Installed>,
}

impl InKernel {
    /// Wraps a program that needs no map content.
    pub(crate) fn without_maps(program: LoadedProgram) -> InKernel {
        InKernel { program, selector: None, drains: None, _installed: None }
    }
}

/// A program in the kernel. The second part selects where it ends, if it can end early.
type Code = (LoadedProgram, Option<ExitSelector>);

/// A path of a program that can be timed.
#[derive(Clone, Debug)]
pub struct Case {
    pub(crate) object: Arc<Object>,
    pub(crate) program: usize,
    pub(crate) witness: Value,
    pub(crate) packet: Vec<u8>,
    pub(crate) context: Context,
    pub(crate) answers: Vec<Answer>,
    /// Slots of the insertions that fail because their map was filled for this purpose.
    pub(crate) full: Vec<usize>,
    pub(crate) arrangement: Arrangement,
    pub(crate) draining: Option<Draining>,
    pub(crate) action: u32,
    pub(crate) instructions: u64,
    /// True if the packet must run once before its runs are counted or timed.
    pub(crate) warmed: bool,
    pub(crate) subsequent_packets: Option<SubsequentPackets>,
    /// Number of repetitions that were counted and took the path.
    pub(crate) repetitions: u32,
    pub(crate) path: Option<PathId>,
    pub(crate) places: Arc<Places>,
    /// Slots of the executed instructions in order. Known only if kernel and interpreter took the
    /// path and no call was replaced by an answer.
    pub(crate) trace: Option<Arc<[usize]>>,
    /// The path of `trace`, in the form that the model of a CPU core uses.
    pub(crate) flow: Option<Arc<Path>>,
    pub(crate) cut: Option<Cut>,
}

/// Describes the packets after the first one, if they take another path because the first one
/// changed the maps.
#[derive(Clone, Debug)]
pub struct SubsequentPackets {
    pub(crate) action: u32,
    pub(crate) instructions: u64,
    pub(crate) case: Result<Arc<Case>, String>,
}

impl SubsequentPackets {
    /// Returns the return value that the program has for the second packet (`enum xdp_action`).
    pub fn action(&self) -> u32 {
        self.action
    }

    /// Returns the number of instructions that the program executes for the second packet.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Returns the path that all packets after the first one take.
    ///
    /// # Errors
    /// The reason, if these packets do not all take the same path, or it cannot be timed.
    pub fn case(&self) -> Result<&Arc<Case>, &str> {
        self.case.as_ref().map_err(String::as_str)
    }
}

/// Describes where a case ends that covers only the beginning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Slots at which the path may end. Cases with the same slots run the same code.
    pub(crate) points: Arc<[usize]>,
    /// Index of the slot at which this case ends; `None` if it runs to the end of the path.
    pub(crate) at: Option<usize>,
}

impl Case {
    /// Returns the way in which repetitions are made to take the path.
    pub fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// Returns the path in the form that the model of a CPU core uses. Known only if kernel and
    /// interpreter took the path and no call was replaced by an answer.
    pub fn flow(&self) -> Option<&Arc<Path>> {
        self.flow.as_ref()
    }

    /// Returns true if the path writes to ring buffers, which must be emptied between calls.
    pub fn is_drained(&self) -> bool {
        self.draining.is_some()
    }

    /// Returns the maximum number of repetitions that may be timed with the maps of one load. At
    /// least as many repetitions were counted and took the path.
    pub fn repetitions(&self) -> u32 {
        // With ring buffers, `Drains::sample` adds calls with one run.
        if self.is_drained() { self.repetitions / 3 * 2 } else { self.repetitions }
    }

    /// Returns the return value of the program (`enum xdp_action`).
    pub fn action(&self) -> u32 {
        self.action
    }

    /// Returns the return value that a timed run must have. A run that ends early returns another
    /// value than the whole path.
    pub(crate) fn expected_value(&self) -> u32 {
        if self.cut.as_ref().is_some_and(|cut| cut.at.is_some()) {
            EXIT_ACTION
        } else {
            self.action
        }
    }

    /// Returns the number of instructions of the path. A 64-bit immediate load counts as one, as in
    /// the kernel.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Describes the packets that follow and find the changes that this packet made to the maps.
    /// Returns `None` if they take the same path.
    pub fn subsequent_packets(&self) -> Option<&SubsequentPackets> {
        self.subsequent_packets.as_ref()
    }

    /// Returns the number that identifies the path. Returns `None` if the interpreter could not
    /// follow the kernel.
    pub fn path(&self) -> Option<PathId> {
        self.path
    }

    /// Returns the names of helpers whose results are replaced. This is necessary if the path needs
    /// another result than the kernel's.
    pub fn answered(&self) -> Vec<&str> {
        sorted(self.answers.iter())
    }

    /// Returns the names of helpers whose results are replaced without calling them, because a call
    /// would have side effects. Times do not include these calls.
    pub fn omitted(&self) -> Vec<&str> {
        sorted(self.answers.iter().filter(|answer| !answer.is_called()))
    }

    /// Like [`Case::load`], but tries several times to load the program at a place that few earlier
    /// loads had. Fills the maps only once.
    pub(crate) fn load_spread(&self, kernel: &Kernel) -> Result<InKernel, MeasureError> {
        let mut best: Option<(u32, Code)> = None;
        let started = Instant::now();
        for _ in 0..MAX_LOADS {
            let candidate = self.load_code(kernel)?;
            let Some(visits) = self.places.visits_at(&candidate.0) else {
                return self.fill(candidate);
            };
            if best.as_ref().is_none_or(|(fewest, _)| visits.times < *fewest) {
                best = Some((visits.times, candidate));
            }
            if visits.is_rarest || started.elapsed() > MAX_LOAD_TIME {
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

    /// Loads the program and fills its maps from the witness.
    pub(crate) fn load(&self, kernel: &Kernel) -> Result<InKernel, MeasureError> {
        self.fill(self.load_code(kernel)?)
    }

    /// Loads the program. Its maps have the initial content that the object defines.
    fn load_code(&self, kernel: &Kernel) -> Result<Code, MeasureError> {
        let (object, answers) = (&self.object, &self.answers);
        Ok(match &self.cut {
            None => (kernel.load_with_answers(object, self.program, answers)?, None),
            Some(cut) => {
                let loaded = kernel.load_with_exits(object, self.program, answers, &cut.points)?;
                (loaded.0, Some(loaded.1))
            }
        })
    }

    fn fill(&self, (program, selector): Code) -> Result<InKernel, MeasureError> {
        let installed = self.install(&program)?;
        let drains = self.drains(&program)?;
        Ok(InKernel { program, selector, drains, _installed: Some(installed) })
    }

    /// Returns the ring buffers of the loaded program that must be emptied between calls, if any.
    pub(crate) fn drains(&self, program: &LoadedProgram) -> Result<Option<Drains>, MeasureError> {
        Ok(self.draining.as_ref().map(|draining| draining.find_in(program)).transpose()?)
    }

    /// Fills the maps with the content that the path needs. This is the content of the witness. If
    /// the case starts after another packet, that packet then changes the content.
    pub(crate) fn install(&self, loaded: &LoadedProgram) -> Result<Installed, MeasureError> {
        let installed = witness::install(loaded, &self.witness)?;
        self.warm(loaded)?;
        Ok(installed)
    }

    /// Runs the packet that comes before the measured ones, if the case has one.
    pub(crate) fn warm(&self, loaded: &LoadedProgram) -> Result<(), MeasureError> {
        if self.warmed {
            loaded.run_in(&self.packet, 1, &self.context)?;
        }
        Ok(())
    }

    /// Returns true if this case can use the program that was loaded for `other`. This is so if the
    /// cases differ only in where they end.
    pub(crate) fn shares_load(&self, other: &Case) -> bool {
        let (Some(cut), Some(other_cut)) = (&self.cut, &other.cut) else { return false };
        Arc::ptr_eq(&cut.points, &other_cut.points) && self.arrangement == other.arrangement
    }
}

/// Returns the names of the helpers whose calls are replaced, sorted and without duplicates.
fn sorted<'a>(answers: impl Iterator<Item = &'a Answer>) -> Vec<&'a str> {
    let mut helpers: Vec<&str> = answers.map(|answer| answer.helper.as_str()).collect();
    helpers.sort_unstable();
    helpers.dedup();
    helpers
}
