//! Prepares a path for timing with live packets: verifies by counting that they take the path.

use std::sync::Arc;
use std::time::Duration;

use slowpath_kernel::live::{Action, Live, LiveError};
use slowpath_kernel::timing::TimingThread;
use slowpath_kernel::witness::{self, Installed};
use slowpath_kernel::{CountingProgram, Device, Kernel, LoadedProgram, Tally, retry};

use crate::case::{Case, SubsequentPackets};
use crate::error::MeasureError;

/// Number of packets in the trial run. It is much larger than the number of the kernel's packet
/// buffers, so that each buffer is reused.
const TRIAL_FRAMES: u32 = 4096;
/// Minimum number of packets that are counted after the trial run. `MAX_FRAMES` is the maximum, and
/// `COUNTING_TIME` the intended duration. Maps are not restored between packets. Therefore no more
/// packets are timed later than were counted.
const MIN_FRAMES: u32 = 32_768;
const MAX_FRAMES: u32 = 4_000_000;
const COUNTING_TIME: Duration = Duration::from_millis(30);
/// Maximum number of times that packets are sent again because they did not arrive at a device.
const MAX_SENDS: u32 = 8;

/// A path that live packets take. Counting their instructions has confirmed this.
#[derive(Debug)]
pub struct LiveCase {
    pub(super) case: Arc<Case>,
    pub(super) action: Action,
    pub(super) rewritten: bool,
    pub(super) counted: u32,
    pub(super) receive_obstacle: Option<String>,
}

impl LiveCase {
    /// Verifies that live packets in batches of `batch` take the path of `case`. The work is done
    /// on the timing thread.
    ///
    /// # Errors
    /// If the kernel cannot generate these packets, if they take another path, or if the program
    /// redirects them to something other than a device.
    pub fn prepare(
        timing_thread: &TimingThread,
        kernel: &Arc<Kernel>,
        case: &Arc<Case>,
        batch: u32,
    ) -> Result<LiveCase, MeasureError> {
        let (kernel, case) = (Arc::clone(kernel), Arc::clone(case));
        timing_thread.run_job(move |_| LiveCase::prepare_on_thread(&kernel, case, batch))?
    }

    fn prepare_on_thread(
        kernel: &Kernel,
        case: Arc<Case>,
        batch: u32,
    ) -> Result<LiveCase, MeasureError> {
        if case.skb.is_some() {
            return Err(not_live("only XDP programs run live"));
        }
        if case.context.rx_queue_index > 0 {
            return Err(not_live("the path needs a receive queue other than 0"));
        }
        if case.context.ingress_ifindex > 0 {
            return Err(not_live("the path needs a packet from a certain device"));
        }
        if case.is_drained() {
            return Err(not_live(
                "the path writes to a ring buffer, which nothing reads during the measurement",
            ));
        }
        let trial = Trial { kernel, live: Live::new(kernel)?, case: &case, batch };
        let expected = trial.test_run()?;
        let plain = trial.repeats(&expected, false)?;
        let rewritten = plain.is_none();
        let counted = if rewritten { trial.repeats(&expected, true)? } else { plain };
        let Some(counted) = counted else {
            let instructions = case.subsequent_packets().map(SubsequentPackets::instructions);
            let instructions = instructions.filter(|&other| other != case.instructions);
            let length = instructions.map_or(String::new(), |n| format!(" of {n} instructions"));
            return Err(not_live(format!(
                "live packets after the first one take another path{length}, because maps are not \
                 restored between them"
            )));
        };
        let receive_obstacle = trial.receive(&expected, counted)?;
        drop(trial);
        let action = Action::of(case.action);
        Ok(LiveCase { case, action, rewritten, counted, receive_obstacle })
    }

    /// Returns the case whose path the live packets take.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Returns true if another program must rewrite each packet before the program runs. The kernel
    /// reuses the memory of packets, so the program's changes would make the next packet take
    /// another path.
    pub fn rewritten(&self) -> bool {
        self.rewritten
    }

    /// Returns the number of successive packets that were counted and took the path. Each packet
    /// changes the maps, so later packets might take another path.
    pub fn counted(&self) -> u32 {
        self.counted
    }

    /// Returns the reason why a device cannot receive these packets. Returns `None` if one can.
    pub fn receive_obstacle(&self) -> Option<&str> {
        self.receive_obstacle.as_deref()
    }
}

impl Case {
    /// Fills the maps of a program with the content of the witness. Entries of device maps redirect
    /// to `device`.
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

    /// Runs the case's packet once in the kernel's ordinary test mode, in which packets are not
    /// sent. Returns the counts of executed basic blocks and instructions.
    fn test_run(&self) -> Result<Tally, MeasureError> {
        let counted = self.counted()?;
        let _installed = self.case.install(counted.loaded())?;
        Ok(counted.run_repeated(&self.case.packet, &self.case.context, 1)?.1)
    }

    /// Runs live packets through the program, and counts the executed blocks and instructions. If
    /// `rewritten` is set, another program first rewrites each packet. Returns the number of
    /// packets if all of them have the counts `expected`, and `None` if not.
    fn repeats(&self, expected: &Tally, rewritten: bool) -> Result<Option<u32>, MeasureError> {
        let Case { packet, context, .. } = self.case;
        let counted = self.counted()?;
        let _installed =
            self.case.install_live(&self.live, counted.loaded(), self.live.device())?;
        let prepared = if rewritten {
            self.live.prepare_rewritten(counted.loaded(), packet)?
        } else {
            self.live.prepare(counted.loaded())?
        };
        let run = |frames| {
            let run = |_: &LoadedProgram| {
                let run = self.live.run(&prepared, packet, context, frames, self.batch);
                run.map_err(MeasureError::from)
            };
            let (run, tally) = retry(|| counted.tally(run))?;
            let arrived = run.delivered + run.lost;
            let same = tally.is_multiple_of(expected, frames);
            if same && Action::of(self.case.action).sends() && arrived < u64::from(frames) {
                return Err(not_live(
                    "the program redirects packets to a CPU map, a socket or a device by number; \
                     only devices in maps are supported",
                ));
            }
            Ok((run, tally))
        };
        let (_, first) = run(1)?;
        if first.fingerprint != expected.fingerprint {
            let (expected, taken) = (self.case.instructions, first.instructions);
            return Err(MeasureError::OtherPath { expected, taken, depends: Vec::new() });
        }
        let (trial, tally) = run(TRIAL_FRAMES)?;
        if !tally.is_multiple_of(expected, TRIAL_FRAMES) {
            return Ok(None);
        }
        let one = (trial.elapsed / TRIAL_FRAMES).as_nanos().max(1);
        let affordable = u32::try_from(COUNTING_TIME.as_nanos() / one).unwrap_or(MAX_FRAMES);
        let frames = affordable.clamp(MIN_FRAMES, MAX_FRAMES);
        let (_, tally) = run(frames)?;
        Ok(tally.is_multiple_of(expected, frames).then_some(frames))
    }

    /// Verifies that `frames` packets take the path when a device receives them. Returns `None` if
    /// they do, and otherwise the reason.
    fn receive(&self, expected: &Tally, frames: u32) -> Result<Option<String>, MeasureError> {
        let counted = self.counted()?;
        let mut receiver = match self.live.receiver(counted.loaded(), &self.case.packet) {
            Ok(receiver) => receiver,
            Err(LiveError::Link(cause)) => return Ok(Some(cause.to_string())),
            Err(cause) => return Err(cause.into()),
        };
        let _installed = self.case.install_live(&self.live, counted.loaded(), receiver.device())?;
        let mut missing = frames;
        for _ in 0..MAX_SENDS {
            let (run, tally) = retry(|| {
                counted.tally(|_| receiver.run(missing, self.batch).map_err(MeasureError::from))
            })?;
            let received = u32::try_from(run.received).unwrap_or(u32::MAX);
            if !tally.is_multiple_of(expected, received) {
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

fn not_live(reason: impl Into<String>) -> MeasureError {
    MeasureError::NotLive { reason: reason.into() }
}
