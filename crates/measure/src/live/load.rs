//! Loads paths into the kernel and times them on live packets, which really go where the program
//! sends them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use slowpath_kernel::live::{Action, Live, LiveRun, PreparedProgram, Receiver, ReceiverRun};
use slowpath_kernel::timing::TimingThread;
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Kernel, LoadedProgram, retry};

use super::prepare::LiveCase;
use crate::error::MeasureError;

/// The program or network device whose time is measured with live packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveSubject {
    /// The program of the case, which processes packets that the kernel generates.
    Program,
    /// A minimal program that performs the same action as the case's program, on the same packets.
    Baseline,
    /// A device that receives the packets. The program of the case runs in its driver.
    Receiver,
    /// A device that receives packets of the same length. A program that drops all packets runs in
    /// its driver.
    ReceiverDrop,
}

impl LiveSubject {
    /// All subjects. A caller refers to a subject by its index in this array.
    pub const ALL: [LiveSubject; 4] = [
        LiveSubject::Program,
        LiveSubject::Baseline,
        LiveSubject::Receiver,
        LiveSubject::ReceiverDrop,
    ];
}

/// Result of one timed call that sends live packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSample {
    /// Time in nanoseconds until the last packet was sent, measured with the raw monotonic clock.
    pub nanoseconds: u64,
    /// Number of packets that were sent.
    pub frames: u32,
    /// Number of packets that arrived at the receiving device. If the timed program itself sends
    /// the packets, the number of packets that arrived at the peer of the output device.
    pub arrived: u64,
    /// Number of packets that were lost because a queue was full.
    pub lost: u64,
}

/// A set of paths to time with live packets, loaded into the kernel. Each set has its own programs
/// and devices.
#[derive(Debug)]
pub struct LiveLoad {
    cases: Vec<Ready>,
    /// Receiving devices whose program drops all packets, by packet length in bytes.
    drops: BTreeMap<usize, Mutex<Receiver>>,
    live: Live,
}

#[derive(Debug)]
struct Ready {
    case: Arc<LiveCase>,
    program: PreparedProgram,
    /// Minimal program with which this case is compared; `None` to use the one that [`Live`] has
    /// for the same action.
    baseline: Option<PreparedProgram>,
    /// Number of packets that the program has processed since it was loaded.
    processed: AtomicU64,
    receiver: Option<Mutex<Receiver>>,
    /// Number of packets that were sent to the receiving device since it was created.
    received: AtomicU64,
    _owners: Vec<Owner>,
}

/// A loaded program and its map content. They are kept only so that the kernel does not remove them
/// while the program is in use.
#[derive(Debug)]
struct Owner {
    _program: LoadedProgram,
    _installed: Installed,
}

impl LiveLoad {
    /// Loads paths that live packets take into the kernel. The work is done on the timing thread.
    ///
    /// # Errors
    /// If the kernel rejects one of the cases, or devices cannot be created.
    pub fn new(
        timing_thread: &TimingThread,
        kernel: &Arc<Kernel>,
        cases: Vec<Arc<LiveCase>>,
    ) -> Result<LiveLoad, MeasureError> {
        let kernel = Arc::clone(kernel);
        timing_thread.run_job(move |_| LiveLoad::new_on_thread(&kernel, cases))?
    }

    fn new_on_thread(kernel: &Kernel, cases: Vec<Arc<LiveCase>>) -> Result<LiveLoad, MeasureError> {
        let live = Live::new(kernel)?;
        let mut drops = BTreeMap::new();
        let mut ready = Vec::with_capacity(cases.len());
        for case in cases {
            let length = case.case.packet.len();
            if case.receive_obstacle.is_none() && !drops.contains_key(&length) {
                let dropping = live.receiver(live.minimal(Action::Drop), &vec![0; length])?;
                drops.insert(length, Mutex::new(dropping));
            }
            ready.push(Ready::new(kernel, &live, case)?);
        }
        Ok(LiveLoad { cases: ready, drops, live })
    }

    /// Times `subject` for the path at this index, on `frames` live packets in batches of `batch`.
    /// The work is done on the timing thread.
    ///
    /// # Errors
    /// If the case does not exist or its packets have no receiver. Also if the program would
    /// process more packets in this load than were counted on the path.
    pub fn sample(
        self: &Arc<Self>,
        timing_thread: &TimingThread,
        case: usize,
        subject: LiveSubject,
        frames: u32,
        batch: u32,
    ) -> Result<LiveSample, MeasureError> {
        let load = Arc::clone(self);
        timing_thread
            .run_job(move |_| retry(|| load.sample_on_thread(case, subject, frames, batch)))?
    }

    fn sample_on_thread(
        &self,
        number: usize,
        subject: LiveSubject,
        frames: u32,
        batch: u32,
    ) -> Result<LiveSample, MeasureError> {
        let missing = || MeasureError::NoCase { number: i64::try_from(number).unwrap_or(i64::MAX) };
        let ready = self.cases.get(number).ok_or_else(missing)?;
        let case = &ready.case.case;
        let run = |program| self.live.run(program, &case.packet, &case.context, frames, batch);
        let receive = |receiver: Option<&Mutex<Receiver>>| {
            let receiver = receiver.ok_or_else(missing)?;
            let mut receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            let run = receiver.run(frames, batch);
            run.map(LiveSample::from).map_err(MeasureError::from)
        };
        let minimal = || self.live.baseline(ready.case.action);
        match subject {
            LiveSubject::Program => {
                ready.charge(&ready.processed, frames)?;
                Ok(run(&ready.program)?.into())
            }
            LiveSubject::Baseline => {
                Ok(run(ready.baseline.as_ref().unwrap_or_else(minimal))?.into())
            }
            LiveSubject::Receiver => {
                ready.charge(&ready.received, frames)?;
                receive(ready.receiver.as_ref())
            }
            LiveSubject::ReceiverDrop => receive(self.drops.get(&case.packet.len())),
        }
    }
}

impl Drop for LiveLoad {
    fn drop(&mut self) {
        self.live.close();
    }
}

impl Ready {
    fn new(kernel: &Kernel, live: &Live, live_case: Arc<LiveCase>) -> Result<Ready, MeasureError> {
        let case = &live_case.case;
        let load = || kernel.load_with_answers(&case.object, case.program, &case.answers);
        let loaded = load()?;
        let installed = case.install_live(live, &loaded, live.device())?;
        let prepare = |program: &LoadedProgram| {
            if live_case.rewritten {
                live.prepare_rewritten(program, &case.packet)
            } else {
                live.prepare(program)
            }
        };
        let program = prepare(&loaded)?;
        let minimal = || prepare(live.minimal(live_case.action));
        let baseline = live_case.rewritten.then(minimal).transpose()?;
        let mut owners = vec![Owner { _program: loaded, _installed: installed }];
        let mut receiver = None;
        if live_case.receive_obstacle.is_none() {
            let loaded = load()?;
            let made = live.receiver(&loaded, &case.packet)?;
            let installed = case.install_live(live, &loaded, made.device())?;
            owners.push(Owner { _program: loaded, _installed: installed });
            receiver = Some(Mutex::new(made));
        }
        let (processed, received) = (AtomicU64::new(0), AtomicU64::new(0));
        let (case, _owners) = (live_case, owners);
        Ok(Ready { case, program, baseline, processed, receiver, received, _owners })
    }

    /// Adds `frames` to `processed`, the number of packets that the program has processed. Fails
    /// without a change if the sum exceeds the number of packets that were verified to take the
    /// path.
    fn charge(&self, processed: &AtomicU64, frames: u32) -> Result<(), MeasureError> {
        let most = self.case.counted;
        let add = |before: u64| {
            before.checked_add(frames.max(1).into()).filter(|&after| after <= most.into())
        };
        let added = processed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        added.map(|_| ()).map_err(|_| MeasureError::NotCounted { frames: most })
    }
}

impl From<LiveRun> for LiveSample {
    fn from(run: LiveRun) -> LiveSample {
        let LiveRun { frames, elapsed, delivered: arrived, lost, .. } = run;
        LiveSample { nanoseconds: saturated(elapsed.as_nanos()), frames, arrived, lost }
    }
}

impl From<ReceiverRun> for LiveSample {
    fn from(run: ReceiverRun) -> LiveSample {
        let ReceiverRun { frames, elapsed, received: arrived, lost, .. } = run;
        LiveSample { nanoseconds: saturated(elapsed.as_nanos()), frames, arrived, lost }
    }
}

fn saturated(nanoseconds: u128) -> u64 {
    u64::try_from(nanoseconds).unwrap_or(u64::MAX)
}
