//! Preparation of a live case: live packets run the path and are counted.

use std::sync::Arc;
use std::time::Duration;

use slowpath_kernel::live::{Action, Live, LiveError};
use slowpath_kernel::timing::TimingThread;
use slowpath_kernel::witness::{self, Installed};
use slowpath_kernel::{CountingProgram, Device, Kernel, LoadedProgram, Tally, retry};

use crate::case::{Case, SubsequentPackets};
use crate::error::MeasureError;

/// Packets of the first trial run: many more than the kernel has buffers for, so that each buffer
/// is reused.
const FIRST: u32 = 4096;
/// Number of packets that follow on the same maps, and their total time. A load times at most as
/// many.
const FEWEST: u32 = 32_768;
const MOST: u32 = 4_000_000;
const LONG: Duration = Duration::from_millis(30);
/// Most attempts to send a device the packets that were dropped.
const SENDINGS: u32 = 8;

/// A path that live packets take.
#[derive(Debug)]
pub struct LiveCase {
    pub(super) case: Arc<Case>,
    pub(super) action: Action,
    pub(super) rewritten: bool,
    pub(super) counted: u32,
    pub(super) unreceived: Option<String>,
}

impl LiveCase {
    /// Tests whether live packets take the path, in batches of `batch`, on a timing thread.
    ///
    /// # Errors
    /// If the kernel cannot generate such packets, if they take another path, or if the program
    /// redirects them to something other than a device.
    pub fn prepare(
        timing_thread: &TimingThread,
        kernel: &Arc<Kernel>,
        case: &Arc<Case>,
        batch: u32,
    ) -> Result<LiveCase, MeasureError> {
        let (kernel, case) = (Arc::clone(kernel), Arc::clone(case));
        timing_thread.run_job(move |_| LiveCase::here(&kernel, case, batch))?
    }

    fn here(kernel: &Kernel, case: Arc<Case>, batch: u32) -> Result<LiveCase, MeasureError> {
        if case.context.rx_queue_index > 0 {
            return Err(not_live("the path needs another receive queue than 0"));
        }
        if case.context.ingress_ifindex > 0 {
            return Err(not_live("the path needs a packet from a certain device"));
        }
        if case.is_drained() {
            return Err(not_live("the path writes to a ring buffer, which nobody reads meanwhile"));
        }
        let trial = Trial { kernel, live: Live::new(kernel)?, case: &case, batch };
        let usual = trial.usual()?;
        let plain = trial.repeats(&usual, false)?;
        let rewritten = plain.is_none();
        let counted = if rewritten { trial.repeats(&usual, true)? } else { plain };
        let Some(counted) = counted else {
            let subsequent_packets = case.subsequent_packets().map(SubsequentPackets::instructions);
            let other = subsequent_packets
                .filter(|&subsequent_packets| subsequent_packets != case.instructions);
            let subsequent_packets =
                other.map_or(String::new(), |n| format!(" of {n} instructions"));
            return Err(MeasureError::NotLive {
                why: format!(
                    "live packets after the first one take another path{subsequent_packets}, as maps are not \
                     set back between them"
                ),
            });
        };
        let unreceived = trial.receive(&usual, counted)?;
        drop(trial);
        let action = Action::of(case.action);
        Ok(LiveCase { case, action, rewritten, counted, unreceived })
    }

    /// Returns the path.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Returns true if each packet must be rewritten, because the program changes it in a way that
    /// makes the next one take another path.
    pub fn rewritten(&self) -> bool {
        self.rewritten
    }

    /// Returns the number of packets that were seen to take the path one after the other. Maps are
    /// not restored between them, so more packets might take another path.
    pub fn counted(&self) -> u32 {
        self.counted
    }

    /// Returns the reason why these packets cannot be received by a device, if they cannot.
    pub fn receive_obstacle(&self) -> Option<&str> {
        self.unreceived.as_deref()
    }
}

impl Case {
    /// Fills the maps from the witness; entries that redirect to devices get `device`.
    pub(super) fn install_live(
        &self,
        live: &Live,
        loaded: &LoadedProgram,
        device: Device,
    ) -> Result<Installed, MeasureError> {
        let install = || witness::install_towards(loaded, &self.witness, device);
        let installed = live.namespace().enter(install).map_err(LiveError::from)??;
        self.warm(loaded)?;
        Ok(installed)
    }
}

struct Trial<'a> {
    kernel: &'a Kernel,
    live: Live,
    case: &'a Case,
    batch: u32,
}

impl Trial<'_> {
    fn counted(&self) -> Result<CountingProgram, MeasureError> {
        let Case { object, program, answers, .. } = self.case;
        Ok(self.kernel.load_fingerprinted(object, *program, answers)?)
    }

    /// Returns the counts of one test run of the path, which sends the packet nowhere.
    fn usual(&self) -> Result<Tally, MeasureError> {
        let counted = self.counted()?;
        let _installed = self.case.install(counted.loaded())?;
        Ok(counted.run_repeated(&self.case.packet, &self.case.context, 1)?.1)
    }

    /// Returns the number of live packets that were seen to take the path, with or without
    /// rewriting each; `None` if some do not take it.
    fn repeats(&self, usual: &Tally, rewritten: bool) -> Result<Option<u32>, MeasureError> {
        let Case { packet, context, .. } = self.case;
        let counted = self.counted()?;
        let _installed =
            self.case.install_live(&self.live, counted.loaded(), self.live.device())?;
        let held = if rewritten {
            self.live.prepare_rewritten(counted.loaded(), packet)?
        } else {
            self.live.prepare(counted.loaded())?
        };
        let run = |frames| {
            let run = |_: &LoadedProgram| {
                let run = self.live.run(&held, packet, context, frames, self.batch);
                run.map_err(MeasureError::from)
            };
            let (run, tally) = retry(|| counted.tally(run))?;
            let arrived = run.delivered + run.lost;
            let same = tally.is_multiple_of(usual, frames);
            if same && Action::of(self.case.action).sends() && arrived < u64::from(frames) {
                return Err(not_live(
                    "what the program redirects does not go to a device of its maps: CPU maps, \
                     sockets and numbers of devices lead nowhere here",
                ));
            }
            Ok((run, tally))
        };
        let (_, first) = run(1)?;
        if first.fingerprint != usual.fingerprint {
            let (expected, taken) = (self.case.instructions, first.instructions);
            return Err(MeasureError::OtherPath { expected, taken, depends: Vec::new() });
        }
        let (trial, tally) = run(FIRST)?;
        if !tally.is_multiple_of(usual, FIRST) {
            return Ok(None);
        }
        let one = (trial.elapsed / FIRST).as_nanos().max(1);
        let affordable = u32::try_from(LONG.as_nanos() / one).unwrap_or(MOST);
        let frames = affordable.clamp(FEWEST, MOST);
        let (_, tally) = run(frames)?;
        Ok(tally.is_multiple_of(usual, frames).then_some(frames))
    }

    /// Tests whether `frames` packets that a device receives take the path. Returns the reason if
    /// they do not.
    fn receive(&self, usual: &Tally, frames: u32) -> Result<Option<String>, MeasureError> {
        let counted = self.counted()?;
        let mut receiver = match self.live.receiver(counted.loaded(), &self.case.packet) {
            Ok(receiver) => receiver,
            Err(LiveError::Link(cause)) => return Ok(Some(cause.to_string())),
            Err(cause) => return Err(cause.into()),
        };
        let _installed = self.case.install_live(&self.live, counted.loaded(), receiver.device())?;
        let mut missing = frames;
        for _ in 0..SENDINGS {
            let (run, tally) = retry(|| {
                counted.tally(|_| receiver.run(missing, self.batch).map_err(MeasureError::from))
            })?;
            let received = u32::try_from(run.received).unwrap_or(u32::MAX);
            if !tally.is_multiple_of(usual, received) {
                return Ok(Some("packets that a device receives take another path".to_owned()));
            }
            missing = missing.saturating_sub(received);
            if missing == 0 {
                return Ok(None);
            }
        }
        Ok(Some("too few packets arrive at a device".to_owned()))
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.live.close();
    }
}

fn not_live(why: &str) -> MeasureError {
    MeasureError::NotLive { why: why.to_owned() }
}
