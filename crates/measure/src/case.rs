//! Describes a path of a program that can be timed in the kernel, and a way to repeat runs on this
//! path.

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
use crate::skb::SkbRun;

/// Limits for loading a program again until it gets a cache-line offset that few earlier loads had:
/// the number of attempts, and their total time.
const MAX_LOADS: usize = 8;
const MAX_LOAD_TIME: Duration = Duration::from_millis(8);

/// The way in which repeated runs of a program are made to take the same path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Repeated runs take the path without any preparation.
    Repeated,
    /// A second program, called the wrapper, runs first. It undoes the changes that the previous
    /// run made to packet and maps.
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

/// A program that is loaded into the kernel, with its maps filled from a witness.
#[derive(Debug)]
pub(crate) struct InKernel {
    pub(crate) program: LoadedProgram,
    pub(crate) selector: Option<ExitSelector>,
    pub(crate) drains: Option<Drains>,
    _installed: Option<Installed>,
}

impl InKernel {
    /// Wraps a loaded program whose path does not depend on the content of maps. Leaves the maps
    /// empty.
    pub(crate) fn without_maps(program: LoadedProgram) -> InKernel {
        InKernel { program, selector: None, drains: None, _installed: None }
    }
}

/// A program in the kernel. The second field selects the instruction at which the program exits
/// early; it is `None` if the program cannot exit early.
type Code = (LoadedProgram, Option<ExitSelector>);

/// A path of a program that can be timed. A packet and map content that lead to the path identify
/// it.
#[derive(Clone, Debug)]
pub struct Case {
    pub(crate) object: Arc<Object>,
    pub(crate) program: usize,
    pub(crate) witness: Value,
    pub(crate) packet: Vec<u8>,
    pub(crate) context: Context,
    pub(crate) answers: Vec<Answer>,
    /// Indices of the map insertions that fail on this path because their map is full. The map is
    /// actually filled, so the kernel's calls fail, and no fixed results replace them.
    pub(crate) full: Vec<usize>,
    pub(crate) arrangement: Arrangement,
    pub(crate) draining: Option<Draining>,
    pub(crate) action: u32,
    pub(crate) instructions: u64,
    /// True if only packets after the first one take the path. The packet then runs once, to change
    /// the maps, before the runs that are counted or timed.
    pub(crate) warmed: bool,
    pub(crate) subsequent_packets: Option<SubsequentPackets>,
    /// Number of repeated runs that were counted to confirm that each of them took the path.
    pub(crate) repetitions: u32,
    pub(crate) path: Option<PathId>,
    pub(crate) places: Arc<Places>,
    /// Indices of the executed instructions in order. `None` if kernel and interpreter took
    /// different paths, or if results of helper calls were replaced.
    pub(crate) trace: Option<Arc<[usize]>>,
    /// The executed instructions of `trace`, as input for the model of a CPU core.
    pub(crate) flow: Option<Arc<Path>>,
    pub(crate) cut: Option<Cut>,
    /// Changes that a run makes to the `struct sk_buff` of its packet; `None` for XDP programs.
    pub(crate) skb: Option<SkbRun>,
}

/// The path of the packets after the first one, if it differs because the first packet changed the
/// maps.
#[derive(Clone, Debug)]
pub struct SubsequentPackets {
    pub(crate) action: u32,
    pub(crate) instructions: u64,
    pub(crate) case: Result<Arc<Case>, String>,
}

impl SubsequentPackets {
    /// Returns the program's return value for the second packet (`enum xdp_action`).
    pub fn action(&self) -> u32 {
        self.action
    }

    /// Returns the number of instructions that the program executes for the second packet.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Returns the path that all packets after the first one take, as a case that can be timed.
    ///
    /// # Errors
    /// The reason, if these packets do not all take the same path, or if their path cannot be
    /// timed.
    pub fn case(&self) -> Result<&Arc<Case>, &str> {
        self.case.as_ref().map_err(String::as_str)
    }
}

/// The instruction at which runs of a case end early. Such a case covers only the beginning of a
/// path; it serves to time pieces of the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Indices of the instructions at which the program may end early. Cases with the same indices
    /// run the same code.
    pub(crate) points: Arc<[usize]>,
    /// Index into `points` of the instruction at which this case ends; `None` if this case covers
    /// the whole path.
    pub(crate) at: Option<usize>,
}

impl Case {
    /// Returns the way in which repeated runs are made to take the path, such as by undoing the
    /// changes of the previous run.
    pub fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// Returns the executed instructions of the path, as input for the model of a CPU core. Returns
    /// `None` if kernel and interpreter took different paths, or if results of helper calls were
    /// replaced.
    pub fn flow(&self) -> Option<&Arc<Path>> {
        self.flow.as_ref()
    }

    /// Returns true if the path writes to ring buffers. They must be emptied between calls of the
    /// kernel's test run.
    pub fn is_drained(&self) -> bool {
        self.draining.is_some()
    }

    /// Returns the maximum number of runs that may be timed before the maps must be filled again.
    /// At least as many runs were counted, and all of them took the path.
    pub fn repetitions(&self) -> u32 {
        // With ring buffers, `Drains::sample` adds calls with one run.
        if self.is_drained() { self.repetitions / 3 * 2 } else { self.repetitions }
    }

    /// Returns the return value of the program on this path (`enum xdp_action`, or `TC_ACT_*`).
    pub fn action(&self) -> u32 {
        self.action
    }

    /// Returns true if the program is a tc program.
    pub fn is_tc(&self) -> bool {
        self.skb.is_some()
    }

    /// Returns the return value that a timed run must have: that of the program on this path. If
    /// this case covers only the beginning of a path, returns the value with which runs end early.
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

    /// Describes the path of the packets after the first one, which find the maps as the first one
    /// left them. Returns `None` if they take the same path as the first one.
    pub fn subsequent_packets(&self) -> Option<&SubsequentPackets> {
        self.subsequent_packets.as_ref()
    }

    /// Returns the identifier of the path. Returns `None` if the interpreter did not take the path
    /// that the kernel takes.
    pub fn path(&self) -> Option<PathId> {
        self.path
    }

    /// Returns the names of BPF helpers whose results are replaced, because the path needs fixed
    /// values that the kernel's helpers may not return.
    pub fn answered(&self) -> Vec<&str> {
        sorted(self.answers.iter())
    }

    /// Returns the names of BPF helpers whose results are replaced without calling them, because a
    /// call would have side effects. Times do not include these calls.
    pub fn omitted(&self) -> Vec<&str> {
        sorted(self.answers.iter().filter(|answer| !answer.is_called()))
    }

    /// Like [`Case::load`], but loads the program several times, until it has a cache-line offset
    /// that few earlier loads had. Fills the maps only once.
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

    /// Returns the ring buffers of the loaded program that must be emptied between calls. Returns
    /// `None` if the path writes to none.
    pub(crate) fn drains(&self, program: &LoadedProgram) -> Result<Option<Drains>, MeasureError> {
        Ok(self.draining.as_ref().map(|draining| draining.find_in(program)).transpose()?)
    }

    /// Fills the program's maps with the content of the witness. If only packets after the first
    /// one take the path, also runs the packet once, to change the maps.
    pub(crate) fn install(&self, loaded: &LoadedProgram) -> Result<Installed, MeasureError> {
        let installed = witness::install(loaded, &self.witness)?;
        self.warm(loaded)?;
        Ok(installed)
    }

    /// Runs the packet once if only packets after the first one take the path. The maps are then as
    /// the first packet leaves them.
    pub(crate) fn warm(&self, loaded: &LoadedProgram) -> Result<(), MeasureError> {
        if self.warmed {
            loaded.run_in(&self.packet, 1, &self.context)?;
        }
        Ok(())
    }

    /// Returns true if this case can use the program that was loaded for `other`. Cases with a
    /// shared program differ only in the instruction at which a run ends early.
    pub(crate) fn shares_load(&self, other: &Case) -> bool {
        let (Some(cut), Some(other_cut)) = (&self.cut, &other.cut) else { return false };
        Arc::ptr_eq(&cut.points, &other_cut.points) && self.arrangement == other.arrangement
    }
}

/// Returns the names of the BPF helpers whose results are replaced, sorted and without duplicates.
fn sorted<'a>(answers: impl Iterator<Item = &'a Answer>) -> Vec<&'a str> {
    let mut helpers: Vec<&str> = answers.map(|answer| answer.helper.as_str()).collect();
    helpers.sort_unstable();
    helpers.dedup();
    helpers
}
